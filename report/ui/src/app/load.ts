import { criticalPaths, pathLegend } from "../critical";
import { at, unpack, type Request } from "../data";
import { el, scrolling } from "../dom";
import { fixed, moment, scaled, scaleFor } from "../format";
import { requestList, type Extra } from "../requests";
import { phaseLegend } from "../section";
import { timelines } from "../timeline";
import * as tooltip from "../tooltip";
import { ask, askData, type Connections, type LoadPage } from "./api";
import { compareWith } from "./comparewith";
import { connectionViews } from "./connections";
import { criticalLane, packetLanes, stepsOf } from "./lanes";
import { packetTable } from "./packettable";
import { facts, sentence, type Context, type Page } from "./page";
import { link } from "./route";
import { runCrumbs } from "./rundata";
import { withCells } from "./wrap";

/** loadPage shows all that is known of one load. */
export async function loadPage(context: Context, id = ""): Promise<Page> {
  const page = await askData<LoadPage>(`/api/loads/${encodeURIComponent(id)}`, context.signal);
  const [load, cell] = [at(page.loads, 0), at(page.cells, 0)];
  const { previous, next, axes, started, wall, seed, programs } = page.load;
  return {
    title: `Load ${load.id}`,
    trail: [...runCrumbs(page.study, page.run), { name: cell.label, href: link(["runs", page.run, "cells", page.load.number]) }],
    tabs: el("nav", { class: "tabs", "aria-label": "Loads of the cell" },
      previous === undefined ? null : el("a", { href: link(["loads", previous]), rel: "prev" }, `Previous: ${previous}`),
      next === undefined ? null : el("a", { href: link(["loads", next]), rel: "next" }, `Next: ${next}`)),
    body: [
      load.validity === "valid" ? null : el("div", { class: "failure" }, el("p", {}, `This load is ${load.validity} and counts in no result: ${load.reason ?? ""}`),
        el("ul", {}, ...(page.load.violations ?? []).map((v) => el("li", {}, `Rule ${v.rule}: ${v.detail}`)))),
      facts([...axes.map((a): [string, string] => [a.name, a.value]), ["began", moment(started)], ["took", `${fixed(wall, 0)} ms of real time`], ["repeat", `${load.repeat + 1}, attempt ${load.attempt}`], ["seed", seed]]),
      takeAway(page),
      compareWith(context, page),
      ...story(context, page),
      el("h2", {}, "Figures"),
      figures(page),
      pagesOf(page),
      programs === undefined ? null : el("details", {}, el("summary", {}, "The programs that this load follows from"), el("dl", { class: "pairs" }, ...programs.flatMap((p) => [el("dt", {}, p.name), el("dd", {}, p.value)]))),
    ],
  };
}

/** takeAway lists the load's files. */
function takeAway({ load: { id, files, dropped } }: LoadPage): HTMLElement {
  if (files.length === 0) return el("p", { class: "facts" }, dropped === undefined ? "This load left no files." : `Its files were dropped: ${dropped}.`);
  return el("p", { class: "files screen" }, "Take away: ", ...files.flatMap((f) => [el("a", { href: f.url, download: `${id}-${f.name}` }, f.name), ` (${fixed(f.octets / 1000, 0)} kB) `]));
}

/** missing says why something cannot be shown. */
const missing = ({ load }: LoadPage): string => load.dropped ?? load.missing ?? "this load left no record of it";

/** story shows what happened in the load: its requests or its stream, its packets, and what decided its time. */
function story(context: Context, page: LoadPage): HTMLElement[] {
  const load = at(page.loads, 0);
  const label = at(page.cells, 0).label;
  const packets = page.packets === undefined ? [el("p", { class: "facts" }, `The packets are not known: ${missing(page)}.`)] : packetTable(load.id, page.packets);
  if (load.timeline !== undefined) return [el("h2", {}, "The stream"), timelines(page, at(page.sections, 0)), el("h2", {}, "Packets"), ...packets];
  if (load.waterfall === undefined) return [el("p", { class: "lead" }, `There is no record of its requests: ${missing(page)}.`)];
  const kinds = page.kinds ?? [];
  const present = kinds.map((_, k) => k).filter((k) => (page.path ?? []).some((p) => p.steps.some((s) => s[2] === k)));
  const urls = new Set(stepsOf(page).map((s) => s.url).filter((u) => u !== ""));
  const extra: Extra = {
    lanes: [...(page.path === undefined ? [] : [criticalLane(page)]), ...(page.packets === undefined ? [] : packetLanes(page.packets))],
    decisive: (r: Request) => urls.has(r.url.replace(/^[A-Z]+ /, "").slice(0, 2048)),
  };
  const table = requestList(load, label, unpack(load.waterfall, page.words), extra);
  table.addEventListener("pointerleave", tooltip.hide);
  return [
    el("h2", {}, "Requests"),
    ...(extra.lanes?.length === 0 ? [] : [el("p", { class: "caption" }, "Above the requests: the critical path, and what arrived from both ends over time. A line through a whole strip is a packet that the path dropped, a line through its lower half a segment of TCP that was sent again. Requests that onLoad waited for are bold.")]),
    phaseLegend(), present.length === 0 ? el("div") : pathLegend(kinds, present),
    el("div", { class: "list" }, table),
    el("p", { class: "screen" }, el("a", { href: `/api/loads/${load.id}/requests.csv`, download: `${load.id}-requests.csv` }, "All requests as CSV")),
    ...criticalOf(page),
    el("h2", {}, "Packets"), ...packets,
    connections(context, page),
  ];
}

/** criticalOf draws the critical paths of the load's pages. */
function criticalOf(page: LoadPage): HTMLElement[] {
  const { path = [], kinds = [] } = page;
  if (path.length === 0) return [el("p", { class: "facts" }, `There is no critical path: ${missing(page)}.`)];
  const cell = at(page.cells, 0);
  const several = withCells(page, path.map((p, i) => ({
    ...cell, label: path.length === 1 ? cell.label : `page ${i + 1}`,
    critical: { load: 0, onLoad: p.onLoad, kinds: kinds.map((_, k) => 1000 * p.steps.filter((s) => s[2] === k).reduce((sum, [from, to]) => sum + to - from, 0)), verdict: p.verdict },
  })));
  const exact = path.length === 1 && cell.critical !== undefined ? withCells(page, [cell]) : several; // the steps are rounded to us
  const drawn = criticalPaths(exact, at(exact.sections, 0), "The chain of requests that onLoad waited for, and what its time was spent on. The parts add up to onLoad.");
  return [el("h2", {}, "Critical path"), ...path.map((p) => el("p", { class: "answer" }, p.verdict)), ...(drawn === null ? [] : [drawn]),
    el("p", { class: "screen" }, el("a", { href: `/api/loads/${page.load.id}/path.csv`, download: `${page.load.id}-path.csv` }, "All steps as CSV"))];
}

/** connections are read by the server once the rest of the page is shown. */
function connections(context: Context, page: LoadPage): HTMLElement {
  const section = el("section", { "aria-busy": "true" }, el("h2", {}, "Frames and windows"), el("p", { class: "facts" }, "Reading the capture …"));
  void ask<Connections>(`/api/loads/${page.load.id}/connections`, { signal: context.signal }).then((all) => {
    section.replaceChildren(el("h2", {}, "Frames and windows"), ...connectionViews(page, all));
  }).catch((error: unknown) => {
    if (!context.signal.aborted) section.replaceChildren(el("h2", {}, "Frames and windows"), el("p", { class: "facts" }, sentence(error)));
  }).finally(() => section.removeAttribute("aria-busy"));
  return section;
}

function figures(page: LoadPage): HTMLElement {
  const load = at(page.loads, 0);
  const rows = page.metrics.flatMap((m, i) => {
    const value = load.values[i];
    if (value == null) return [];
    const scale = scaleFor(m.unit, [value]);
    return [el("tr", {}, el("th", { scope: "row" }, m.title), el("td", { class: "number" }, `${scaled(value, scale)}${m.title.toLowerCase() === m.unit.toLowerCase() ? "" : ` ${scale.unit}`}`), el("td", { class: "facts" }, m.definition))];
  });
  if (rows.length === 0) return el("p", { class: "facts" }, "This load has no figures.");
  return scrolling(`Figures of load ${load.id}`, el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Metric"), el("th", { scope: "col", class: "number" }, "Value"), el("th", { scope: "col" }, "What it means"))),
    el("tbody", {}, ...rows)));
}

/** pagesOf lists the pages of a load that visited several. */
function pagesOf({ load: { id, pages = [] } }: LoadPage): HTMLElement | null {
  if (pages.length < 2) return null;
  const ms = (value: number): string => (value < 0 ? "–" : fixed(value, 1));
  return el("section", {}, el("h2", {}, "Pages"), scrolling(`Pages of load ${id}`, el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Page"), ...["Began (ms)", "DCL (ms)", "onLoad (ms)", "PLT (ms)"].map((h) => el("th", { scope: "col", class: "number" }, h)))),
    el("tbody", {}, ...pages.map((p) => el("tr", {}, el("th", { scope: "row" }, p.url), ...[p.started, p.dcl, p.onload, p.plt].map((v) => el("td", { class: "number" }, ms(v)))))))));
}
