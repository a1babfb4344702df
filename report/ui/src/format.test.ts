import { describe, expect, test } from "vitest";
import { behind, counted, decimalsFor, duration, fixed, list, percent, resourceName, roughly, scaled, scaleFor } from "./format";

test.each([
  [0, 0, "0"],
  [1234567.891, 1, "1\u202f234\u202f567.9"],
  [-1500, 0, "\u22121\u202f500"],
  [-0.004, 2, "0.00"],
  [999.5, 0, "1\u202f000"],
  [12.345, 2, "12.35"],
])("%d with %d decimals is %s", (value, decimals, want) => expect(fixed(value, decimals)).toBe(want));

test.each([[0, 2], [9.99, 2], [-45, 1], [100, 0], [83_000, 0]])("%d is shown with %d decimals", (size, want) => expect(decimalsFor(size)).toBe(want));

test.each([
  [0.123, "0.12 ms"],
  [870.4, "870 ms"],
  [1269.7, "1.27 s"],
  [83_896.7, "83.90 s"],
  [-29, "\u221229.0 ms"],
])("%d ms reads %s", (ms, want) => expect(duration(ms).replace("\u00a0", " ")).toBe(want));

test.each([
  [0.015, "+1.5 %"],
  [0.0999, "+10 %"],
  [0.42, "+42 %"],
  [1, "×2.0"],
  [2.13, "×3.1"],
])("a ratio of %d is %s behind", (ratio, want) => expect(behind(ratio).replace("\u00a0", " ")).toBe(want));

test("percentages below zero keep their sign", () => expect(percent(-0.05)).toBe("\u22125.0\u00a0%"));

describe("a scale", () => {
  test("writes bytes as kB of 1000", () => {
    const scale = scaleFor("B", [1_105_000, 900]);
    expect(scale.unit).toBe("kB");
    expect(scaled(1_105_000, scale)).toBe("1\u202f105");
  });
  test("gives all values of a row the same decimals", () => {
    const scale = scaleFor("ms", [9.5, 120]);
    expect([scaled(9.5, scale), scaled(120, scale)]).toEqual(["10", "120"]);
  });
  test("shows half a packet only if there is one", () => {
    expect(scaleFor("packets", [1, 2]).decimals).toBe(0);
    expect(scaleFor("packets", [1.5, 2]).decimals).toBe(1);
  });
});

test("words are counted and listed", () => {
  expect(counted(1, "load")).toBe("1\u00a0load");
  expect(counted(0, "load")).toBe("0\u00a0loads");
  expect([list([]), list(["a"]), list(["a", "b"]), list(["a", "b", "c"])]).toEqual(["", "a", "a and b", "a, b and c"]);
});

test.each([
  ["https://www.flags.test/", "www.flags.test/"],
  ["https://www.flags.test/svg/kr.svg?v=2", "kr.svg?v=2"],
  ["POST https://a.test/x/", "x"],
  ["not a url", "not a url"],
])("%s is listed as %s", (url, want) => expect(resourceName(url)).toBe(want));

test.each([[400, "0 s"], [12_300, "12 s"], [99_600, "2 min"], [180_000, "3 min"], [7_500_000, "2 h 5 min"]])("%d ms is roughly %s", (ms, want) => expect(roughly(ms).replaceAll("\u00a0", " ")).toBe(want));
