import { expect, test } from "vitest";
import type { LinePoint, Metric, Panel, Summary } from "./data";
import { looksOf, offersOf, pointsOf, rangesOf, type Range } from "./lines";

const metric: Metric = { name: "ttd", title: "TTD", unit: "ms", definition: "", ranked: true };
const summary = (median: number, low = median, high = median): Summary => ({ n: 6, median, interval: true, low, high, min: low, max: high, cv: 0 });
const cell = (at: number, ttd?: Summary): LinePoint => ({ at, cell: 0, summaries: ttd === undefined ? {} : { ttd } });
const panelOf = (...points: LinePoint[]): Panel => ({ name: "", lines: [{ label: "tcp", points }] });
const points = (...of: LinePoint[]): ReturnType<typeof pointsOf> => pointsOf(panelOf(...of), metric);
const rangeOf = (points: ReturnType<typeof pointsOf>): Range | undefined => rangesOf([points], metric)[0];

test("a line has a point for each cell with the metric", () => {
  expect(points(cell(20, summary(80, 70, 95)), cell(50), cell(100, summary(90)))).toEqual([
    { label: "tcp", x: 20, y: 80, low: 70, high: 95, n: 6, interval: true },
    { label: "tcp", x: 100, y: 90, low: 90, high: 90, n: 6, interval: true },
  ]);
});

test("an axis begins at zero and holds the intervals", () => {
  const range = rangeOf(points(cell(20, summary(80, 70, 100))));
  expect([range?.low, range?.high, range?.unit, range?.log]).toEqual([0, 104, "ms", false]);
});

test("times from ten seconds on are in seconds", () => {
  const range = rangeOf(points(cell(20, summary(8000)), cell(50, summary(20_000))));
  expect([range?.high, range?.unit, range?.factor]).toEqual([20.8, "s", 1000]);
});

test("an axis is logarithmic where values are far apart", () => {
  const range = rangeOf(points(cell(20, summary(1000)), cell(50, summary(120_000))));
  expect(range?.log).toBe(true);
  expect(range?.low).toBeCloseTo(1 / 1.2);
  expect(range?.high).toBeCloseTo(144);
});

test("panels share an axis, unless one would be pressed together", () => {
  const [low, high, far] = [points(cell(20, summary(80))), points(cell(20, summary(800))), points(cell(20, summary(20_000)))];
  const together = rangesOf([low, high], metric);
  expect(together[0]).toEqual(together[1]);
  expect(rangesOf([low, far], metric).map((r) => [r.high.toFixed(4), r.unit, r.log])).toEqual([["0.0832", "s", false], ["20.8000", "s", false]]);
});

test("an axis of zeros is an axis", () => expect(rangeOf(points(cell(20, summary(0))))?.high).toBe(1));

test("no two lines look alike, and those of one colour are dashed differently", () => {
  const looks = looksOf([
    { label: "tcp", colour: "grey" }, { label: "quic", colour: "blue" }, { label: "quic 0-rtt", colour: "blue" }, { label: "tcp", colour: "grey" },
  ]);
  expect([...looks.keys()]).toEqual(["tcp", "quic", "quic 0-rtt"]);
  expect(looks.get("tcp")).toEqual({ colour: "grey", dash: "", symbol: "circle" });
  expect(looks.get("quic")?.dash).not.toBe(looks.get("quic 0-rtt")?.dash);
  expect(new Set([...looks.values()].map((l) => l.symbol)).size).toBe(3);
});

test("a point has what a paper printed for its metric, and the axis holds it", () => {
  const printed = points({ ...cell(20, summary(80)), printed: { plt: 7 } }, { ...cell(50, summary(90)), printed: { ttd: 200 } });
  expect(printed.map((p) => p.printed)).toEqual([undefined, 200]);
  expect(rangesOf([printed], metric)[0]?.high).toBe(208);
});

test("what a path offered is the mean of the lines, with the longest outage", () => {
  const met = (at: number, rate: number, outage: number): LinePoint => ({ at, cell: 0, summaries: { path_rate: summary(rate), path_outage: summary(outage) } });
  const panel: Panel = { name: "", lines: [{ label: "h2", points: [met(1, 1, 0), met(2, 2, 0)] }, { label: "h3", points: [met(1, 3, 500), met(2, 4, 0)] }] };
  expect(offersOf(panel)).toEqual([{ x: 1, rate: 2, outage: 500 }, { x: 2, rate: 3, outage: 0 }]);
  expect(offersOf(panelOf(cell(1), cell(2)))).toEqual([]);
});
