import { el, scrolling } from "../dom";
import { papersView } from "../papers";
import { ask } from "./api";
import type { Context, Page } from "./page";
import { link } from "./route";
import { runCrumbs, runData, runTabs } from "./rundata";

interface RunStudy {
  name: string;
  text: string;
  title?: string;
  builtin?: string; // the built-in study with the same text
}

/** studyPage shows what a run was to measure: its claims, what papers printed, and its study file. */
export async function studyPage(context: Context, run = ""): Promise<Page> {
  const [data, study] = await Promise.all([runData(context, run), ask<RunStudy>(`/api/runs/${run}/study`, { signal: context.signal })]);
  return {
    title: study.title ?? study.name,
    trail: runCrumbs(data.study, run),
    tabs: runTabs(run, "study"),
    body: [
      ...papersView(data),
      (data.claims ?? []).length + (data.printed ?? []).length === 0 ? el("p", { class: "facts" }, "This study makes no claims, and has no published figures to compare with.") : null,
      el("h2", {}, "The study file"),
      scrolling("Study file", el("pre", {}, study.text)),
      el("p", { class: "screen" }, el("a", { href: study.builtin === undefined ? link(["studies", "run", run]) : link(["studies", "builtin", study.builtin]) }, study.builtin === undefined ? "Edit a copy" : `The built-in study ${study.builtin}`)),
    ],
  };
}
