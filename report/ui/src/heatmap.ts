import * as Plot from "@observablehq/plot";
import { font } from "./charts";
import type { Scale } from "./data";
import { fixed } from "./format";
import { shade, standing } from "./shade";

/** Spot is a cell of a heat map: the ratio of two cells of the study. */
export interface Spot {
  x: number;
  y: number;
  ratio: number;
  low: number;
  high: number;
  interval: boolean; // [low, high] is a 95 % interval
  n: number;
}

/** HeatMap is what one heat map shows. */
export interface HeatMap {
  title: string; // such as "Ratio of onLoad"
  name: string; // of what to what
  along: Scale;
  against: Scale;
  spots: Spot[];
  width: number;
}

/** heatMap draws ratios over two numbers: blue below 1, orange above, pale near 1; the ratio and its interval stand in each cell. */
export function heatMap(map: HeatMap): Element {
  const values = (of: (s: Spot) => number): number[] => [...new Set(map.spots.map(of))].sort((a, b) => a - b);
  const [xs, ys] = [values((s) => s.x), values((s) => s.y)];
  const word = (scale: Scale, v: number): string => scale.ticks.find((t) => t.value === v)?.word ?? String(v);
  const narrow = (map.width - 66) / xs.length < 74;
  const undecided = (s: Spot): boolean => standing(s) === "undecided";
  const write = (s: Spot, v = s.ratio): string => fixed(v, !undecided(s) && fixed(s.ratio, 2) === "1.00" ? 3 : 2);
  const words = (s: Spot): string => (undecided(s) ? `(${write(s)})` : write(s));
  const spread = (s: Spot): string => (s.interval ? `${write(s, s.low)} to ${write(s, s.high)}` : `n ${s.n}`);
  const say = (s: Spot): string => `${map.name}, ${map.along.name} ${word(map.along, s.x)}, ${map.against.name} ${word(map.against, s.y)}\n${map.title} ${write(s)}\n`
    + (s.interval ? `95 % interval ${write(s, s.low)} to ${write(s, s.high)}, n ${s.n}` : `too few loads for an interval, n ${s.n}`)
    + `\n${{ below: "below 1", above: "above 1", undecided: "not decided" }[standing(s)]}`;
  const place = { x: "x", y: "y" };
  const plot = Plot.plot({
    width: map.width,
    height: 60 + 46 * ys.length,
    marginLeft: 66, marginRight: 8, marginTop: 8, marginBottom: 44,
    style: font,
    color: { type: "identity" },
    padding: 0.03,
    x: { type: "band", domain: xs, label: map.along.label, labelAnchor: "center", labelArrow: "none", tickFormat: (v: number) => word(map.along, v), tickSize: 0 },
    y: { type: "band", domain: ys.toReversed(), label: map.against.label, labelAnchor: "center", labelArrow: "none", labelOffset: 60, tickFormat: (v: number) => word(map.against, v), tickSize: 0 },
    marks: [
      Plot.cell(map.spots, { ...place, fill: (s: Spot) => shade(s.ratio).fill, stroke: (s: Spot) => (undecided(s) ? "var(--soft)" : "none"), strokeDasharray: "3 2", inset: 1 }),
      Plot.text(map.spots, { ...place, text: words, dy: -6, fontSize: 13, fontWeight: 600, fill: (s: Spot) => shade(s.ratio).ink }),
      Plot.text(map.spots, { ...place, text: spread, dy: 9, fontSize: narrow ? 8.5 : 10.5, fill: (s: Spot) => shade(s.ratio).ink }),
      Plot.tip(map.spots, Plot.pointer({ ...place, title: say, fill: "var(--paper)", stroke: "var(--rule)", fontFamily: "inherit" })),
    ],
  });
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${map.title}, ${map.name}, by ${map.along.name} and ${map.against.name}. ${map.spots.map((s) => say(s).replaceAll("\n", ", ")).join(". ")}.`);
  return plot;
}
