import { expect, test } from "vitest";
import type { MapSpot } from "./data";
import { spotsOf } from "./spots";

const spot = (metric: number, label: number, to: number, ratio: number): MapSpot => ({ at: 1, against: 50, metric, label, to, ratio, low: ratio / 2, high: ratio * 2, interval: true, n: 7 });
const spots = [spot(0, 0, 1, 4), spot(0, 0, 2, 8), spot(0, 1, 2, 2), spot(1, 0, 1, 16)];

test("a ratio turns round with its sides", () => {
  expect(spotsOf(spots, 0, 0, 1)).toEqual([{ x: 1, y: 50, ratio: 4, low: 2, high: 8, interval: true, n: 7 }]);
  expect(spotsOf(spots, 0, 1, 0)).toEqual([{ x: 1, y: 50, ratio: 0.25, low: 0.125, high: 0.5, interval: true, n: 7 }]);
});

test("only the chosen metric and labels count", () => {
  expect(spotsOf(spots, 1, 0, 1).map((s) => s.ratio)).toEqual([16]);
  expect(spotsOf(spots, 0, 2, 1).map((s) => s.ratio)).toEqual([0.5]);
  expect(spotsOf(spots, 1, 0, 2)).toEqual([]);
});
