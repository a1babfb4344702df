import { at, type Claim, type ClaimPair, type Data, type Printed } from "./data";
import { el, scrolling } from "./dom";
import { counted, decimalsFor, fixed } from "./format";
import { claimStanding } from "./verdict";

/** papersView sets what papers printed beside what was measured, and says what of the study's claims held. */
export function papersView(data: Data): HTMLElement[] {
  const tables = data.printed ?? [];
  const claims = data.claims ?? [];
  return [
    ...(tables.length === 0 ? [] : [el("section", { id: "published" },
      el("h2", {}, "Beside what was published"),
      el("p", {}, "Figures of another network, other software and other pages: their order and their shape can be compared, their size only as far as the study says."),
      ...tables.map((t) => table(data, t)))]),
    ...(claims.length === 0 ? [] : [el("section", { id: "claims" },
      el("h2", {}, "What is claimed, and what held"),
      el("p", {}, "A claim is about the ratio of two medians. It held where the 95 % interval of the ratio lies in the claimed range, and is refuted where the interval lies outside; in between, or with fewer than six loads on a side, it is not decided."),
      claimTable(claims))]),
  ];
}

function table(data: Data, printed: Printed): HTMLElement {
  const title = data.metrics.find((m) => m.name === printed.metric)?.title ?? printed.metric;
  return scrolling(printed.source,
    el("table", { class: "printed" },
      el("caption", {}, el("span", {}, `${printed.source}. Median ${title} here (${printed.unit}) with its 95 % interval; below it the published figure, and how many times that it is`)),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, ""), ...printed.columns.map((c) => el("th", { scope: "col", class: "number" }, c)))),
      el("tbody", {}, ...printed.rows.map((row, r) => el("tr", {},
        el("th", { scope: "row" }, row),
        ...printed.columns.map((_, c) => figure(data, printed, r, c)))))));
}

function figure(data: Data, printed: Printed, row: number, column: number): HTMLElement {
  const f = printed.figures.find((f) => f.row === row && f.column === column);
  if (f === undefined) return el("td", { class: "number none" }, "–");
  const s = at(data.cells, f.cell).summaries[printed.metric];
  if (s === undefined) return el("td", { class: "number none" }, "–", el("small", {}, `published ${f.printed}`));
  const write = (v: number): string => fixed(v / printed.scale, decimalsFor(s.median / printed.scale));
  const spread = s.interval ? `${write(s.low)} to ${write(s.high)}` : `range ${write(s.low)} to ${write(s.high)}`;
  return el("td", { class: "number" },
    el("b", {}, write(s.median)),
    el("small", { class: s.interval ? "" : "range" }, s.min === s.max ? "all equal" : spread),
    el("small", {}, `published ${f.printed}, ${times(f.ratio)}`));
}

const times = (ratio: number): string => "×" + fixed(ratio, decimalsFor(ratio));

function claimTable(claims: Claim[]): HTMLElement {
  return scrolling("Claims",
    el("table", { class: "claims" },
      el("thead", {}, el("tr", {}, ...["Claim", "Here"].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, ...claims.map((c) => el("tr", {},
        el("th", { scope: "row" }, c.text, el("small", {}, `${c.test}${ratios(c.pairs)}`)),
        el("td", { class: claimStanding(c) }, c.verdict, c.pairs.length > 1 ? pairList(c) : null))))));
}

/** ratios says between which values the ratios of all pairs lie. */
function ratios(pairs: ClaimPair[]): string {
  const known = pairs.map((p) => p.ratio).filter((r) => r > 0);
  if (known.length === 0) return "";
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return `; here ${fixed(low, 3)}${known.length > 1 ? ` to ${fixed(high, 3)}` : ""}`;
}

/** pairList lists the pairs, those first in which the claim did not hold. */
function pairList(claim: Claim): HTMLElement {
  const others = claim.pairs.filter((p) => p.outcome !== "held");
  return el("details", { open: others.length > 0 && others.length <= 8 },
    el("summary", {}, counted(claim.pairs.length, "ratio") + (others.length === 0 || others.length === claim.pairs.length ? "" : `, first the ${fixed(others.length, 0)} where it did not hold`)),
    el("ul", { class: "pairs-of-claim" }, ...[...others, ...claim.pairs.filter((p) => p.outcome === "held")].map((p) => el("li", { class: p.outcome === "held" ? "held" : p.outcome === "refuted" ? "refuted" : "unclear" },
      el("span", {}, p.name), el("span", {}, p.outcome),
      el("span", {}, p.ratio === 0 ? "–" : fixed(p.ratio, 3) + (p.interval ? `, ${fixed(p.low, 3)} to ${fixed(p.high, 3)}` : ", too few loads"))))));
}
