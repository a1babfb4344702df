import * as Plot from "@observablehq/plot";
import { logTicks, spaced } from "./axis";
import { colour, font } from "./charts";
import { at, type Data, type Link, type Metric, type Panel, type Series } from "./data";
import { el, whenNear } from "./dom";
import { decimalsFor, fixed } from "./format";
import { looksOf, pointsOf, rangesOf, type Look, type Point, type Range } from "./lines";
import { workloadOf } from "./workload";

/** followed are the metrics that are followed along the link, in this order. */
const followed = ["ttd", "loading_delay", "recovery", "goodput"];

const axes: Record<keyof Link, { name: string; label: string; value: (link: Link) => number }> = {
  delay: { name: "link delay", label: "Average link delay, one-way (ms)", value: (l) => l.delay },
  loss: { name: "loss", label: "Packet error rate, each direction (%)", value: (l) => 100 * l.loss },
  reconnections: { name: "number of reconnections", label: "Reconnections", value: (l) => l.reconnections },
};

/** seriesView draws how figures change along the link, a picture per metric and panel; nothing of a study whose links are all alike. */
export function seriesView(data: Data): HTMLElement | null {
  const all = data.streams?.series ?? [];
  const values = (s: Series): number => Math.max(...s.panels.flatMap((p) => p.lines.map((l) => l.cells.length)));
  const first = all.reduce<Series | undefined>((best, s) => (best === undefined || values(s) > values(best) ? s : best), undefined);
  if (first === undefined) return null;
  const box = el("div");
  const show = (series: Series): void => {
    box.replaceChildren(...pictures(data, series));
  };
  show(first);
  return el("section", { id: "series" },
    el("h2", {}, all.length === 1 ? `By ${axes[first.axis].name}` : "By property of the link"),
    all.length === 1 ? null : el("fieldset", { class: "chooser" },
      el("legend", {}, "Along"),
      ...all.map((s) => el("label", {}, el("input", { type: "radio", name: "series", checked: s === first, onchange: () => { show(s); } }), el("span", {}, axes[s.axis].name)))),
    box);
}

/** pictures are the figures of a series: of each metric that some of its cells have. */
function pictures(data: Data, series: Series): HTMLElement[] {
  const value = (link: Link): number => axes[series.axis].value(link);
  const looks = looksOf(series.panels.flatMap((p) => p.lines).filter((l) => l.cells.some((c) => workloadOf(data).hasColumn(at(data.cells, c)))).map((l) => ({ label: l.label, colour: colour(data, at(data.cells, l.cells[0] ?? 0)) })));
  const used = new Set<string>();
  const single = series.panels.length === 1;
  const figures = followed.flatMap((name) => {
    const metric = data.metrics.find((m) => m.name === name);
    const panels = metric === undefined ? [] : series.panels.filter((p) => pointsOf(data.cells, p, metric, value).length > 0);
    if (metric === undefined || panels.length === 0) return [];
    const points = panels.map((p) => pointsOf(data.cells, p, metric, value));
    points.flat().forEach((p) => used.add(p.label));
    const ranges = rangesOf(points, metric);
    const note = [
      new Set(ranges).size > 1 ? "The panels have axes of their own." : "",
      ranges.some((r) => r.log) ? (ranges.every((r) => r.log) ? "The axis is logarithmic." : "Some axes are logarithmic.") : "",
    ].filter(Boolean).join(" ");
    return [el("div", { class: "series" },
      el("h3", {}, `${metric.title} by ${axes[series.axis].name}`),
      el("div", { class: "panels" }, ...panels.map((p, i) => {
        const box = el("div", { class: "chart" });
        whenNear(box, () => {
          box.replaceChildren(drawing(data, series, p, metric, at(ranges, i), looks, Math.max(280, Math.min(640, box.clientWidth || 480))));
        });
        return el("figure", {}, p.name === "" ? null : el("figcaption", {}, el("b", {}, p.name)), box);
      })),
      el("p", { class: "caption" }, `${metric.title}: ${metric.definition} ${note}`))];
  });
  const few = figures.length > 0 && data.cells.some((c) => followed.some((name) => c.summaries[name]?.interval === false));
  return [
    el("p", {}, "Each point is the median of a cell's valid loads; the bar through it is the 95 % interval of the median"
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

function drawing(data: Data, series: Series, panel: Panel, metric: Metric, range: Range, looks: Map<string, Look>, width: number): Element {
  const axis = axes[series.axis];
  const points = pointsOf(data.cells, panel, metric, axis.value);
  const xs = [...new Set(panel.lines.flatMap((l) => l.cells).flatMap((c) => at(data.cells, c).link ?? []).map(axis.value))].sort((a, b) => a - b);
  const [from = 0, to = 1] = [xs[0], xs.at(-1)];
  const lines = panel.lines.filter((l) => points.some((p) => p.label === l.label));
  const step = Math.min(6, 34 / lines.length);
  const inset = 8 + (step * lines.length) / 2;
  const write = (p: Point): string => {
    const size = decimalsFor(p.y / range.factor);
    const of = (v: number): string => fixed(v / range.factor, size);
    return `${p.label}, ${axis.name} ${Number(p.x.toFixed(4))}\n${metric.title} ${of(p.y)} ${range.unit}\n${p.interval ? "95 % interval" : "range"} ${of(p.low)} to ${of(p.high)}, n ${p.n}`;
  };
  const plot = Plot.plot({
    width,
    height: Math.round(Math.min(330, Math.max(240, width * 0.62))),
    marginLeft: 66,
    marginRight: 8,
    marginTop: 8,
    marginBottom: 44,
    insetLeft: inset,
    insetRight: inset,
    style: font,
    color: { type: "identity" },
    symbol: { type: "identity" } as Plot.ScaleOptions,
    x: { label: axis.label, labelAnchor: "center", labelArrow: "none", domain: from < to ? [from, to] : [from - 1, to + 1], ticks: spaced(xs, ((to - from) * 34) / (width - 110)), tickFormat: (v: number) => String(Number(v.toFixed(4))) },
    y: { label: `${metric.title} (${range.unit})`, labelAnchor: "center", labelArrow: "none", labelOffset: 60, type: range.log ? "log" : "linear", domain: [range.low, range.high], grid: true, ticks: range.log ? logTicks(range.low, range.high) : 5, tickFormat: (v: number) => fixed(v, Number.isInteger(v) ? 0 : v < 0.1 ? 2 : 1) },
    marks: [
      Plot.frame({ stroke: "var(--rule)" }),
      ...lines.flatMap(({ label }, i) => {
        const look = looks.get(label);
        if (look === undefined) return [];
        const mine = points.filter((p) => p.label === label);
        const dx = (i - (lines.length - 1) / 2) * step;
        const bar = { x: "x", y1: (p: Point) => p.low / range.factor, y2: (p: Point) => p.high / range.factor, stroke: look.colour, dx };
        const height = (p: Point): number => p.y / range.factor;
        return [
          Plot.ruleX(mine.filter((p) => p.interval), { ...bar, strokeWidth: 2.5, strokeOpacity: 0.6 }),
          Plot.ruleX(mine.filter((p) => !p.interval), { ...bar, strokeWidth: 1.5, strokeDasharray: "2 2" }),
          Plot.line(mine, { x: "x", y: height, stroke: look.colour, strokeWidth: 1.8, strokeDasharray: look.dash, dx }),
          Plot.dot(mine, { x: "x", y: height, r: 4, fill: look.colour, stroke: "var(--paper)", strokeWidth: 1, symbol: look.symbol, dx }),
        ];
      }),
      Plot.tip(points, Plot.pointer({ x: "x", y: (p: Point) => p.y / range.factor, title: write, fill: "var(--paper)", stroke: "var(--rule)", fontFamily: "inherit" })),
    ],
  });
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${metric.title} (${range.unit}) by ${axis.name}${panel.name === "" ? "" : ", " + panel.name}. ${points.map((p) => write(p).replaceAll("\n", ", ")).join(". ")}.`);
  return plot;
}
