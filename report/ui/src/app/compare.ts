import { criticalPaths } from "../critical";
import { at, unpack, withSummaries, type Cell } from "../data";
import { el, scrolling, whenNear } from "../dom";
import { fixed, resourceName, scaled, scaleFor } from "../format";
import { glance } from "../glance";
import { endOfAll } from "../layout";
import { phaseLegend } from "../section";
import { timelines } from "../timeline";
import * as tooltip from "../tooltip";
import { ask, type Difference, type LoadPage } from "./api";
import { changes, type Change } from "./changes";
import { explained } from "./explained";
import { facts, type Context, type Page } from "./page";
import { link } from "./route";
import { withCells } from "./wrap";

interface Compared {
  a: LoadPage;
  b: LoadPage;
  difference?: Difference;
  reason?: string;
}

/** comparePage shows two loads on one axis, and what differs between them. */
export async function comparePage(context: Context, a = "", b = ""): Promise<Page> {
  const both = await ask<Compared>(`/api/compare?${new URLSearchParams({ a, b }).toString()}`, { signal: context.signal });
  const pages: [LoadPage, LoadPage] = [withSummaries(both.a), withSummaries(both.b)];
  const names = namesOf(both);
  return {
    title: `${a} beside ${b}`,
    trail: [{ name: "Runs", href: link([]) }, ...pages.map((p) => ({ name: `Load ${p.load.id}`, href: link(["loads", p.load.id]) }))],
    body: [
      facts(axes(both)),
      el("p", { class: "screen" }, el("a", { href: link(["compare", b, a]) }, "Exchange the two")),
      ...why(both, names),
      ...together(pages, names),
      el("h2", {}, "Figures"),
      figures(both, names),
      ...requests(both, names),
    ],
  };
}

/** namesOf names both loads, by their cells where these differ. */
function namesOf({ a, b }: Compared): [string, string] {
  const [one, other] = [at(a.cells, 0).label, at(b.cells, 0).label];
  return one === other ? [a.load.id, b.load.id] : [`${one} (${a.load.id})`, `${other} (${b.load.id})`];
}

/** axes are what both loads share, and what differs. */
function axes({ a, b }: Compared): [string, string][] {
  return a.load.axes.map((axis): [string, string] => {
    const other = b.load.axes.find((o) => o.name === axis.name)?.value ?? "–";
    return [axis.name, axis.value === other ? axis.value : `${axis.value} | ${other}`];
  });
}

/** why says what the difference comes from. */
function why({ difference, reason }: Compared, names: [string, string]): HTMLElement[] {
  if (difference !== undefined) return [el("h2", {}, "Why they differ"), ...explained(difference, names)];
  return reason === undefined ? [] : [el("p", { class: "facts" }, `What the difference comes from is not computed: ${reason}`)];
}

/** narrowest is the width of the narrower of two drawings side by side, in px; with less room they stand one below the other. */
const narrowest = 420;

/** together draws both loads on one axis. */
function together(pages: [LoadPage, LoadPage], names: [string, string]): HTMLElement[] {
  const loads = pages.map((p) => at(p.loads, 0));
  const cells = pages.map((p, i): Cell => ({ ...at(p.cells, 0), label: names[i] ?? "", medianLoad: i, loads: [i] }));
  const data = withCells(pages[0], cells, loads);
  if (loads.every((l) => l.timeline !== undefined)) return [el("h2", {}, "Both streams"), timelines(data, at(data.sections, 0))];
  const all = pages.map((page, i) => ({ page, load: at(loads, i), requests: unpack(at(loads, i).waterfall ?? { dcl: -1, onLoad: -1, requests: null }, page.words) }));
  const end = 1.02 * Math.max(1, ...all.map(({ load, requests }) => endOfAll(requests, load.waterfall?.dcl ?? 0, load.waterfall?.onLoad ?? 0)));
  const box = el("div", { class: "glances two" });
  whenNear(box, () => {
    const width = Math.max(290, box.clientWidth >= 2 * narrowest ? box.clientWidth / 2 - 12 : box.clientWidth);
    box.replaceChildren(...all.map(({ page, load, requests }, i) => el("figure", {}, el("figcaption", {}, el("b", {}, names[i] ?? "")),
      load.waterfall === undefined ? el("p", { class: "facts" }, page.load.dropped ?? page.load.missing ?? "This load left no record of its requests.")
        : glance(load, names[i] ?? "", requests, end, { over: tooltip.show, out: tooltip.hide, choose: () => { location.hash = link(["loads", load.id]); } }, width))));
  });
  const paths = withCells(pages[0], cells.map((c, i) => (c.critical === undefined ? c : { ...c, critical: { ...c.critical, load: i } })), loads);
  const drawn = criticalPaths(paths, at(paths.sections, 0), "The chain of requests that onLoad waited for in each load, and what its time was spent on. The parts add up to that load's onLoad.");
  return [el("h2", {}, "Both on one axis"), phaseLegend(), box, ...(drawn === null ? [] : [drawn])];
}

function figures({ a, b }: Compared, names: [string, string]): HTMLElement {
  const rows = a.metrics.flatMap((m, i) => {
    const [left, right] = [at(a.loads, 0).values[i], at(b.loads, 0).values[b.metrics.findIndex((o) => o.name === m.name)]];
    if (left == null || right == null) return [];
    const scale = scaleFor(m.unit, [left, right]);
    return [el("tr", {}, el("th", { scope: "row", title: m.definition }, m.title.toLowerCase() === scale.unit.toLowerCase() ? m.title : `${m.title} (${scale.unit})`), ...[scaled(left, scale), scaled(right, scale), signed(right - left, (d) => scaled(d, scale))].map((v) => el("td", { class: "number" }, v)))];
  });
  return scrolling("Figures of both loads", el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Metric"), ...[...names, "Difference"].map((h) => el("th", { scope: "col", class: "number" }, h)))),
    el("tbody", {}, ...rows)));
}

const signed = (value: number, write: (v: number) => string): string => (value > 0 ? "+" : "") + write(value);

/** mostChanges is how many resources the table of differences has. */
const mostChanges = 100;

/** requests lists the resources by how much later they were there in the second load. */
function requests({ a, b }: Compared, names: [string, string]): HTMLElement[] {
  const [left, right] = [at(a.loads, 0).waterfall, at(b.loads, 0).waterfall];
  if (left === undefined || right === undefined) return [];
  const all = changes(unpack(left, a.words), unpack(right, b.words));
  if (all.every((c) => c.only !== null)) return [el("p", { class: "facts" }, "The two loads have no resource in common: they are not compared resource by resource.")];
  const ms = (value: number | null): string => (value === null ? "–" : fixed(value, 1));
  const words = (c: Change): string => [
    c.priority === null ? "" : `priority ${c.priority.join(" | ")}`, c.protocol === null ? "" : `protocol ${c.protocol.join(" | ")}`, c.bytes === null || c.bytes === 0 ? "" : `${signed(c.bytes, (v) => fixed(v, 0))} B`,
    c.only === null ? "" : `only in ${c.only === "a" ? names[0] : names[1]}`,
  ].filter(Boolean).join(", ");
  return [el("h2", {}, "Resource by resource"), scrolling("Resources of both loads", el("table", { class: "changes" },
    el("caption", {}, el("span", {}, `When each resource was there, ms since navigation start; first those that differ most${all.length > mostChanges ? `, the first ${mostChanges} of ${fixed(all.length, 0)}` : ""}`)),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Resource"), ...[...names, "Later by", "Asked later by", "Took longer by"].map((h) => el("th", { scope: "col", class: "number" }, h)), el("th", { scope: "col" }, "Also"))),
    el("tbody", {}, ...all.slice(0, mostChanges).map((c) => el("tr", {}, el("th", { scope: "row", title: c.url }, resourceName(c.url)),
      ...[ms(c.endA), ms(c.endB), ...[c.later, c.asked, c.took].map((v) => (v === null ? "–" : signed(v, (d) => fixed(d, 1))))].map((v) => el("td", { class: "number" }, v)), el("td", {}, words(c)))))))];
}
