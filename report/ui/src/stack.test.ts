import { expect, test } from "vitest";
import { parts } from "./stack";

test("the parts of a critical path lie end to end and end with onLoad", () => {
  const critical = { load: 0, onLoad: 10_000_000, kinds: [2_000_000, 0, 0, 0, 5_000_000, 0, 0, 0, 3_000_000], verdict: "" };
  expect(parts(critical)).toEqual([
    { kind: 0, from: 0, to: 2 },
    { kind: 4, from: 2, to: 7 },
    { kind: 8, from: 7, to: 10 },
  ]);
});
