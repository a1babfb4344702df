import * as Plot from "@observablehq/plot";
import { stepDecimals } from "./axis";
import { at, type Answer, type Cell, type ClockPair, type Data, type OverviewMetric, type Section } from "./data";
import { fixed, percent, scaled, scaleFor } from "./format";
import { workloadOf } from "./workload";

export const font = { fontFamily: "inherit", fontSize: "12px" };
/** described makes a chart one picture with a description. Plot names the marks in it, which ARIA does not allow of parts without a role; styles find them by data-mark. */
export function described<T extends Element>(plot: T, text: string): T {
  for (const mark of plot.querySelectorAll("[aria-label]")) {
    mark.setAttribute("data-mark", mark.getAttribute("aria-label") ?? "");
    mark.removeAttribute("aria-label");
  }
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", text);
  return plot;
}

const labelWidth = (labels: string[], most = 190): number => Math.min(most, 20 + 7 * Math.max(...labels.map((l) => l.length)));

/** colour returns a cell's colour, by what cells are compared by. The palette is Okabe and Ito's, which the colour-blind can tell apart. */
export function colour(data: Data, cell: Cell): string {
  const of = coloured(data);
  return `var(--p${[...new Set(data.cells.map(of))].indexOf(of(cell)) % 8})`;
}

/** coloured says by what cells are coloured; the strategies of one transport share its colour. Where all cells have the same protocol or transport, labels tell them apart. */
function coloured(data: Data): (cell: Cell) => string {
  if (data.compared === "transport and strategy") return (c) => c.protocol;
  const axis = data.compared === "transport" ? "protocol" : data.compared;
  return data.cells.every((c) => c[axis] === data.cells[0]?.[axis]) ? (c) => c.label : (c) => c[axis] ?? "";
}

interface Dot {
  label: string;
  value: number;
  load: number;
  valid: boolean;
  colour: string;
  title: string;
}

/**
 * distribution draws every load of a section as a dot, with each cell's mean, and its median with the
 * interval. A click on a dot calls choose with the load.
 */
export function distribution(data: Data, section: Section, metric: Pick<OverviewMetric, "name" | "title" | "unit">, width: number, choose: (load: number) => void): Element {
  const column = data.metrics.findIndex((m) => m.name === metric.name);
  const cells = section.cells.map((c) => at(data.cells, c)).filter((c) => workloadOf(data).hasColumn(c));
  const all = cells.flatMap((c) => c.loads.map((l) => at(data.loads, l).values[column] ?? 0));
  const scale = scaleFor(metric.unit, all);
  const dots: Dot[] = cells.flatMap((cell) =>
    cell.loads.flatMap((index): Dot[] => {
      const load = at(data.loads, index);
      const value = load.values[column];
      if (value == null) return [];
      const why = load.validity === "valid" ? "" : `\n${load.validity}: ${load.reason ?? ""}`;
      return [{
        label: cell.label, value: value / scale.factor, load: index, valid: load.validity === "valid", colour: colour(data, cell),
        title: `${cell.label}, load ${load.id}\n${metric.title} ${scaled(value, scale)} ${scale.unit}${why}`,
      }];
    }),
  );
  const summaries = cells.flatMap((cell) => {
    const s = cell.summaries[metric.name];
    return s === undefined ? [] : [{
      label: cell.label, colour: colour(data, cell), note: s.n > 1 ? `n ${s.n}, CV ${percent(s.cv)}` : "n 1", interval: s.interval,
      median: s.median / scale.factor, low: s.low / scale.factor, high: s.high / scale.factor,
    }];
  });
  const valid = dots.filter((d) => d.valid);
  const means = cells.flatMap((cell) => {
    const mine = valid.filter((d) => d.label === cell.label).map((d) => d.value);
    return mine.length === 0 ? [] : [{ label: cell.label, mean: mine.reduce((a, b) => a + b) / mine.length }];
  });
  const radius = width < 500 ? 2.5 : 3;
  const values = dots.map((d) => d.value);
  const decimals = Math.max(scale.decimals, stepDecimals(Math.min(...values), Math.max(...values), 8));
  const plot = Plot.plot({
    width,
    height: 42 + 46 * cells.length,
    marginLeft: labelWidth(cells.map((c) => c.label)),
    marginRight: 104,
    marginTop: 4,
    marginBottom: 40,
    style: font,
    color: { type: "identity" },
    x: { label: `${metric.title} (${scale.unit})`, labelAnchor: "center", labelOffset: 36, labelArrow: "none", grid: true, nice: true, ticks: width < 500 ? 4 : 8, tickFormat: (v: number) => fixed(v, Number.isInteger(v) ? 0 : decimals) },
    fy: { label: null, domain: cells.map((c) => c.label), padding: 0.12, axis: "left" },
    y: { axis: null, domain: [-1, 1] },
    marks: [
      Plot.rect(summaries.filter((s) => s.interval), { fy: "label", x1: "low", x2: "high", y1: -0.95, y2: 0.95, fill: "colour", fillOpacity: 0.16 }),
      Plot.dot(valid, Plot.dodgeY({ anchor: "middle", padding: 0.6 }, { fy: "label", x: "value", r: radius, fill: "colour", fillOpacity: 0.85, title: null })),
      Plot.dot(dots.filter((d) => !d.valid), { fy: "label", x: "value", y: 0.78, r: radius + 1, symbol: "times", stroke: "var(--soft)", strokeWidth: 1.5 }),
      Plot.ruleX(summaries, { fy: "label", x: "median", y1: -0.95, y2: 0.95, stroke: "var(--ink)", strokeWidth: 2 }),
      Plot.dot(means, { fy: "label", x: "mean", y: -0.78, r: 5, symbol: "diamond2", fill: "var(--paper)", stroke: "var(--ink)", strokeWidth: 1.5 }),
      Plot.text(summaries, { fy: "label", text: "note", frameAnchor: "right", dx: 100, textAnchor: "end", fill: "var(--soft)" }),
      Plot.tip(dots, Plot.pointer({ fy: "label", x: "value", title: "title", fill: "var(--paper)", stroke: "var(--rule)", fontFamily: "inherit" })),
    ],
  });
  plot.addEventListener("click", () => {
    const dot = (plot as { value?: Dot | null }).value;
    if (dot) choose(dot.load);
  });
  return described(plot, `${metric.title} of every load, with medians: ${summaries.map((s) => `${s.label} ${fixed(s.median, scale.decimals)} ${scale.unit}`).join(", ")}. The table above has the figures.`);
}

/** distances draws, section by section, how far each cell lies behind the fastest, with the interval of the difference. */
export function distances(data: Data, sections: { section: Section; answer: Answer; name: string }[], metric: OverviewMetric, width: number): Element {
  const lowest = (answer: Answer): number => at(data.cells, answer.fastest).summaries[metric.name]?.median ?? 0;
  const some = sections.filter(({ answer }) => lowest(answer) > 0);
  const rows = some.flatMap(({ answer, name }) => {
    const fastest = at(data.cells, answer.fastest);
    const best = lowest(answer);
    return [
      { name, label: fastest.label, colour: colour(data, fastest), diff: 0, low: 0, high: 0, interval: false },
      ...answer.behind.map((b) => {
        const cell = at(data.cells, b.cell);
        return { name, label: cell.label, colour: colour(data, cell), diff: (100 * b.diff) / best, low: (100 * b.low) / best, high: (100 * b.high) / best, interval: b.interval };
      }),
    ];
  });
  return differences(rows, some.map((s) => s.name), [...new Set(data.cells.filter((c) => workloadOf(data).hasColumn(c)).map((c) => c.label))], `${metric.title} behind the ${metric.more ? "highest" : "lowest"} median (%)`, width);
}

/** clockDistances draws how far the virtual clock's median of a time lies from the real one's, pair by pair, over a band in which the clocks agree. */
export function clockDistances(data: Data, pairs: { pair: ClockPair; name: string }[], title: string, width: number): Element {
  const percentFrom1 = (ratio: number): number => 100 * (ratio - 1);
  const rows = pairs.filter(({ pair }) => pair.ratio > 0).map(({ pair, name }) => {
    const cell = at(data.cells, pair.real);
    return { name, label: cell.label, colour: colour(data, cell), diff: percentFrom1(pair.ratio), low: percentFrom1(pair.low), high: percentFrom1(pair.high), interval: pair.interval };
  });
  return differences(rows, [...new Set(rows.map((r) => r.name))], [...new Set(rows.map((r) => r.label))], `Median ${title}, virtual from real (%)`, width, [-1, 1]);
}

interface Difference {
  name: string;
  label: string;
  colour: string;
  diff: number; // all three in %
  low: number;
  high: number;
  interval: boolean;
}

/** differences draws a row per difference, in a frame per name, with a line at zero and, if given, a band around it. */
function differences(rows: Difference[], names: string[], labels: string[], axis: string, width: number, band?: [number, number]): Element {
  const narrow = width < 500;
  return described(Plot.plot({
    width,
    height: 50 + names.length * (labels.length * 15 + (narrow ? 26 : 12)),
    marginLeft: labelWidth(labels),
    marginRight: narrow ? 8 : labelWidth(names, 320) + 8,
    marginTop: narrow ? 20 : 4,
    marginBottom: 36,
    style: font,
    color: { type: "identity" },
    x: { label: axis, labelAnchor: "center", labelArrow: "none", grid: true, nice: true, ticks: narrow ? 4 : 8 },
    y: { label: null, domain: labels, tickSize: 0 },
    fy: { label: null, domain: names, padding: narrow ? 0.28 : 0.12, axis: narrow ? null : "right" },
    marks: [
      band ? Plot.rectX(names, { fy: (d: string) => d, x1: band[0], x2: band[1], fill: "var(--good)", fillOpacity: 0.14 }) : null,
      Plot.frame({ stroke: "var(--rule)" }),
      narrow ? Plot.text(names, { fy: (d: string) => d, text: (d: string) => d, frameAnchor: "top-left", dy: -15, fontWeight: 600 }) : null,
      Plot.ruleX([0], { stroke: "var(--ink)" }),
      Plot.ruleY(rows.filter((r) => r.interval), { fy: "name", y: "label", x1: "low", x2: "high", stroke: "colour", strokeWidth: 2.5, strokeOpacity: 0.6 }),
      Plot.dot(rows, { fy: "name", y: "label", x: "diff", r: 3.5, fill: "colour" }),
    ],
  }), `${axis}: ${rows.map((r) => `${r.name}, ${r.label} ${fixed(r.diff, 1)}`).join("; ")}.`);
}
