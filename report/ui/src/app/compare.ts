import { criticalPaths } from "../critical";
import { unpack, type Cell, type Load } from "../data";
import { el, scrolling, whenNear } from "../dom";
import { fixed, resourceName, scaled, scaleFor } from "../format";
import { glance } from "../glance";
import { endOfAll } from "../layout";
import { phaseLegend } from "../section";
import { timelines } from "../timeline";
import * as tooltip from "../tooltip";
import { ask, type Difference, type LoadPage, type Paths } from "./api";
import { changes, type Change } from "./changes";
import { explained } from "./explained";
import { facts, sentence, type Context, type Page } from "./page";
import { link } from "./route";
import { cellOf, dataOf, sectionOf } from "./wrap";

interface Compared {
  a: LoadPage;
  b: LoadPage;
  difference?: Difference;
  reason?: string;
}

/** comparePage shows two loads on one axis, and what differs between them. */
export async function comparePage(context: Context, a = "", b = ""): Promise<Page> {
  const both = await ask<Compared>(`/api/compare?${new URLSearchParams({ a, b }).toString()}`, { signal: context.signal });
  const pages = [both.a, both.b];
  const names = namesOf(both);
  return {
    title: `${a} beside ${b}`,
    trail: [{ name: "Runs", href: link([]) }, ...pages.map((p) => ({ name: `Load ${p.load.id}`, href: link(["loads", p.load.id]) }))],
    body: [
      facts(axes(both)),
      el("p", { class: "screen" }, el("a", { href: link(["compare", b, a]) }, "Exchange the two")),
      ...why(both, names),
      ...together(context, pages, names),
      el("h2", {}, "Figures"),
      figures(both, names),
      ...requests(both, names),
    ],
  };
}

/** namesOf names both loads, by their cells where these differ. */
const namesOf = ({ a, b }: Compared): [string, string] => (a.label === b.label ? [a.load.id, b.load.id] : [`${a.label} (${a.load.id})`, `${b.label} (${b.load.id})`]);

/** axes are what both loads share, and what differs. */
function axes({ a, b }: Compared): [string, string][] {
  return a.axes.map((axis): [string, string] => {
    const other = b.axes.find((o) => o.name === axis.name)?.value ?? "–";
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
function together(context: Context, pages: LoadPage[], names: [string, string]): HTMLElement[] {
  if (pages.every((p) => p.load.timeline !== undefined)) {
    const data = dataOf({ cells: pages.map((_, i) => cellOf(names[i] ?? "", i)), loads: pages.map((p) => p.load), metrics: pages[0]?.metrics ?? [], words: [] });
    return [el("h2", {}, "Both streams"), timelines(data, sectionOf(data.cells))];
  }
  const all = pages.map((p) => ({ page: p, requests: p.load.waterfall === undefined ? null : unpack(p.load.waterfall, p.words) }));
  const end = 1.02 * Math.max(1, ...all.map(({ page, requests }) => endOfAll(requests ?? [], page.load.waterfall?.dcl ?? 0, page.load.waterfall?.onLoad ?? 0)));
  const box = el("div", { class: "glances two" });
  whenNear(box, () => {
    const width = Math.max(290, box.clientWidth >= 2 * narrowest ? box.clientWidth / 2 - 12 : box.clientWidth);
    box.replaceChildren(...all.map(({ page, requests }, i) => el("figure", {}, el("figcaption", {}, el("b", {}, names[i] ?? "")),
      requests === null ? el("p", { class: "facts" }, page.dropped ?? "This load left no record of its requests.")
        : glance(page.load, names[i] ?? "", requests, end, { over: tooltip.show, out: tooltip.hide, choose: () => { location.hash = link(["loads", page.load.id]); } }, width))));
  });
  const decided = el("div", { "aria-busy": "true" });
  void Promise.all(pages.map((p) => (p.has.critical ? ask<Paths>(`/api/loads/${p.load.id}/critical`, { signal: context.signal }) : null))).then((paths) => {
    const cells = paths.flatMap((p, i): Cell[] => (p === null || p.paths.length === 0 ? [] : [{
      ...cellOf(names[i] ?? "", i),
      critical: { load: i, onLoad: p.paths.reduce((sum, q) => sum + q.onLoad, 0), kinds: p.kinds.map((k) => p.paths.reduce((sum, q) => sum + (q.kinds[k] ?? 0), 0)), verdict: p.paths.at(-1)?.verdict ?? "" },
    }]));
    const loads: Load[] = pages.map((p) => p.load);
    const drawn = criticalPaths(dataOf({ cells, loads, metrics: [], words: [], kinds: paths.find((p) => p !== null)?.kinds }), sectionOf(cells), "The chain of requests that onLoad waited for in each load, and what its time was spent on. The parts add up to that load's onLoad.");
    if (drawn !== null) decided.replaceChildren(drawn);
  }).catch((error: unknown) => {
    if (!context.signal.aborted) decided.replaceChildren(el("p", { class: "failure" }, sentence(error)));
  }).finally(() => decided.removeAttribute("aria-busy"));
  return [el("h2", {}, "Both on one axis"), phaseLegend(), box, decided];
}

function figures({ a, b }: Compared, names: [string, string]): HTMLElement {
  const rows = a.metrics.flatMap((m, i) => {
    const [left, right] = [a.load.values[i], b.load.values[b.metrics.findIndex((o) => o.name === m.name)]];
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
  if (a.load.waterfall === undefined || b.load.waterfall === undefined) return [];
  const all = changes(unpack(a.load.waterfall, a.words), unpack(b.load.waterfall, b.words));
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
