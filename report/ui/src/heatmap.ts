import * as Plot from "@observablehq/plot";
import { described, font } from "./charts";
import { fixed } from "./format";
import { shade, standing } from "./shade";

/** An axis of a heat map. The places on it are counted from 0. */
export interface Grid {
  label: string;
  words: string[]; // at the places
  number: boolean; // the words are numbers, the lowest first: a vertical axis then begins at the bottom
}

/** Spot is a field of a heat map. */
export interface Spot {
  x: number;
  y: number;
  words: string[]; // in the field: the first one large
  fill: string;
  ink: string;
  decided: boolean; // what it says is beyond doubt
  says: string; // all of it, in lines
}

/** HeatMap is what one heat map shows. */
export interface HeatMap {
  name: string;
  across: Grid;
  down: Grid;
  spots: Spot[];
  width: number;
  choose?: ((spot: Spot) => void) | undefined;
}

/** Ratio is the ratio of two medians. */
export interface Ratio {
  ratio: number;
  low: number;
  high: number;
  interval: boolean; // [low, high] is a 95 % interval
  n: number;
}

const row = 48; // px

/** widthOf estimates how wide a text is, in px; bold letters are the widest. */
const widthOf = (text: string, size: number): number => 0.64 * size * text.length;

/** heatMap draws fields over two axes. */
export function heatMap(map: HeatMap): Element {
  const used = (of: (s: Spot) => number): number[] => [...new Set(map.spots.map(of))].sort((a, b) => a - b);
  const [xs, ys] = [used((s) => s.x), used((s) => s.y)];
  const word = (grid: Grid, i: number): string => grid.words[i] ?? "";
  const left = 34 + Math.min(190, Math.max(12, ...ys.map((y) => widthOf(word(map.down, y), 12))));
  const band = (map.width - left - 8) / xs.length;
  const longest = Math.max(0, ...xs.map((x) => widthOf(word(map.across, x), 12)));
  const slanted = longest > band;
  const below = (slanted ? 14 + Math.min(120, longest * 0.5) : 20) + (map.across.label === "" ? 0 : 24);
  const size = (line: number, most: number): number => Math.max(7.5, Math.min(most, ...map.spots.map((s) => (0.94 * band) / (widthOf(s.words[line] ?? "", 1) || 1))));
  const high = ys.length < 4; // too few rows for a label along them
  const top = high && map.down.label !== "" ? 26 : 8;
  const rows = map.spots.reduce((most, s) => Math.max(most, s.words.length), 1);
  const place = { x: "x", y: "y" };
  const plot = Plot.plot({
    width: map.width,
    height: top + row * ys.length + below,
    marginLeft: left, marginRight: 8, marginTop: top, marginBottom: below,
    style: font,
    color: { type: "identity" },
    padding: 0.03,
    x: { type: "band", domain: xs, label: map.across.label || null, labelAnchor: "center", labelArrow: "none", labelOffset: below - 6, tickFormat: (x: number) => word(map.across, x), tickSize: 0, tickRotate: slanted ? -30 : 0 },
    y: { type: "band", domain: map.down.number ? ys.toReversed() : ys, label: map.down.label || null, labelAnchor: high ? "top" : "center", labelArrow: "none", labelOffset: high ? left : left - 6, tickFormat: (y: number) => word(map.down, y), tickSize: 0 },
    marks: [
      Plot.cell(map.spots, { ...place, fill: "fill", stroke: (s: Spot) => (s.decided ? "none" : "var(--soft)"), strokeDasharray: "3 2", inset: 1 }),
      ...Array.from({ length: rows }, (_, line) => Plot.text(map.spots, {
        ...place, text: (s: Spot) => s.words[line] ?? "", fill: "ink", dy: 14 * (line - (rows - 1) / 2) - (line === 0 ? 1 : 0),
        fontSize: size(line, line === 0 ? 13 : 10.5), fontWeight: line === 0 ? 600 : 400,
      })),
      Plot.tip(map.spots, Plot.pointer({ ...place, title: "says", fill: "var(--paper)", stroke: "var(--rule)", fontFamily: "inherit" })),
    ],
  });
  described(plot, `${map.name}. ${map.spots.map((s) => s.says.replaceAll("\n", ", ")).join(". ")}.`);
  const { choose } = map;
  if (choose !== undefined) {
    plot.classList.add("chosen");
    plot.addEventListener("click", () => {
      const spot = (plot as { value?: Spot | null }).value;
      if (spot) choose(spot);
    });
  }
  return plot;
}

/** ratioSpot shows a ratio: blue below 1, orange above, pale near 1, with its interval below; where more is better, the colours change places. */
export function ratioSpot(x: number, y: number, ratio: Ratio, title: string, more = false): Spot {
  const sure = standing(ratio);
  const decided = sure !== "undecided";
  const write = (v: number): string => fixed(v, decided && fixed(ratio.ratio, 2) === "1.00" ? 3 : 2);
  const { fill, ink } = shade(more ? 1 / ratio.ratio : ratio.ratio);
  const interval = `${write(ratio.low)} to ${write(ratio.high)}`;
  return {
    x, y, fill, ink, decided,
    words: [decided ? write(ratio.ratio) : `(${write(ratio.ratio)})`, ratio.interval ? interval : `n ${ratio.n}`],
    says: `${title} ${write(ratio.ratio)}\n${ratio.interval ? `95 % interval ${interval}, n ${ratio.n}` : `too few loads for an interval, n ${ratio.n}`}\n${{ below: "below 1", above: "above 1", undecided: "not decided" }[sure]}`,
  };
}
