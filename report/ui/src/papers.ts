import { type Claim, type Data, type Printed } from "./data";
import { el, scrolling } from "./dom";
import { counted, decimalsFor, fixed } from "./format";
import { claimStanding } from "./verdict";

/** papersView compares what was measured with what papers printed, and says which of the study's claims held. */
export function papersView(data: Data): HTMLElement[] {
  const tables = data.printed ?? [];
  const claims = data.claims ?? [];
  return [
    ...(tables.length === 0 ? [] : [el("section", { id: "published" },
      el("h2", {}, "Compared with published figures"),
      el("p", {}, "The published figures come from another network, other software and other pages. Their order and their shape can be compared, their size only as far as the study says."),
      ...tables.map((t) => table(data, t)))]),
    ...(claims.length === 0 ? [] : [el("section", { id: "claims" },
      el("h2", {}, "Claims, and whether they hold"),
      el("p", {}, "A claim is about the ratio of two medians, or of another statistic that it names. It held if the 95 % interval of the ratio lies within the claimed range, and is refuted if the interval lies outside. Otherwise, or with fewer than six loads on a side, it is not decided."
        + (claims.some((c) => c.per !== undefined) ? " A claim of growth is about how that ratio, or a difference, changes from one value of a number to the next. It held if the 95 % interval of the mean change per step lies above no change, and is refuted if the interval does not reach above." : "")),
      claimTable(claims))]),
  ];
}

function table(data: Data, printed: Printed): HTMLElement {
  const title = data.metrics.find((m) => m.name === printed.metric)?.title ?? printed.metric;
  return scrolling(printed.source,
    el("table", { class: "printed" },
      el("caption", {}, el("span", {}, `${printed.source}. ${statisticName(printed.statistic)} ${title} here (${printed.unit}) with its 95 % interval; below it the published figure and the ratio to it`)),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, ""), ...printed.columns.map((c) => el("th", { scope: "col", class: "number" }, c)))),
      el("tbody", {}, ...printed.rows.map((row, r) => el("tr", {},
        el("th", { scope: "row" }, row),
        ...printed.columns.map((_, c) => figure(printed, r, c)))))));
}

function figure(printed: Printed, row: number, column: number): HTMLElement {
  const f = printed.figures.find((f) => f.row === row && f.column === column);
  if (f === undefined) return el("td", { class: "number none" }, "–");
  const s = f.here;
  if (s.n === 0) return el("td", { class: "number none" }, "–", el("small", {}, `published ${f.printed}`));
  const write = (v: number): string => fixed(v / printed.scale, decimalsFor(s.value / printed.scale));
  const spread = s.interval ? `${write(s.low)} to ${write(s.high)}` : `range ${write(s.low)} to ${write(s.high)}`;
  return el("td", { class: "number" },
    el("b", {}, write(s.value)),
    el("small", { class: s.interval ? "" : "range" }, s.low === s.high ? "all equal" : spread),
    el("small", {}, `published ${f.printed}, ${times(f.ratio)}`));
}

/** statisticName names a statistic at the start of a caption, before the metric. */
function statisticName(statistic: string): string {
  const names: Record<string, string> = { median: "Median", mean: "Mean", min: "Minimum", max: "Maximum" };
  return names[statistic] ?? `${statistic} of`;
}

const times = (ratio: number): string => "×" + fixed(ratio, decimalsFor(ratio));

function claimTable(claims: Claim[]): HTMLElement {
  return scrolling("Claims",
    el("table", { class: "claims" },
      el("thead", {}, el("tr", {}, ...["Claim", "Here"].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, ...claims.map((c) => el("tr", {},
        el("th", { scope: "row" }, c.text, el("small", {}, `${c.test}${ratios(c)}`)),
        el("td", { class: claimStanding(c) }, c.verdict, c.pairs.length > 1 ? pairList(c) : null))))));
}

/** ratios writes the range of the ratios of all pairs. */
function ratios({ pairs, per }: Claim): string {
  const known = pairs.filter((p) => p.outcome !== "not measured").map((p) => p.ratio);
  if (known.length === 0) return "";
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return `; here ${fixed(low, 3)}${known.length > 1 ? ` to ${fixed(high, 3)}` : ""}${per === undefined ? "" : ` ${per}`}`;
}

/** pairList lists the pairs, first those in which the claim did not hold. */
function pairList(claim: Claim): HTMLElement {
  const others = claim.pairs.filter((p) => p.outcome !== "held");
  return el("details", { open: others.length > 0 && others.length <= 8 },
    el("summary", {}, counted(claim.pairs.length, claim.per === undefined ? "ratio" : "row") + (others.length === 0 || others.length === claim.pairs.length ? "" : `, the ${fixed(others.length, 0)} where it did not hold first`)),
    el("ul", { class: "pairs-of-claim" }, ...[...others, ...claim.pairs.filter((p) => p.outcome === "held")].map((p) => el("li", { class: p.outcome === "held" ? "held" : p.outcome === "refuted" ? "refuted" : "unclear" },
      el("span", {}, p.name), el("span", {}, p.outcome),
      el("span", {}, p.outcome === "not measured" ? "–" : fixed(p.ratio, 3) + (p.interval ? `, ${fixed(p.low, 3)} to ${fixed(p.high, 3)}` : ", too few loads") + (p.steps === undefined ? "" : `; ${p.steps}`))))));
}
