import { colour } from "../charts";
import { clocksView } from "../clocks";
import { at, type Data, type OverviewMetric } from "../data";
import { el } from "../dom";
import { counted, fixed } from "../format";
import { loads } from "../header";
import { overviewView } from "../overview";
import { seriesView } from "../series";
import { answers, figures, sectionName } from "../tables";
import type { Progress } from "./api";
import type { Context, Page } from "./page";
import { link } from "./route";
import { runCrumbs, runData, runTabs } from "./rundata";

/** overviewPage says what wins where in a run, and leads to its cells. */
export async function overviewPage(context: Context, run = ""): Promise<Page> {
  const data = await runData(context, run);
  const body = el("div", {}, ...view(context, data, run));
  let done = data.counts.planned - data.counts.pending;
  context.live.on("progress", (event) => {
    const p = event as Progress;
    if (String(p.run) !== run || p.done === done) return;
    ({ done } = p);
    void runData(context, run).then((now) => body.replaceChildren(...view(context, now, run)), () => undefined);
  }, context.signal);
  return { title: `${data.study}, run ${run}`, trail: runCrumbs(data.study, run).slice(0, 1), tabs: runTabs(run, ""), body: [body] };
}

function view(context: Context, data: Data, run: string): HTMLElement[] {
  const first = data.overview.metrics[0];
  const { route: { query }, keep } = context;
  const parts: HTMLElement[] = [
    ...(data.quick === true ? [el("p", { class: "gaps" }, "This is a quick run: it measures only a part of the study.")] : []),
    ...data.summary.map((paragraph) => el("p", { class: "lead" }, paragraph)),
    loads(data),
  ];
  if (first === undefined) return parts;
  const table = el("div");
  const show = (name: string): void => {
    const metric = data.overview.metrics.find((m) => m.name === name) ?? first;
    table.replaceChildren(el("p", { class: "caption" }, `${metric.title}: ${data.metrics.find((m) => m.name === metric.name)?.definition ?? ""}`), medians(data, metric, run));
  };
  const overview = overviewView(data.overview, {
    colours: data.overview.labels.map((label) => colour(data, data.cells.find((c) => c.label === label) ?? at(data.cells, 0))),
    state: query,
    changed: (state) => {
      keep({ ...state });
      show(state.metric);
    },
    choose: (place, label) => {
      const { cells, standings } = at(data.overview.places, place);
      const metric = data.overview.metrics.findIndex((m) => m.name === (query["metric"] ?? first.name));
      const cell = cells[label ?? standings[metric]?.best ?? 0] ?? -1;
      if (cell >= 0) location.hash = link(["runs", run, "cells", cell], { metric: query["metric"] });
    },
  });
  show(query["metric"] ?? first.name);
  const series = seriesView(data);
  return [
    ...parts,
    el("h2", {}, `Which ${data.overview.compared} is best, and by how much`),
    ...(data.clockNote === undefined ? [] : [el("p", { class: "caption" }, data.clockNote)]),
    ...(overview === null ? [] : [overview.element]),
    table,
    csvs(query, run),
    ...(series === null ? [] : [series]),
    ...(data.clocks === undefined ? [] : [clocksView(data, data.clocks)]),
    el("h2", {}, "All figures, cell by cell"),
    ...data.sections.map((_, i) => section(data, i, run)),
  ];
}

/** csvs leads to what the overview shows, and to what it is made of, as CSV. */
function csvs(query: Record<string, string>, run: string): HTMLElement {
  const ratios = new URLSearchParams({ ...(query["metric"] ? { metric: query["metric"] } : {}), ...(query["against"] ? { baseline: query["against"] } : {}) }).toString();
  return el("p", { class: "screen" }, "As CSV: ", ...([["medians of all cells", "cells.csv"], ["ratios", `ratios.csv${ratios === "" ? "" : "?" + ratios}`], ["every figure of every load", "loads.csv"]] as const).flatMap(([name, file], i) => [
    i === 0 ? "" : ", ", el("a", { href: `/api/runs/${run}/${file}`, download: `run-${run}-${file.replace(/\?.*/, "")}` }, name)]));
}

/** manySections is the number of sections above which the table of medians is folded. */
const manySections = 12;

function medians(data: Data, metric: OverviewMetric, run: string): HTMLElement {
  const table = answers(data, metric, (section) => {
    const [cell] = at(data.sections, section).cells;
    return cell === undefined ? null : link(["runs", run, "cells", cell], { metric: metric.name });
  });
  return data.sections.length <= manySections ? table : el("details", { class: "folded" }, el("summary", {}, "All medians as a table"), table);
}

/** section folds the figures of the cells that are compared with each other, and leads to each cell. */
function section(data: Data, index: number, run: string): HTMLElement {
  const s = at(data.sections, index);
  const details = el("details", { class: "folded", ontoggle: () => {
    if (details.open && details.children.length === 1) details.append(cells(), figures(data, s));
  } }, el("summary", {}, el("h3", {}, sectionName(data, s)), el("span", { class: "facts" }, ` ${counted(s.cells.length, "cell")}`)));
  const cells = (): HTMLElement => el("p", {}, "Every load of ", el("ul", { class: "inline", "aria-label": "Cells" }, ...s.cells.map((c) => {
    const cell = at(data.cells, c);
    return el("li", {}, el("a", { href: link(["runs", run, "cells", c]) }, cell.label), ` (${fixed(cell.valid, 0)} valid)`);
  })));
  return details;
}
