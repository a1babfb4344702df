import { distribution } from "./charts";
import { criticalPaths } from "./critical";
import { at, phases, unpack, type Cell, type Data, type Load, type OverviewMetric, type Request, type Section } from "./data";
import { drawn, el, svg, whenNear } from "./dom";
import { flows } from "./flow";
import { fixed } from "./format";
import { glance, type Pointing } from "./glance";
import { endOfAll } from "./layout";
import { requestList, showRequest } from "./requests";
import { anchor, answerFor, figures, sectionName } from "./tables";
import { timelines } from "./timeline";
import * as tooltip from "./tooltip";
import { verdict } from "./verdict";
import { workloadOf } from "./workload";

/** A SectionView is a section on the page; show turns it to another metric. */
export interface SectionView {
  element: HTMLElement;
  show: (metric: OverviewMetric) => void;
  open: () => void;
}

/** sectionView makes one site on one network: answer, table, distribution, waterfalls. It is folded unless open, and made when it is first opened: a study may have hundreds. */
export function sectionView(data: Data, index: number, first: OverviewMetric, open: boolean): SectionView {
  const section = at(data.sections, index);
  let metric = first;
  let shown: ((to: OverviewMetric) => void) | null = null;
  const fold = el("details", { class: "folded", open }, el("summary", {}, el("h3", {}, sectionName(data, section))));
  const fill = (): void => {
    if (shown !== null || !fold.open) return;
    const { body, show } = sectionBody(data, section, metric);
    fold.append(...body);
    shown = show;
  };
  fold.addEventListener("toggle", fill);
  fill();
  return {
    element: el("section", { id: anchor(index), class: "measured" }, fold),
    show: (to) => {
      metric = to;
      shown?.(to);
    },
    open: () => {
      fold.open = true;
      fill();
    },
  };
}

function sectionBody(data: Data, section: Section, first: OverviewMetric): { body: HTMLElement[]; show: (metric: OverviewMetric) => void } {
  let metric = first;
  const answer = el("p", { class: "answer" });
  const chart = el("div", { class: "chart" });
  const chartCaption = el("figcaption");
  const falls = workloadOf(data).detail === "waterfalls" ? waterfalls(data, section) : { element: timelines(data, section), choose: () => {} };
  const network = data.networks.find((n) => n.name === section.network);

  const drawChart = (): void => {
    chart.replaceChildren(distribution(data, section, metric, Math.max(300, Math.min(900, chart.clientWidth || 700)), falls.choose));
  };
  const say = (): void => {
    const found = answerFor(section, metric);
    answer.textContent = found ? verdict(found, data.cells, metric).text : `No valid load has a ${metric.title}.`;
    chartCaption.textContent = `${metric.title} of every load: a dot is a valid load, a cross one that does not count; the line is the median, the band its 95 % interval, given six values, and the diamond at the bottom the mean. CV: standard deviation as a share of the mean.`;
  };
  say();
  whenNear(chart, drawChart);
  const body = [
    el("p", { class: "facts" }, (network?.facts ?? []).map((f) => `${f.name}: ${f.value}`).join("; ")),
    section.clock === "virtual" ? el("p", { class: "facts" }, data.clockNote ?? "") : null,
    answer,
    figures(data, section),
    el("figure", { class: "distribution" }, chartCaption, chart),
    criticalPaths(data, section),
    flows(data, section),
    falls.element,
  ].filter((e) => e !== null);
  return {
    body,
    show: (to) => {
      metric = to;
      say();
      if (drawn(chart)) drawChart();
    },
  };
}

function waterfalls(data: Data, section: Section): { element: HTMLElement; choose: (load: number) => void } {
  const cells = section.cells.map((c) => at(data.cells, c));
  const withMedian = cells.filter((c) => data.loads[c.medianLoad]?.waterfall);
  const some = withMedian[0];
  if (some === undefined) {
    return { element: el("p", { class: "facts" }, [data.omitted === undefined ? "No load of this section left a record of its requests." : "There was no room in this file for the waterfalls of this section; the store may have them.", data.dropped].filter(Boolean).join(" ")), choose: () => {} };
  }
  const requestsOf = (load: Load): Request[] => (load.waterfall ? unpack(load.waterfall, data.words) : []);
  const select = el("select", { onchange: () => list(Number(select.value)) }, ...cells.map((cell) => options(data, cell)));
  const box = el("div", { class: "list" });
  const label = (load: Load): string => at(data.cells, load.cell).label;

  const list = (index: number): void => {
    const load = at(data.loads, index);
    select.value = String(index);
    const table = requestList(load, label(load), requestsOf(load));
    table.addEventListener("pointerleave", tooltip.hide);
    box.replaceChildren(table);
  };
  const small = el("div", { class: "glances" });
  const drawSmall = (): void => {
    const loads = withMedian.map((c) => at(data.loads, c.medianLoad));
    const requests = loads.map(requestsOf);
    const end = 1.02 * Math.max(1, ...loads.map((l, i) => endOfAll(requests[i] ?? [], l.waterfall?.dcl ?? 0, l.waterfall?.onLoad ?? 0)));
    small.replaceChildren(...loads.map((load, i) => {
      const cell = at(cells, cells.findIndex((c) => c === withMedian[i]));
      const pointing: Pointing = {
        over: tooltip.show,
        out: tooltip.hide,
        choose: (row) => {
          details.open = true;
          list(cell.medianLoad);
          const table = box.querySelector<HTMLElement>(".scroll");
          if (table) showRequest(table, row);
          details.scrollIntoView({ block: "nearest" });
        },
      };
      return el("figure", {}, el("figcaption", {}, el("b", {}, cell.label), ` load ${load.id}`), glance(load, cell.label, requests[i] ?? [], end, pointing));
    }));
  };
  const details = el("details", { class: "screen", ontoggle: () => details.open && !box.hasChildNodes() && list(Number(select.value)) },
    el("summary", {}, "Request list of a load"),
    el("label", {}, "Load ", select),
    box);
  select.value = String(some.medianLoad);
  whenNear(small, drawSmall);
  return {
    element: el("div", { class: "waterfalls" },
      el("h4", {}, "Waterfalls of the median loads"),
      el("p", { class: "caption" }, "One load of each cell, the valid one whose onLoad is nearest to the median, as for the critical path. A row per request in the order they started, one time axis for all. Left: a lane per priority as sent (most urgent first) and a lane per connection."),
      phaseLegend(),
      small,
      details),
    choose: (index) => {
      if (!at(data.loads, index).waterfall) return;
      details.open = true;
      list(index);
      details.scrollIntoView({ block: "nearest" });
    },
  };
}

function options(data: Data, cell: Cell): HTMLElement {
  const onLoad = data.metrics.findIndex((m) => m.name === "onload");
  return el("optgroup", { label: cell.label }, ...cell.loads.filter((i) => at(data.loads, i).waterfall).map((i) => {
    const load = at(data.loads, i);
    const value = load.values[onLoad];
    const words = [`${cell.label} ${load.id}`, value == null ? "" : `onLoad ${fixed(value, 0)} ms`, load.validity === "valid" ? "" : load.validity, i === cell.medianLoad ? "median" : ""];
    return el("option", { value: i }, words.filter(Boolean).join(", "));
  }));
}

/** phaseLegend names the phases of requests, and the marks of DCL and onLoad. */
export function phaseLegend(): HTMLElement {
  return el("ul", { class: "legend", "aria-label": "Phases" },
    ...phases.map((p) => el("li", {}, svg("svg", { viewBox: "0 0 20 10", width: 20, height: 10, "aria-hidden": "true" },
      svg("rect", { class: p, x: 0, width: 20, ...(p === "blocked" ? { y: 4, height: 2 } : p === "dns" || p === "connect" || p === "ssl" ? { y: 2.5, height: 5 } : { y: 0.5, height: 9 }) })), p)),
    ...[["dcl", "DCL"], ["onload", "onLoad"]].map(([kind = "", name = ""]) => el("li", {}, svg("svg", { viewBox: "0 0 6 10", width: 6, height: 10, "aria-hidden": "true" }, svg("line", { class: kind, x1: 3, x2: 3, y1: 0, y2: 10 })), name)));
}
