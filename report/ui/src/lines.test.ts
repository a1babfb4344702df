import { expect, test } from "vitest";
import type { Cell, Metric, Panel, Printed, Summary } from "./data";
import { looksOf, offersOf, pointsOf, rangesOf, type Range } from "./lines";

const metric: Metric = { name: "ttd", title: "TTD", unit: "ms", definition: "", ranked: true };
const summary = (median: number, low = median, high = median): Summary => ({ n: 6, median, interval: true, low, high, min: low, max: high, cv: 0 });
const cell = (delay: number, ttd?: Summary): Cell => ({
  site: "file@1GB", network: "n", protocol: "tcp", loader: "download", clock: "virtual", strategy: "reconnect", label: "tcp", link: { delay, loss: 0, reconnections: 0 },
  valid: 6, invalid: 0, failed: 0, unsupported: 0, pending: 0, summaries: ttd === undefined ? {} : { ttd }, medianLoad: -1, loads: [],
});
const panelOf = (cells: Cell[]): Panel => ({ name: "", lines: [{ label: "tcp", cells: cells.map((_, i) => i), at: cells.map((c) => c.link?.delay ?? 0) }] });
const points = (...cells: Cell[]): ReturnType<typeof pointsOf> => pointsOf(cells, panelOf(cells), metric);
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

test("a point has what a paper printed for its cell and metric, and the axis holds it", () => {
  const cells = [cell(20, summary(80)), cell(50, summary(90))];
  const table = (name: string): Printed => ({ source: "paper", metric: name, unit: "ms", scale: 1, rows: [], columns: [], figures: [{ row: 0, column: 0, printed: "200", value: 200, cell: 1, ratio: 0.45 }] });
  expect(pointsOf(cells, panelOf(cells), metric, [table("plt"), table("ttd")]).map((p) => p.printed)).toEqual([undefined, 200]);
  expect(rangesOf([pointsOf(cells, panelOf(cells), metric, [table("ttd")])], metric)[0]?.high).toBe(208);
});

test("what a path offered is the mean of the lines, with the longest outage", () => {
  const met = (rate: number, outage: number): Cell => ({ ...cell(1), summaries: { path_rate: summary(rate), path_outage: summary(outage) } });
  const panel: Panel = { name: "", lines: [{ label: "h2", cells: [0, 1], at: [1, 2] }, { label: "h3", cells: [2, 3], at: [1, 2] }] };
  expect(offersOf([met(1, 0), met(2, 0), met(3, 500), met(4, 0)], panel)).toEqual([{ x: 1, rate: 2, outage: 500 }, { x: 2, rate: 3, outage: 0 }]);
  expect(offersOf([cell(1), cell(2), cell(3), cell(4)], panel)).toEqual([]);
});
