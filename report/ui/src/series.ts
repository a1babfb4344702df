import { colour } from "./charts";
import { at, type Data, type Series } from "./data";
import { chooser, el, whenNear } from "./dom";
import { legend, lineChart, offerStrip, type Chart } from "./linechart";
import { looksOf, offersOf, pointsOf, rangesOf } from "./lines";
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
    chooser("series", "Along", all, first, (s) => s.name, show),
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
      points.flat().some((p) => p.printed !== undefined) ? "Hollow points with a thin line are published medians or means." : "",
      panels.some((p) => offersOf(p).length > 0) ? "Below: the rate that the path offered during each load, averaged over the lines; grey bands are loads that met an outage." : "",
    ].filter(Boolean).join(" ");
    return [el("div", { class: "series" },
      el("h3", {}, `${metric.title} by ${series.name}`),
      el("div", { class: dense ? "" : "panels" }, ...panels.map((p, i) => {
        const box = el("div", { class: "chart" });
        whenNear(box, () => {
          const width = Math.max(280, Math.min(widest, box.clientWidth || 480));
          const here = at(points, i);
          const chart: Chart = {
            name: p.name, title: metric.title, along: series, labels: p.lines.map((l) => l.label).filter((label) => here.some((h) => h.label === label)),
            points: here, offers: offersOf(p), range: at(ranges, i), looks, width, dense,
          };
          box.replaceChildren(lineChart(chart), ...(chart.offers.length === 0 ? [] : [offerStrip(chart)]));
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
    legend(looks, used),
    el("div", { class: single ? "panels" : "" }, ...figures),
  ];
}
