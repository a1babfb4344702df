// What series of figures are drawn from.

import { needsLog } from "./axis";
import type { Cut, Metric, Panel } from "./data";

/** Look says how a line is drawn; lines of one colour differ in their dashes, all lines in their symbols. */
export interface Look {
  colour: string;
  dash: string;
  symbol: "circle" | "square" | "triangle" | "diamond" | "star" | "cross" | "wye";
}

const dashes = ["", "6 3", "1.5 3", "9 3 1.5 3"];
const symbols: Look["symbol"][] = ["circle", "square", "triangle", "diamond", "star", "cross", "wye"];

/** looksOf gives each label its look. */
export function looksOf(lines: { label: string; colour: string }[]): Map<string, Look> {
  const looks = new Map<string, Look>();
  for (const { label, colour } of lines) {
    if (looks.has(label)) continue;
    const alike = [...looks.values()].filter((l) => l.colour === colour).length;
    looks.set(label, { colour, dash: dashes[alike % dashes.length] ?? "", symbol: symbols[looks.size % symbols.length] ?? "circle" });
  }
  return looks;
}

/** Point is a cell's median in a chart, with its interval or range. */
export interface Point {
  label: string;
  x: number;
  y: number;
  low: number;
  high: number;
  n: number;
  interval: boolean;
  printed?: number; // what a paper printed for the cell
}

/** pointsOf returns those points of a panel that have the metric. */
export function pointsOf(panel: Panel, metric: Metric): Point[] {
  return panel.lines.flatMap(({ label, points }) => points.flatMap((p): Point[] => {
    const s = p.summaries[metric.name];
    const printed = p.printed?.[metric.name];
    return s === undefined ? [] : [{ label, x: p.at, y: s.median, low: s.low, high: s.high, n: s.n, interval: s.interval, ...(printed === undefined ? {} : { printed }) }];
  }));
}

/** Offer says what the path offered to the loads at one value of a panel's axis. */
export interface Offer {
  x: number;
  rate: number; // Mbit/s, the mean of the lines
  outage: number; // ms, the longest that one of them met
}

/** offersOf returns what a moving path offered, in the order of the axis; none for other paths. */
export function offersOf(panel: Panel): Offer[] {
  const all = new Map<number, { rates: number[]; outage: number }>();
  for (const { at: x, summaries } of panel.lines.flatMap((l) => l.points)) {
    const { path_rate: rate, path_outage: outage } = summaries;
    if (rate === undefined) continue;
    const here = all.get(x) ?? { rates: [], outage: 0 };
    all.set(x, { rates: [...here.rates, rate.median], outage: Math.max(here.outage, outage?.max ?? 0) });
  }
  return [...all].map(([x, o]) => ({ x, rate: o.rates.reduce((a, b) => a + b) / o.rates.length, outage: o.outage })).sort((a, b) => a.x - b.x);
}

/** Range is the axis of a panel's metric. */
export interface Range {
  unit: string;
  factor: number; // value / factor is shown
  log: boolean;
  low: number;
  high: number;
  cut?: boolean; // points may lie outside
}

/** cutTo returns the part of a range that is to be shown. */
export function cutTo(range: Range, cut: Cut): Range {
  const log = cut.log ?? range.log;
  return { ...range, log, low: cut.from ?? (log && range.low <= 0 ? range.high / 1000 : range.low), high: cut.to ?? range.high, cut: cut.from !== undefined || cut.to !== undefined };
}

/**
 * rangesOf gives each panel its range. Panels share one, so that they can be compared, unless that would
 * flatten some of them.
 */
export function rangesOf(panels: Point[][], metric: Pick<Metric, "unit">): Range[] {
  const seconds = metric.unit === "ms" && panels.flat().some((p) => p.high >= 10_000);
  const scale = seconds ? { unit: "s", factor: 1000 } : { unit: metric.unit, factor: 1 };
  const all = { ...scale, ...reach(panels.flat(), scale.factor) };
  return panels.map((points) => (all.log ? { ...scale, ...reach(points, scale.factor) } : all));
}

/** reach returns the range of an axis for all the points: from zero, or logarithmic if their intervals lie far apart. */
function reach(points: Point[], factor: number): Pick<Range, "log" | "low" | "high"> {
  const ends = points.flatMap((p) => [p.low, p.high, p.printed ?? p.y].map((v) => v / factor));
  const log = needsLog(ends);
  return { log, low: log ? Math.min(...ends) / 1.2 : 0, high: Math.max(...ends) * (log ? 1.2 : 1.04) || 1 };
}
