import { appendix } from "./appendix";
import { colour, distances } from "./charts";
import { clocksView } from "./clocks";
import { contents } from "./contents";
import { at, readData, type Data, type Figure, type OverviewMetric } from "./data";
import { drawAll, el, whenNear } from "./dom";
import { figureView } from "./figure";
import { list } from "./format";
import { header } from "./header";
import { overviewView } from "./overview";
import { papersView } from "./papers";
import { sectionView } from "./section";
import { seriesView } from "./series";
import { anchor, answerFor, answers, sectionName } from "./tables";
import "./style.css";

/** manySections is the number of sections above which the overview says it all, and the table and the chart of all medians are folded. */
const manySections = 8;

/** tooManySections is the number of sections above which the chart of all medians would be too tall. */
const tooManySections = 24;

function report(data: Data): void {
  document.title = `${data.study}: Wiretime report`;
  const main = document.getElementById("report") ?? document.body;
  main.append(header(data));
  const first = data.overview.metrics[0];
  if (first === undefined) {
    main.append(appendix(data));
    return;
  }
  const views = data.sections.map((_, i) => sectionView(data, i, first, data.sections.length === 1));
  const medians = mediansView(data, first);
  const colours = data.overview.labels.map((label) => colour(data, data.cells.find((c) => c.label === label) ?? at(data.cells, 0)));
  const overview = overviewView(data.overview, {
    colours,
    changed: (state) => {
      const metric = data.overview.metrics.find((m) => m.name === state.metric) ?? first;
      for (const v of [medians, ...views]) v.show(metric);
    },
    choose: (place) => { location.hash = anchor(place); },
  });
  const series = seriesView(data);
  const papers = papersView(data);
  main.append(
    contents(data, series !== null),
    el("section", { id: "overview" },
      el("h2", {}, `Which ${data.overview.compared} is best, and by how much`),
      data.clockNote === undefined ? null : el("p", {}, data.clockNote + " ", el("a", { href: "#clock" }, "What the clock means")),
      overview?.element ?? null,
      medians.element),
    ...(series === null ? [] : [series]),
    ...(data.clocks === undefined ? [] : [clocksView(data, data.clocks)]),
    ...papers,
    el("h2", { id: "sections" }, "Network by network"),
    ...views.map((v) => v.element),
    appendix(data),
    el("footer", {}, el("p", {}, "Written by Wiretime. This file holds all its data and fetches nothing. Charts by Observable Plot.")));
  addEventListener("beforeprint", () => {
    for (const v of views) v.open();
    for (const folded of main.querySelectorAll<HTMLDetailsElement>(".folded")) folded.open = true;
    drawAll();
  });
  const unfold = (): void => {
    const target = document.getElementById(location.hash.slice(1));
    const index = data.sections.findIndex((_, i) => anchor(i) === target?.id);
    views[index]?.open();
    target?.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
}

/** mediansView has all medians as a table and, if it is not too tall, as a chart. */
function mediansView(data: Data, first: OverviewMetric): { element: HTMLElement; show: (metric: OverviewMetric) => void } {
  const definition = el("p", { class: "caption" });
  const table = el("div");
  const chart = el("div", { class: "chart" });
  const caption = el("figcaption", {}, `How far each median lies behind the best on the same ${list(data.same)}; the line is the 95 % interval of the difference. If the interval reaches zero, the difference is not clear.`);
  let metric = first;
  const drawChart = (): void => {
    const sections = data.sections.flatMap((section) => {
      const answer = answerFor(section, metric);
      return answer ? [{ section, answer, name: sectionName(data, section) }] : [];
    });
    chart.replaceChildren(distances(data, sections, metric, Math.max(300, Math.min(900, chart.clientWidth || 700))));
  };
  const show = (to: OverviewMetric): void => {
    metric = to;
    definition.textContent = `${to.title}: ${data.metrics.find((m) => m.name === to.name)?.definition ?? ""}`;
    table.replaceChildren(answers(data, to, (section) => `#${anchor(section)}`));
    if (chart.hasChildNodes()) drawChart();
  };
  show(first);
  if (data.sections.length <= tooManySections) whenNear(chart, drawChart);
  const parts = [definition, table, data.sections.length > tooManySections ? null : el("figure", {}, caption, chart)];
  return {
    element: data.sections.length > manySections ? el("details", { class: "folded", id: "medians" }, el("summary", {}, "All medians as a table"), ...parts) : el("div", { id: "medians" }, ...parts),
    show,
  };
}

const source = document.getElementById("data")?.textContent ?? "null";
const data = readData(source);
if (data === null) {
  document.getElementById("report")?.append(el("p", {}, "This page holds no data; `wiretime report` puts a run into it."));
} else if ("figure" in data) {
  document.getElementById("report")?.append(figureView((data as { figure: Figure }).figure));
} else {
  report(data);
}
