import * as Plot from "@observablehq/plot";
import { isGeometric, logTicks, spaced } from "./axis";
import { described, font } from "./charts";
import type { Cut, Scale } from "./data";
import { el } from "./dom";
import { decimalsFor, fixed } from "./format";
import type { Look, Offer, Point, Range } from "./lines";

/** Chart is what one line chart shows. */
export interface Chart {
  name: string; // of the panel; empty if there is only one
  title: string; // of the figures
  along: Scale;
  labels: string[]; // of the lines that have points, in their order
  points: Point[];
  offers: Offer[]; // what a moving path offered
  range: Range;
  looks: Map<string, Look>;
  width: number;
  dense: boolean; // points are small and have no bars
  x?: Cut; // the part of the axis that is shown
}

/** legend names the lines. */
export function legend(looks: Map<string, Look>, used: Set<string>): HTMLElement {
  return el("ul", { class: "legend lines", "aria-label": "Lines" }, ...[...looks].filter(([label]) => used.has(label)).map(([label, look]) => el("li", {}, swatch(look), label)));
}

function swatch(look: Look): Element {
  const swatch = described(Plot.plot({
    width: 34, height: 14, margin: 0, axis: null, x: { domain: [0, 2] }, y: { domain: [0, 2] }, color: { type: "identity" }, symbol: { type: "identity" } as Plot.ScaleOptions,
    marks: [
      Plot.link([0], { x1: 0, x2: 2, y1: 1, y2: 1, stroke: look.colour, strokeWidth: 2, strokeDasharray: look.dash }),
      Plot.dot([0], { x: 1, y: 1, r: 4, fill: look.colour, symbol: look.symbol }),
    ],
  }), "");
  swatch.setAttribute("aria-hidden", "true");
  return swatch;
}

/** across gives the horizontal axis of a chart, and the distance of its points from the frame. */
function across(c: Chart, inset: number, label: string | null): { insetLeft: number; insetRight: number; x: Plot.ScaleOptions } {
  const all = [...new Set([...c.points.map((p) => p.x), ...c.offers.map((o) => o.x)])].sort((a, b) => a - b);
  const xs = all.filter((v) => v >= (c.x?.from ?? -Infinity) && v <= (c.x?.to ?? Infinity));
  const [from, to] = [c.x?.from ?? xs[0] ?? 0, c.x?.to ?? xs.at(-1) ?? 1];
  const log = c.x?.log ?? isGeometric(xs);
  const words = new Map(c.along.ticks.map((t) => [t.value, t.word]));
  const gap = log ? 0 : ((to - from) * 34) / (c.width - 110);
  return {
    insetLeft: inset, insetRight: inset,
    x: {
      label, labelAnchor: "center", labelArrow: "none", type: log ? "log" : "linear", domain: from < to ? [from, to] : [from - 1, to + 1],
      ticks: spaced(xs, gap), tickFormat: (v: number) => words.get(v) ?? String(Number(v.toFixed(4))),
    },
  };
}

const margins = { marginLeft: 66, marginRight: 8 };

/** say writes a point with its interval and what papers printed, in several lines. */
export function say(c: Chart, p: Point): string {
  const { range } = c;
  const word = c.along.ticks.find((t) => t.value === p.x)?.word ?? String(p.x);
  const unit = range.unit === "" ? "" : ` ${range.unit}`;
  const size = decimalsFor(p.y / range.factor);
  const of = (v: number): string => fixed(v / range.factor, size);
  return `${p.label}, ${c.along.name} ${word}\n${c.title} ${of(p.y)}${unit}\n${p.interval ? "95 % interval" : "range"} ${of(p.low)} to ${of(p.high)}, n ${p.n}`
    + (p.printed === undefined ? "" : `\npublished ${of(p.printed)}${unit}`);
}

/** lineChart draws the lines of a chart, with the interval of each point and what papers printed. */
export function lineChart(c: Chart): Element {
  const { range, points } = c;
  const step = c.dense ? 0 : Math.min(6, 34 / c.labels.length);
  const axis = range.unit === "" ? c.title : `${c.title} (${range.unit})`;
  const plot = Plot.plot({
    ...margins, ...across(c, c.dense ? 8 : 8 + (step * c.labels.length) / 2, c.along.label),
    width: c.width,
    height: Math.round(Math.min(330, Math.max(240, c.width * 0.62))),
    marginTop: 8,
    marginBottom: 44,
    style: font,
    color: { type: "identity" },
    symbol: { type: "identity" } as Plot.ScaleOptions,
    y: { label: axis, labelAnchor: "center", labelArrow: "none", labelOffset: 60, type: range.log ? "log" : "linear", domain: [range.low, range.high], grid: true, ticks: range.log ? logTicks(range.low, range.high) : 5, tickFormat: (v: number) => fixed(v, Number.isInteger(v) ? 0 : v < 0.1 ? 2 : 1) },
    marks: [
      Plot.frame({ stroke: "var(--rule)" }),
      bands(c.offers),
      ...c.labels.flatMap((label, i) => {
        const look = c.looks.get(label);
        if (look === undefined) return [];
        const mine = points.filter((p) => p.label === label);
        const printed = mine.filter((p) => p.printed !== undefined);
        const dx = (i - (c.labels.length - 1) / 2) * step;
        const clip = range.cut || c.x !== undefined;
        const bar = { x: "x", y1: (p: Point) => p.low / range.factor, y2: (p: Point) => p.high / range.factor, stroke: look.colour, dx, clip };
        const height = (p: Point): number => p.y / range.factor;
        const paper = { x: "x", y: (p: Point) => (p.printed ?? 0) / range.factor, stroke: look.colour, dx, clip };
        const bars = c.dense ? [] : [
          Plot.ruleX(mine.filter((p) => p.interval), { ...bar, strokeWidth: 2.5, strokeOpacity: 0.6 }),
          Plot.ruleX(mine.filter((p) => !p.interval), { ...bar, strokeWidth: 1.5, strokeDasharray: "2 2" }),
        ];
        return [
          ...bars,
          Plot.line(printed, { ...paper, strokeWidth: 1, strokeOpacity: 0.6 }),
          Plot.line(mine, { x: "x", y: height, stroke: look.colour, strokeWidth: c.dense ? 1.2 : 1.8, strokeDasharray: look.dash, dx, clip }),
          Plot.dot(mine, { x: "x", y: height, r: c.dense ? 2 : 4, fill: look.colour, stroke: "var(--paper)", strokeWidth: c.dense ? 0.5 : 1, symbol: look.symbol, dx, clip }),
          Plot.dot(printed, { ...paper, r: c.dense ? 2.5 : 4, fill: "var(--paper)", strokeWidth: 1.5, symbol: look.symbol }),
        ];
      }),
      Plot.tip(points, Plot.pointer({ x: "x", y: (p: Point) => p.y / range.factor, title: (p: Point) => say(c, p), fill: "var(--paper)", stroke: "var(--rule)", fontFamily: "inherit" })),
    ],
  });
  described(plot, `${axis} by ${c.along.name}${c.name === "" ? "" : ", " + c.name}. ${points.map((p) => say(c, p).replaceAll("\n", ", ")).join(". ")}.`);
  return plot;
}

/** bands marks the places of loads that met an outage. */
const bands = (offers: Offer[]): Plot.Markish => Plot.ruleX(offers.filter((o) => o.outage > 0), { x: "x", stroke: "var(--rule)", strokeWidth: 7 });

/** offerStrip draws what the path offered, below a chart and on its axis. */
export function offerStrip(c: Chart): Element {
  const plot = Plot.plot({
    ...margins, ...across(c, 8, null),
    width: c.width,
    height: 110,
    marginTop: 4,
    marginBottom: 22,
    style: font,
    y: { label: "Offered (Mbit/s)", labelAnchor: "center", labelArrow: "none", labelOffset: 60, grid: true, ticks: 3, zero: true },
    marks: [
      Plot.frame({ stroke: "var(--rule)" }),
      bands(c.offers),
      Plot.line(c.offers, { x: "x", y: "rate", stroke: "var(--soft)", strokeWidth: 1.4 }),
    ],
  });
  described(plot, `Rate that the path offered (Mbit/s) by ${c.along.name}. ${c.offers.map((o) => `${o.x}: ${o.rate.toFixed(2)}${o.outage > 0 ? `, ${(o.outage / 1000).toFixed(1)} s of outage` : ""}`).join("; ")}.`);
  return plot;
}
