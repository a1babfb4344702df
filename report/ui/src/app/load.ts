import { criticalPaths, pathLegend } from "../critical";
import { unpack, type Data, type Request } from "../data";
import { el, scrolling } from "../dom";
import { fixed, moment, scaled, scaleFor } from "../format";
import { endOfAll } from "../layout";
import { requestList, type Extra } from "../requests";
import { phaseLegend } from "../section";
import { timelines } from "../timeline";
import * as tooltip from "../tooltip";
import { ask, type Connections, type LoadPage, type Packets, type Paths } from "./api";
import { compareWith } from "./comparewith";
import { connectionViews } from "./connections";
import { criticalLane, packetLanes } from "./lanes";
import { packetTable } from "./packettable";
import { facts, sentence, type Context, type Page } from "./page";
import { link } from "./route";
import { runCrumbs } from "./rundata";
import { cellOf, dataOf, sectionOf } from "./wrap";

/** loadPage shows all that is known of one load. */
export async function loadPage(context: Context, id = ""): Promise<Page> {
  const page = await ask<LoadPage>(`/api/loads/${encodeURIComponent(id)}`, { signal: context.signal });
  const { load } = page;
  const cell = link(["runs", page.run, "cells", page.cell]);
  return {
    title: `Load ${load.id}`,
    trail: [...runCrumbs(page.study, page.run), { name: page.label, href: cell }],
    tabs: el("nav", { class: "tabs", "aria-label": "Loads of the run" },
      page.neighbours.previous === undefined ? null : el("a", { href: link(["loads", page.neighbours.previous]), rel: "prev" }, `Previous: ${page.neighbours.previous}`),
      page.neighbours.next === undefined ? null : el("a", { href: link(["loads", page.neighbours.next]), rel: "next" }, `Next: ${page.neighbours.next}`)),
    body: [
      load.validity === "valid" ? null : el("div", { class: "failure" }, el("p", {}, `This load is ${load.validity} and counts in no result: ${load.reason ?? ""}`),
        page.violations.length === 0 ? null : el("ul", {}, ...page.violations.map((v) => el("li", {}, `Rule ${v.rule}${v.title === undefined ? "" : `, ${v.title}`}: ${v.detail}`)))),
      facts([...page.axes.map((a): [string, string] => [a.name, a.value]), ["began", moment(page.started)], ["took", `${fixed(page.wall, 0)} ms of real time`], ["repeat", `${load.repeat + 1}, attempt ${load.attempt}`], ["seed", page.seed]]),
      takeAway(page),
      compareWith(context, page),
      ...story(context, page),
      el("h2", {}, "Figures"),
      figures(page),
      pagesOf(page),
    ],
  };
}

/** takeAway lists the load's files. */
function takeAway(page: LoadPage): HTMLElement {
  if (page.files.length === 0) return el("p", { class: "facts" }, page.dropped ?? "This load left no files.");
  return el("p", { class: "files screen" }, "Take away: ", ...page.files.flatMap((f, i) => [i === 0 ? "" : " ", el("a", { href: f.url, download: `${page.load.id}-${f.name}` }, f.name), ` (${fixed(f.octets / 1000, 0)} kB)`]),
    page.dropped === undefined ? null : ` ${page.dropped}`);
}

/** story shows what happened in the load: its requests or its stream, its packets, and what decided its time. */
function story(context: Context, page: LoadPage): HTMLElement[] {
  const { load } = page;
  if (load.timeline !== undefined) {
    const data = dataOf({ cells: [cellOf(page.label, 0)], loads: [load], metrics: page.metrics, words: page.words });
    return [el("h2", {}, "The stream"), timelines(data, sectionOf(data.cells))];
  }
  if (load.waterfall === undefined) return [el("p", { class: "lead" }, page.dropped ?? "This load left no record of its requests.")];
  const requests = unpack(load.waterfall, page.words);
  const waterfall = el("div", { class: "list" });
  const extra: Extra = { lanes: [] };
  const draw = (): void => {
    const table = requestList(load, page.label, requests, extra);
    table.addEventListener("pointerleave", tooltip.hide);
    waterfall.replaceChildren(table);
  };
  draw();
  const legend = el("div");
  const path = later(page.has.critical, "Critical path", "Following the load back from onLoad …", () => ask<Paths>(`/api/loads/${load.id}/critical`, { signal: context.signal }), (paths) => {
    const urls = new Set(paths.paths.flatMap((p) => p.steps.map((s) => s.url ?? "")).filter((u) => u !== ""));
    extra.lanes = [criticalLane(paths, page.pages), ...(extra.lanes ?? [])];
    extra.decisive = (r: Request) => urls.has(r.url.replace(/^[A-Z]+ /, "").slice(0, 2048));
    draw();
    legend.prepend(pathLegend(paths.kinds, paths.kinds.map((_, k) => k).filter((k) => paths.paths.some((p) => (p.kinds[paths.kinds[k] ?? ""] ?? 0) > 0))));
    return criticalOf(page, paths);
  }, context);
  const packets = later(page.has.packets, "Packets", "Reading the capture …", () => ask<Packets>(`/api/loads/${load.id}/packets`, { signal: context.signal }), (all) => {
    extra.lanes = [...(extra.lanes ?? []), ...packetLanes(all, endOfAll(requests, load.waterfall?.dcl ?? 0, load.waterfall?.onLoad ?? 0) * 1.01)];
    draw();
    return [packetTable(load.id, all)];
  }, context);
  const connections = later(page.has.connections, "Frames and windows", "Reading the connections …", () => ask<Connections>(`/api/loads/${load.id}/connections`, { signal: context.signal }), (all) => connectionViews(page, all), context);
  return [
    el("h2", {}, "Requests"),
    el("p", { class: "caption" }, "Above the requests: the critical path, and what both ends sent over time; a line through a whole strip is a packet that the path dropped, a line through its lower half a segment of TCP that was sent again. Requests that onLoad waited for are bold."),
    phaseLegend(), legend, waterfall,
    el("p", { class: "screen" }, el("a", { href: `/api/loads/${load.id}/requests.csv`, download: `${load.id}-requests.csv` }, "All requests as CSV")),
    path, packets, connections,
  ];
}

/** later is a part of the page that the server needs some time for. */
function later<T>(has: boolean, title: string, wait: string, answer: () => Promise<T>, show: (answer: T) => HTMLElement[], context: Context): HTMLElement {
  const section = el("section", {}, el("h2", {}, title), el("p", { class: "facts" }, has ? wait : "The load left no capture that shows it."));
  if (!has) return section;
  const put = (...parts: HTMLElement[]): void => section.replaceChildren(el("h2", {}, title), ...parts);
  section.setAttribute("aria-busy", "true");
  void answer().then((value) => put(...show(value))).catch((error: unknown) => {
    if (!context.signal.aborted) put(el("p", { class: "failure" }, sentence(error)));
  }).finally(() => section.removeAttribute("aria-busy"));
  return section;
}

/** criticalOf draws the critical paths of the load's pages. */
function criticalOf(page: LoadPage, paths: Paths): HTMLElement[] {
  const cells = paths.paths.map((p, i) => ({
    ...cellOf(paths.paths.length === 1 ? page.label : `page ${i + 1}`, 0),
    critical: { load: 0, onLoad: p.onLoad, kinds: paths.kinds.map((k) => p.kinds[k] ?? 0), verdict: p.verdict },
  }));
  const data: Data = dataOf({ cells, loads: [page.load], metrics: page.metrics, words: page.words, kinds: paths.kinds });
  const drawn = criticalPaths(data, sectionOf(cells), "The chain of requests that onLoad waited for, and what its time was spent on. The parts add up to onLoad.");
  return [...paths.paths.map((p) => el("p", { class: "answer" }, p.verdict)), ...(drawn === null ? [] : [drawn])];
}

function figures(page: LoadPage): HTMLElement {
  const rows = page.metrics.flatMap((m, i) => {
    const value = page.load.values[i];
    if (value == null) return [];
    const scale = scaleFor(m.unit, [value]);
    return [el("tr", {}, el("th", { scope: "row" }, m.title), el("td", { class: "number" }, `${scaled(value, scale)}${m.title === m.unit ? "" : ` ${scale.unit}`}`), el("td", { class: "facts" }, m.definition))];
  });
  if (rows.length === 0) return el("p", { class: "facts" }, "This load has no figures.");
  return scrolling(`Figures of load ${page.load.id}`, el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Metric"), el("th", { scope: "col", class: "number" }, "Value"), el("th", { scope: "col" }, "What it means"))),
    el("tbody", {}, ...rows)));
}

/** pagesOf lists the pages of a load that visited several. */
function pagesOf({ pages, load }: LoadPage): HTMLElement | null {
  if (pages.length < 2) return null;
  const ms = (value: number): string => (value < 0 ? "–" : fixed(value, 1));
  return el("section", {}, el("h2", {}, "Pages"), scrolling(`Pages of load ${load.id}`, el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Page"), ...["Began (ms)", "DCL (ms)", "onLoad (ms)", "PLT (ms)"].map((h) => el("th", { scope: "col", class: "number" }, h)))),
    el("tbody", {}, ...pages.map((p) => el("tr", {}, el("th", { scope: "row" }, p.url), ...[p.started, p.dcl, p.onload, p.plt].map((v) => el("td", { class: "number" }, ms(v)))))))));
}
