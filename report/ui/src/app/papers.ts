import { el } from "../dom";
import { counted } from "../format";
import { ask } from "./api";
import type { Context, Page } from "./page";
import { link } from "./route";

interface Paper {
  name: string;
  reference: string;
  cited_by?: string;
  items: Item[];
}

interface Item {
  kind: string;
  number?: string;
  where: string;
  says: string;
  state: string;
  measured?: { study: string; run?: string; claims?: { text: string; verdict?: string }[]; published?: { source: string; beside?: string }[] }[];
  cannot?: string;
  open?: string;
}

/** papersPage lists what the papers claim, and what came out in this store. */
export async function papersPage(context: Context): Promise<Page> {
  const papers = await ask<Paper[]>("/api/papers", { signal: context.signal });
  return {
    title: "Papers", trail: [],
    body: [
      el("p", { class: "lead" }, "Each experiment, table, figure and claim of the papers that Wiretime repeats. The verdicts are those of the last run of each study in this store."),
      ...papers.map((p) => el("details", { class: "folded paper", open: p.items.some(decided) },
        el("summary", {}, el("h2", {}, p.name), el("span", { class: "facts" }, ` ${counted(p.items.length, "item")}`)),
        el("p", {}, p.reference),
        p.cited_by === undefined ? null : el("p", { class: "facts" }, `Cited by ${p.cited_by}.`),
        ...p.items.map(item))),
    ],
  };
}

const decided = (i: Item): boolean => (i.measured ?? []).some((m) => m.run !== undefined && m.run !== "");

function item(i: Item): HTMLElement {
  return el("section", { class: "item" },
    el("h3", {}, [i.kind, i.number].filter(Boolean).join(" "), el("small", {}, i.where)),
    el("p", {}, i.says),
    i.cannot === undefined ? null : el("p", { class: "facts" }, `Cannot be measured: ${i.cannot}`),
    i.open === undefined ? null : el("p", { class: "facts" }, `Open: ${i.open}`),
    ...(i.measured ?? []).map((m) => el("div", { class: "by" },
      el("p", {}, "Study ", el("a", { href: link(["studies", "builtin", m.study]) }, m.study), m.run === undefined || m.run === "" ? ": not measured in this store." : `: ${m.run}.`),
      el("ul", {},
        ...(m.claims ?? []).map((c) => el("li", {}, c.text, verdict(c.verdict))),
        ...(m.published ?? []).map((t) => el("li", {}, t.source, verdict(t.beside)))))));
}

const verdict = (text: string | undefined): HTMLElement | null => (text === undefined || text === "" ? null : el("b", { class: "outcome" }, ` ${text}`));
