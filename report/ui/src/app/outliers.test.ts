import { expect, test } from "vitest";
import { outliers } from "./outliers";

test.each<[string, number[], ReturnType<typeof outliers>]>([
  ["three values have none", [1, 2, 900], [null, null, null]],
  ["a value far above", [10, 11, 12, 13, 40], [null, null, null, null, "high"]],
  ["a value far below, in any order", [40, 41, 2, 42, 43], [null, null, "low", null, null]],
  ["at the fence is not beyond it", [0, 1, 2, 3, 4, 7], [null, null, null, null, null, null]],
  ["equal values", [5, 5, 5, 5], [null, null, null, null]],
  ["one that differs from equal ones", [5, 5, 5, 5, 6], [null, null, null, null, "high"]],
])("%s", (_, values, want) => expect(outliers(values)).toEqual(want));
