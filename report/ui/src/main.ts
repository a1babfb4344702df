import { appendix } from "./appendix";
import { distances } from "./charts";
import { type Data, type Figure, type Metric } from "./data";
import { clocksView } from "./clocks";
import { drawAll, el, whenNear } from "./dom";
import { figureView } from "./figure";
import { list } from "./format";
import { header } from "./header";
import { mapsView } from "./maps";
import { papersView } from "./papers";
import { sectionView } from "./section";
import { seriesView } from "./series";
import { answerFor, answers, sectionName } from "./tables";
import "./style.css";

/** manySections is the number of sections above which the overview chart would be too tall; the table above it says the same. */
const manySections = 24;

function report(data: Data): void {
  document.title = `${data.study}: Wiretime report`;
  const ranked = data.metrics.filter((m) => m.ranked && data.sections.some((s) => answerFor(s, m)));
  const main = document.getElementById("report") ?? document.body;
  main.append(header(data));
  const first = ranked.find((m) => m.name === "plt") ?? ranked[0];
  if (first === undefined) {
    main.append(el("p", { class: "lead" }, "No valid load has been measured yet."), appendix(data));
    return;
  }
  const views = data.sections.map((_, i) => sectionView(data, i, first));
  const overview = answerView(data, first);
  const show = (metric: Metric): void => {
    overview.show(metric);
    for (const v of views) v.show(metric);
  };
  const series = seriesView(data);
  const maps = mapsView(data);
  const papers = papersView(data);
  main.append(
    ...(series === null ? [] : [series]),
    ...(maps === null ? [] : [maps]),
    ...(series === null ? [] : papers),
    el("section", {},
      el("h2", {}, `Which ${data.compared} is faster, and by how much`),
      data.clockNote === undefined ? null : el("p", {}, data.clockNote + " ", el("a", { href: "#clock" }, "What the clock means")),
      chooser(ranked, first, show),
      overview.element),
    ...(data.clocks === undefined ? [] : [clocksView(data, data.clocks)]),
    ...(series === null ? papers : []),
    el("h2", {}, "Network by network"),
    ...views.map((v) => v.element),
    appendix(data),
    el("footer", {}, el("p", {}, "Written by Wiretime. This file holds all its data and fetches nothing. Charts by Observable Plot.")));
  addEventListener("beforeprint", () => {
    for (const folded of main.querySelectorAll<HTMLDetailsElement>(".folded")) folded.open = true;
    drawAll();
  });
  const unfold = (): void => {
    const folded = document.getElementById(location.hash.slice(1))?.querySelector<HTMLDetailsElement>(".folded");
    if (folded) folded.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
}

function chooser(metrics: Metric[], first: Metric, show: (metric: Metric) => void): HTMLElement {
  return el("fieldset", { class: "chooser" },
    el("legend", {}, "Time to compare"),
    ...metrics.map((m) => el("label", { title: m.definition }, el("input", { type: "radio", name: "metric", checked: m === first, onchange: () => show(m) }), el("span", {}, m.title))));
}

function answerView(data: Data, first: Metric): { element: HTMLElement; show: (metric: Metric) => void } {
  const definition = el("p", { class: "caption" });
  const table = el("div");
  const chart = el("div", { class: "chart" });
  const caption = el("figcaption", {}, `How far each median lies behind the lowest on the same ${list(data.same)}; the line is the 95 % interval of the difference. If the interval reaches zero, the difference is not clear.`);
  let metric = first;
  const drawChart = (): void => {
    const sections = data.sections.flatMap((section) => {
      const answer = answerFor(section, metric);
      return answer ? [{ section, answer, name: sectionName(data, section) }] : [];
    });
    chart.replaceChildren(distances(data, sections, metric, Math.max(300, Math.min(900, chart.clientWidth || 700))));
  };
  const show = (to: Metric): void => {
    metric = to;
    definition.textContent = `${to.title}: ${to.definition}`;
    table.replaceChildren(answers(data, to));
    if (chart.hasChildNodes()) drawChart();
  };
  show(first);
  const few = data.sections.length <= manySections;
  if (few) whenNear(chart, drawChart);
  return { element: el("div", {}, definition, table, few ? el("figure", {}, caption, chart) : null), show };
}

const source = document.getElementById("data")?.textContent ?? "null";
const data = JSON.parse(source) as Data | { figure: Figure } | null;
if (data !== null && "figure" in data) {
  document.getElementById("report")?.append(figureView(data.figure));
} else if (data === null) {
  document.getElementById("report")?.append(el("p", {}, "This page holds no data; `wiretime report` puts a run into it."));
} else {
  report(data);
}
