import { describe, expect, test } from "vitest";
import { isGeometric, logTicks, needsLog, short, spaced, stepDecimals } from "./axis";

describe("an axis is logarithmic", () => {
  test.each([
    [[1, 30], false],
    [[1, 31], true],
    [[0, 1, 1000], false], // zero has no logarithm
    [[], false],
  ])("for %j: %s", (values, want) => expect(needsLog(values)).toBe(want));
});

test.each([
  [3, 40, [5, 10, 20]],
  [1, 100, [1, 2, 5, 10, 20, 50, 100]],
  [0.8, 2000, [1, 10, 100, 1000]],
])("round values from %d to %d", (low, high, want) => expect(logTicks(low, high)).toEqual(want));

test.each([
  [[0, 1, 5, 10, 20], 4, [0, 5, 10, 20]],
  [[0, 19, 20], 4, [0, 20]],
  [[7], 4, [7]],
  [[], 4, []],
])("of %j those %d apart", (values, gap, want) => expect(spaced(values, gap)).toEqual(want));

test("doublings need a logarithmic axis, counting does not", () => {
  expect(isGeometric([64, 128, 256, 512, 1024, 2048, 4096])).toBe(true);
  expect(isGeometric(Array.from({ length: 93 }, (_, i) => i + 1))).toBe(false);
  expect(isGeometric([0, 1, 100])).toBe(false);
});

test.each([
  [["lulic-bing", "lulic-yahoo"], ["bing", "yahoo"]],
  [["lulic-bing", "world-flags"], ["lulic-bing", "world-flags"]],
  [["world-flags"], ["world-flags"]],
  [["a", "b"], ["a", "b"]],
])("names lose what all begin with: %j", (names, want) => {
  expect(short(names)).toEqual(want);
});

test.each([[0, 80, 0], [1458.31, 1458.38, 3], [0, 1, 1], [5, 5, 0]])("ticks from %d to %d have %d decimals", (low, high, want) => expect(stepDecimals(low, high, 8)).toBe(want));
