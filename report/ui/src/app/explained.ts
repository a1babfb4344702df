import { el, scrolling, svg } from "../dom";
import { fixed } from "../format";
import type { Difference } from "./api";

const ms = (ns: number): string => fixed(ns / 1e6, 1);
const signed = (ns: number): string => (ns > 0 ? "+" : "") + ms(ns);

/** mostPlaces is how many resources a cause names, and mostResources how many the second table has. */
const mostPlaces = 3;
const mostResources = 40;

/** explained shows what the difference of two onLoads comes from: by cause, and by resource. Both add up to it exactly. */
export function explained(d: Difference, names: [string, string]): HTMLElement[] {
  const causes = d.causes.filter((c) => c.ns !== 0 || c.a !== 0 || c.b !== 0);
  const most = Math.max(1, ...causes.map((c) => Math.abs(c.ns)));
  const place = (url: string): string => url || "after the last resource";
  return [
    ...(d.sentence === undefined ? [] : [el("p", { class: "answer" }, d.sentence)]),
    scrolling("The difference by cause", el("table", { class: "causes" },
      el("caption", {}, el("span", {}, `What onLoad's time was spent on in each load, and the difference, ms; the differences add up to that of onLoad (${signed(d.onLoad.ns)} ms) exactly`)),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Cause"), ...[...names, "Difference"].map((h) => el("th", { scope: "col", class: "number" }, h)), el("th", {}, el("span", { class: "hidden" }, "Drawn")), el("th", { scope: "col" }, "Where"))),
      el("tbody", {}, ...causes.map((c) => el("tr", {},
        el("th", { scope: "row" }, c.cause, ...(c.parts ?? []).map((p) => el("small", {}, `${p.part} ${signed(p.ns)}`))),
        ...[ms(c.a), ms(c.b), signed(c.ns)].map((v) => el("td", { class: "number" }, v)),
        el("td", { class: "drawn" }, bar(c.ns / most)),
        el("td", {}, (c.places ?? []).slice(0, mostPlaces).map((p) => `${place(p.url)} ${signed(p.ns)}`).join("; ")))),
      el("tr", { class: "sum" }, el("th", { scope: "row" }, "onLoad"), ...[ms(d.a.onLoad), ms(d.b.onLoad), signed(d.onLoad.ns)].map((v) => el("td", { class: "number" }, v)), el("td", {}), el("td", {}))))),
    el("details", {}, el("summary", {}, "The difference by resource on the critical path"), scrolling("The difference by resource", el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Resource"), el("th", { scope: "col", class: "number" }, "Difference (ms)"), el("th", { scope: "col" }, "By"), el("th", { scope: "col" }, "On the path of"))),
      el("tbody", {}, ...d.resources.slice(0, mostResources).map((r) => el("tr", {}, el("th", { scope: "row" }, place(r.url)), el("td", { class: "number" }, signed(r.ns)),
        el("td", {}, r.causes.map((c) => `${c.cause} ${signed(c.ns)}`).join(", ")), el("td", {}, r.a > 0 && r.b > 0 ? "both" : r.a > 0 ? names[0] : names[1]))))))),
  ];
}

/** bar draws a share of the largest difference: to the right where the second load took longer, to the left where the first did. */
function bar(share: number): SVGElement {
  const long = Math.abs(share) * 50;
  return svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("line", { x1: 50, x2: 50, y1: 0, y2: 10, class: "base" }),
    svg("rect", { x: share < 0 ? 50 - long : 50, width: long, y: 1, height: 8, class: share < 0 ? "less" : "more" }));
}
