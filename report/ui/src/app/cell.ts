import { distribution } from "../charts";
import { criticalPaths } from "../critical";
import { at, type Cell, type Data, type Load, type Metric } from "../data";
import { drawn, el, scrolling, whenNear } from "../dom";
import { flows } from "../flow";
import { fixed, moment, scaled, scaleFor } from "../format";
import { timelines } from "../timeline";
import { askData, type CellPage } from "./api";
import { outliers, type Far } from "./outliers";
import { facts, sentence, type Context, type Page } from "./page";
import { link } from "./route";
import { runCrumbs } from "./rundata";

/** cellPage shows every load of a cell, those that do not count with their reasons, and what decided the median load. */
export async function cellPage(context: Context, run = "", number = ""): Promise<Page> {
  const address = `/api/runs/${encodeURIComponent(run)}/cells/${encodeURIComponent(number)}`;
  const page = await askData<CellPage>(address + "?light=1", context.signal);
  const cell = at(page.cells, 0);
  const network = page.networks[0];
  const measured = page.metrics.filter((_, column) => page.loads.some((l) => l.values[column] != null));
  const ranked = measured.filter((m) => m.ranked);
  const first = measured.find((m) => m.name === context.route.query["metric"]) ?? ranked.find((m) => m.name === "onload") ?? ranked[0] ?? measured[0];
  const title = `${cell.label}, ${[cell.site, cell.network].filter(Boolean).join(" over ")}`;
  return {
    title, trail: runCrumbs(page.study, run),
    body: [
      facts([...page.axes.map((a): [string, string] => [a.name, a.value]), ["loads", standing(cell)]]),
      el("p", { class: "facts" }, (network?.facts ?? []).map((f) => `${f.name}: ${f.value}`).join("; ")),
      ...(first === undefined ? [el("p", { class: "lead" }, "No load of this cell has a figure yet.")] : every(context, page, measured, first)),
      el("h2", {}, "All loads"),
      table(context, page, measured),
      el("p", { class: "screen" }, el("a", { href: `${address}/csv`, download: `run-${run}-cell-${number}.csv` }, "All figures of these loads as CSV")),
      page.loads.length === 0 ? null : decided(context, address),
    ],
  };
}

const standing = (c: Cell): string => ([["valid", c.valid], ["invalid", c.invalid], ["failed", c.failed], ["unsupported", c.unsupported], ["pending", c.pending]] as const)
  .filter(([name, n]) => name === "valid" || n > 0).map(([name, n]) => `${fixed(n, 0)} ${name}`).join(", ");

/** every draws each load as a dot, by a metric that the reader chooses. */
function every(context: Context, data: Data, measured: Metric[], first: Metric): HTMLElement[] {
  let metric = first;
  const chart = el("div", { class: "chart" });
  const caption = el("figcaption");
  const far = el("p", { class: "facts" });
  const draw = (): void => {
    chart.replaceChildren(distribution(data, at(data.sections, 0), metric, Math.max(300, Math.min(1000, chart.clientWidth || 700)), (load) => {
      location.hash = link(["loads", at(data.loads, load).id]);
    }));
  };
  const say = (): void => {
    caption.textContent = `${metric.title} of every load: a dot is a valid load, a cross one that does not count; the line is the median, the band its 95 % interval, given six values, and the diamond the mean. A click on a dot opens its load.`;
    const ids = farLoads(data, metric).map(({ id, side }) => el("li", {}, el("a", { href: link(["loads", id]) }, id), ` (${side})`));
    far.replaceChildren(ids.length === 0 ? "No load lies far from the others." : `Loads that lie more than 1.5 times the interquartile range beyond the quartiles: `, ...(ids.length === 0 ? [] : [el("ul", { class: "inline" }, ...ids)]));
  };
  say();
  whenNear(chart, draw);
  const select = el("select", { onchange: () => {
    metric = at(measured, select.selectedIndex);
    context.keep({ metric: metric.name });
    say();
    if (drawn(chart)) draw();
  } }, ...measured.map((m) => el("option", { value: m.name, selected: m === first }, m.title === m.unit || m.unit === "" ? m.title : `${m.title} (${m.unit})`)));
  return [el("label", { class: "screen" }, "Figure ", select), el("figure", { class: "distribution" }, caption, chart), far];
}

/** farLoads are the valid loads whose value of a metric is an outlier. */
function farLoads(data: Data, metric: Metric): { id: string; side: NonNullable<Far> }[] {
  const column = data.metrics.indexOf(metric);
  const valid = data.loads.flatMap((l) => {
    const value = l.values[column];
    return l.validity === "valid" && value != null ? [{ id: l.id, value }] : [];
  });
  const sides = outliers(valid.map((v) => v.value));
  return valid.flatMap(({ id }, i) => {
    const side = sides[i] ?? null;
    return side === null ? [] : [{ id, side }];
  });
}

/** shownMetrics is how many figures the table of loads has. */
const shownMetrics = 5;

function table(context: Context, page: CellPage, measured: Metric[]): HTMLElement {
  const columns = [...measured.filter((m) => m.ranked).slice(0, shownMetrics), ...measured.filter((m) => m.name === "late_max")];
  const scales = columns.map((m) => scaleFor(m.unit, page.loads.flatMap((l) => l.values[page.metrics.indexOf(m)] ?? [])));
  const chosen = new Set<string>();
  const together = el("button", { type: "button", class: "do", disabled: true, onclick: () => {
    location.hash = link(["compare", ...chosen]);
  } }, "Compare two loads");
  const choose = (l: Load): HTMLElement => el("input", { type: "checkbox", "aria-label": `Choose load ${l.id} to compare`, onchange: (event) => {
    if ((event.target as HTMLInputElement).checked) chosen.add(l.id);
    else chosen.delete(l.id);
    together.disabled = chosen.size !== 2;
    context.say(chosen.size === 0 ? "" : `${[...chosen].join(" and ")} chosen${chosen.size === 2 ? "" : "; choose two loads to compare them"}`);
  } });
  const cell = at(page.cells, 0);
  const rows = page.loads.map((l, i) => {
    const { started, violations = [], hasFiles, wasDropped } = at(page.attempts, i);
    return el("tr", { class: l.validity },
    el("td", { class: "screen" }, choose(l)),
    el("th", { scope: "row" }, el("a", { href: link(["loads", l.id]) }, l.id), i === cell.medianLoad ? el("small", {}, "median load") : null),
    el("td", {}, moment(started)),
    el("td", {}, l.validity, l.validity === "valid" ? null : el("small", { class: "why" }, l.reason ?? "", ...violations.map((v) => el("span", {}, `Rule ${v.rule}: ${v.detail}`)))),
    ...columns.map((m, c) => {
      const value = l.values[page.metrics.indexOf(m)];
      return el("td", { class: "number" }, value == null ? "–" : scaled(value, at(scales, c)));
    }),
    el("td", {}, hasFiles ? "kept" : wasDropped ? "dropped" : "none"));
  });
  return el("div", {},
    el("p", { class: "screen" }, together),
    scrolling(`Loads of ${cell.label}`, el("table", { class: "loads" },
      el("thead", {}, el("tr", {}, el("th", { class: "screen" }, el("span", { class: "hidden" }, "Choose")), el("th", { scope: "col" }, "Load"), el("th", { scope: "col" }, "Began"), el("th", { scope: "col" }, "Verdict"),
        ...columns.map((m, c) => el("th", { scope: "col", class: "number", title: m.definition }, `${m.title} (${at(scales, c).unit})`)), el("th", { scope: "col" }, "Files"))),
      el("tbody", {}, ...rows))));
}

/** decided says what decided the median load, once the server has read its capture. */
function decided(context: Context, address: string): HTMLElement {
  const box = el("section", { "aria-busy": "true" }, el("h2", {}, "The median load"), el("p", { class: "facts" }, "Reading its capture …"));
  void askData<CellPage>(address, context.signal).then((page) => {
    const section = at(page.sections, 0);
    const median = page.loads[at(page.cells, 0).medianLoad];
    const parts = [criticalPaths(page, section), flows(page, section), median?.timeline === undefined ? null : timelines(page, section)].filter((p) => p !== null);
    box.replaceChildren(el("h2", {}, "The median load"),
      median === undefined ? el("p", { class: "facts" }, "No valid load of this cell left files.") : el("p", {}, el("a", { href: link(["loads", median.id]) }, `Load ${median.id}`), " is the one nearest to the median."),
      ...(page.missing === undefined ? [] : [el("p", { class: "failure" }, page.missing)]),
      ...parts);
  }).catch((error: unknown) => {
    if (!context.signal.aborted) box.replaceChildren(el("p", { class: "failure" }, sentence(error)));
  }).finally(() => box.removeAttribute("aria-busy"));
  return box;
}
