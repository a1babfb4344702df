import * as Plot from "@observablehq/plot";
import { short } from "./axis";
import { described, font } from "./charts";
import { fixed } from "./format";
import { say, type Chart } from "./linechart";

/** barChart draws a group of bars over each name, from zero, with the interval of each bar and what papers printed. */
export function barChart(c: Chart): Element {
  const { range, points } = c;
  const axis = range.unit === "" ? c.title : `${c.title} (${range.unit})`;
  const shown = c.along.ticks.filter((t) => points.some((p) => p.x === t.value));
  const width = Math.max(c.width, 90 + shown.length * (c.labels.length * 11 + 14));
  const step = Math.min(16, ((width - 80) / shown.length - 14) / c.labels.length);
  const high = Math.max(...points.flatMap((p) => [p.high, p.printed ?? p.y])) / range.factor;
  const names = short(shown.map((t) => t.word));
  const words = new Map(shown.map((t, i) => [t.value, names[i]]));
  const plot = Plot.plot({
    marginLeft: 66, marginRight: 8, marginTop: 8, marginBottom: 96,
    width, height: 400, style: font,
    color: { type: "identity" }, symbol: { type: "identity" } as Plot.ScaleOptions,
    x: { type: "point", domain: shown.map((t) => t.value), padding: 0.6, label: null, tickRotate: -35, tickFormat: (v: number) => words.get(v) ?? "" },
    y: { label: axis, labelAnchor: "center", labelArrow: "none", labelOffset: 60, domain: [0, high * 1.04 || 1], grid: true, ticks: 5, tickFormat: (v: number) => fixed(v, Number.isInteger(v) ? 0 : 1) },
    marks: [
      ...c.labels.flatMap((label, i) => {
        const look = c.looks.get(label);
        if (look === undefined) return [];
        const mine = points.filter((p) => p.label === label);
        const dx = (i - (c.labels.length - 1) / 2) * step;
        return [
          Plot.ruleX(mine, { x: "x", y1: 0, y2: (p) => p.y / range.factor, stroke: look.colour, strokeWidth: step - 2, dx }),
          Plot.ruleX(mine, { x: "x", y1: (p) => p.low / range.factor, y2: (p) => p.high / range.factor, stroke: "var(--ink)", strokeWidth: 1.2, dx }),
          Plot.dot(mine.filter((p) => p.printed !== undefined), { x: "x", y: (p) => (p.printed ?? 0) / range.factor, r: 4, fill: "var(--paper)", stroke: look.colour, strokeWidth: 1.8, dx }),
        ];
      }),
      Plot.ruleY([0], { stroke: "var(--ink)" }),
    ],
  });
  described(plot, `${axis} by ${c.along.name}${c.name === "" ? "" : ", " + c.name}. ${points.map((p) => say(c, p).replaceAll("\n", ", ")).join(". ")}.`);
  return plot;
}
