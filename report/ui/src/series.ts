import * as Plot from "@observablehq/plot";
import { isGeometric, logTicks, spaced } from "./axis";
import { colour, font } from "./charts";
import { at, type Data, type Metric, type Panel, type Series } from "./data";
import { el, whenNear } from "./dom";
import { decimalsFor, fixed } from "./format";
import { looksOf, offersOf, pointsOf, rangesOf, type Look, type Offer, type Point, type Range } from "./lines";
import { workloadOf } from "./workload";

/** many is the number of values on an axis above which a panel is dense: it is wide, and its points are small and have no bars. */
const many = 30;

/** seriesView draws how figures change along a number, a picture per metric and panel; null if no number varies in the study. */
export function seriesView(data: Data): HTMLElement | null {
  const all = data.series ?? [];
  const values = (s: Series): number => Math.max(...s.panels.flatMap((p) => p.lines.map((l) => l.points.length)));
  const first = all.reduce<Series | undefined>((best, s) => (best === undefined || values(s) > values(best) ? s : best), undefined);
  if (first === undefined) return null;
  const box = el("div");
  const show = (series: Series): void => {
    box.replaceChildren(...pictures(data, series));
  };
  show(first);
  return el("section", { id: "series" },
    el("h2", {}, all.length === 1 ? `By ${first.name}` : data.streams === undefined ? "By what varies" : "By property of the link"),
    all.length === 1 ? null : el("fieldset", { class: "chooser" },
      el("legend", {}, "Along"),
      ...all.map((s) => el("label", {}, el("input", { type: "radio", name: "series", checked: s === first, onchange: () => { show(s); } }), el("span", {}, s.name)))),
    box);
}

/** pictures are the figures of a series: of each metric that some of its cells have. */
function pictures(data: Data, series: Series): HTMLElement[] {
  const looks = looksOf(series.panels.flatMap((p) => p.lines).filter((l) => l.points.some((p) => workloadOf(data).hasColumn(at(data.cells, p.cell)))).map((l) => ({ label: l.label, colour: colour(data, at(data.cells, l.points[0]?.cell ?? 0)) })));
  const used = new Set<string>();
  const single = series.panels.length === 1;
  const dense = series.ticks.length > many;
  const widest = dense ? 1000 : 640;
  const figures = series.metrics.flatMap((name) => {
    const metric = data.metrics.find((m) => m.name === name);
    const panels = metric === undefined ? [] : series.panels.filter((p) => pointsOf(p, metric).length > 0);
    if (metric === undefined || panels.length === 0) return [];
    const points = panels.map((p) => pointsOf(p, metric));
    points.flat().forEach((p) => used.add(p.label));
    const ranges = rangesOf(points, metric);
    const note = [
      new Set(ranges).size > 1 ? "The panels have axes of their own." : "",
      ranges.some((r) => r.log) ? (ranges.every((r) => r.log) ? "The axis is logarithmic." : "Some axes are logarithmic.") : "",
      points.flat().some((p) => p.printed !== undefined) ? "Hollow points are published medians or means." : "",
      panels.some((p) => offersOf(p).length > 0) ? "Below: the rate that the path offered during each load, averaged over the lines; grey bands are loads that met an outage." : "",
    ].filter(Boolean).join(" ");
    return [el("div", { class: "series" },
      el("h3", {}, `${metric.title} by ${series.name}`),
      el("div", { class: dense ? "" : "panels" }, ...panels.map((p, i) => {
        const box = el("div", { class: "chart" });
        whenNear(box, () => {
          const width = Math.max(280, Math.min(widest, box.clientWidth || 480));
          const offers = offersOf(p);
          box.replaceChildren(drawing(series, p, at(points, i), offers, metric, at(ranges, i), looks, width), ...(offers.length === 0 ? [] : [strip(series, p, offers, width)]));
        });
        return el("figure", {}, p.name === "" ? null : el("figcaption", {}, el("b", {}, p.name)), box);
      })),
      el("p", { class: "caption" }, `${metric.title}: ${metric.definition} ${note}`))];
  });
  const few = figures.length > 0 && series.panels.some((p) => p.lines.some((l) => l.points.some(({ summaries }) => series.metrics.some((name) => summaries[name]?.interval === false))));
  return [
    el("p", {}, dense ? "Each point is the median of a cell's valid loads." : "Each point is the median of a cell's valid loads; the bar through it is the 95 % interval of the median"
      + (few ? ", or, dashed, the range of its loads if there are fewer than six" : "")
      + ". Points at the same value are set apart slightly so that their bars do not overlap."),
    el("ul", { class: "legend lines", "aria-label": "Lines" }, ...[...looks].filter(([label]) => used.has(label)).map(([label, look]) => el("li", {}, swatch(look), label))),
    el("div", { class: single ? "panels" : "" }, ...figures),
  ];
}

function swatch(look: Look): Element {
  return Plot.plot({
    width: 34, height: 14, margin: 0, axis: null, x: { domain: [0, 2] }, y: { domain: [0, 2] }, color: { type: "identity" }, symbol: { type: "identity" } as Plot.ScaleOptions,
    marks: [
      Plot.link([0], { x1: 0, x2: 2, y1: 1, y2: 1, stroke: look.colour, strokeWidth: 2, strokeDasharray: look.dash }),
      Plot.dot([0], { x: 1, y: 1, r: 4, fill: look.colour, symbol: look.symbol }),
    ],
  });
}

/** across gives the horizontal axis of a panel, and the distance of its points from the frame. */
function across(series: Series, panel: Panel, width: number, inset: number, label: string | null): { insetLeft: number; insetRight: number; x: Plot.ScaleOptions } {
  const xs = [...new Set(panel.lines.flatMap((l) => l.points.map((p) => p.at)))].sort((a, b) => a - b);
  const [from = 0, to = 1] = [xs[0], xs.at(-1)];
  const log = isGeometric(xs);
  const words = new Map(series.ticks.map((t) => [t.value, t.word]));
  const gap = log ? 0 : ((to - from) * 34) / (width - 110);
  return {
    insetLeft: inset, insetRight: inset,
    x: {
      label, labelAnchor: "center", labelArrow: "none", type: log ? "log" : "linear", domain: from < to ? [from, to] : [from - 1, to + 1],
      ticks: spaced(xs, gap), tickFormat: (v: number) => words.get(v) ?? String(Number(v.toFixed(4))),
    },
  };
}

const margins = { marginLeft: 66, marginRight: 8 };

function drawing(series: Series, panel: Panel, points: Point[], offers: Offer[], metric: Metric, range: Range, looks: Map<string, Look>, width: number): Element {
  const dense = series.ticks.length > many;
  const lines = panel.lines.filter((l) => points.some((p) => p.label === l.label));
  const step = dense ? 0 : Math.min(6, 34 / lines.length);
  const word = (x: number): string => series.ticks.find((t) => t.value === x)?.word ?? String(x);
  const write = (p: Point): string => {
    const size = decimalsFor(p.y / range.factor);
    const of = (v: number): string => fixed(v / range.factor, size);
    return `${p.label}, ${series.name} ${word(p.x)}\n${metric.title} ${of(p.y)} ${range.unit}\n${p.interval ? "95 % interval" : "range"} ${of(p.low)} to ${of(p.high)}, n ${p.n}`
      + (p.printed === undefined ? "" : `\npublished ${of(p.printed)} ${range.unit}`);
  };
  const plot = Plot.plot({
    ...margins, ...across(series, panel, width, dense ? 8 : 8 + (step * lines.length) / 2, series.label),
    width,
    height: Math.round(Math.min(330, Math.max(240, width * 0.62))),
    marginTop: 8,
    marginBottom: 44,
    style: font,
    color: { type: "identity" },
    symbol: { type: "identity" } as Plot.ScaleOptions,
    y: { label: `${metric.title} (${range.unit})`, labelAnchor: "center", labelArrow: "none", labelOffset: 60, type: range.log ? "log" : "linear", domain: [range.low, range.high], grid: true, ticks: range.log ? logTicks(range.low, range.high) : 5, tickFormat: (v: number) => fixed(v, Number.isInteger(v) ? 0 : v < 0.1 ? 2 : 1) },
    marks: [
      Plot.frame({ stroke: "var(--rule)" }),
      bands(offers),
      ...lines.flatMap(({ label }, i) => {
        const look = looks.get(label);
        if (look === undefined) return [];
        const mine = points.filter((p) => p.label === label);
        const dx = (i - (lines.length - 1) / 2) * step;
        const bar = { x: "x", y1: (p: Point) => p.low / range.factor, y2: (p: Point) => p.high / range.factor, stroke: look.colour, dx };
        const height = (p: Point): number => p.y / range.factor;
        const bars = dense ? [] : [
          Plot.ruleX(mine.filter((p) => p.interval), { ...bar, strokeWidth: 2.5, strokeOpacity: 0.6 }),
          Plot.ruleX(mine.filter((p) => !p.interval), { ...bar, strokeWidth: 1.5, strokeDasharray: "2 2" }),
        ];
        return [
          ...bars,
          Plot.line(mine, { x: "x", y: height, stroke: look.colour, strokeWidth: dense ? 1.2 : 1.8, strokeDasharray: look.dash, dx }),
          Plot.dot(mine, { x: "x", y: height, r: dense ? 2 : 4, fill: look.colour, stroke: "var(--paper)", strokeWidth: dense ? 0.5 : 1, symbol: look.symbol, dx }),
          Plot.dot(mine.filter((p) => p.printed !== undefined), { x: "x", y: (p: Point) => (p.printed ?? 0) / range.factor, r: dense ? 2.5 : 4, fill: "var(--paper)", stroke: look.colour, strokeWidth: 1.5, symbol: look.symbol, dx }),
        ];
      }),
      Plot.tip(points, Plot.pointer({ x: "x", y: (p: Point) => p.y / range.factor, title: write, fill: "var(--paper)", stroke: "var(--rule)", fontFamily: "inherit" })),
    ],
  });
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${metric.title} (${range.unit}) by ${series.name}${panel.name === "" ? "" : ", " + panel.name}. ${points.map((p) => write(p).replaceAll("\n", ", ")).join(". ")}.`);
  return plot;
}

/** bands marks the places of loads that met an outage. */
const bands = (offers: Offer[]): Plot.Markish => Plot.ruleX(offers.filter((o) => o.outage > 0), { x: "x", stroke: "var(--rule)", strokeWidth: 7 });

/** strip draws what the path offered, below a panel and on its axis. */
function strip(series: Series, panel: Panel, offers: Offer[], width: number): Element {
  const plot = Plot.plot({
    ...margins, ...across(series, panel, width, 8, null),
    width,
    height: 110,
    marginTop: 4,
    marginBottom: 22,
    style: font,
    y: { label: "Offered (Mbit/s)", labelAnchor: "center", labelArrow: "none", labelOffset: 60, grid: true, ticks: 3, zero: true },
    marks: [
      Plot.frame({ stroke: "var(--rule)" }),
      bands(offers),
      Plot.line(offers, { x: "x", y: "rate", stroke: "var(--soft)", strokeWidth: 1.4 }),
    ],
  });
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `Rate that the path offered (Mbit/s) by ${series.name}. ${offers.map((o) => `${o.x}: ${o.rate.toFixed(2)}${o.outage > 0 ? `, ${(o.outage / 1000).toFixed(1)} s of outage` : ""}`).join("; ")}.`);
  return plot;
}
