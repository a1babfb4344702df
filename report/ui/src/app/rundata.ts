import type { Data } from "../data";
import { el } from "../dom";
import { askData } from "./api";
import type { Context, Crumb } from "./page";
import { link } from "./route";

/** runData fetches what is known of a run but for its single loads. */
export const runData = (context: Context, run: string): Promise<Data> => askData<Data>(`/api/runs/${encodeURIComponent(run)}`, context.signal);

const pages: [word: string, name: string][] = [["", "Overview"], ["study", "Study and claims"], ["checks", "Validity and environment"], ["live", "Progress"]];

/** runTabs leads from one page of a run to the others. */
export function runTabs(run: string | number, here: string): HTMLElement {
  return el("nav", { class: "tabs", "aria-label": "Run" }, ...pages.map(([word, name]) =>
    el("a", { href: link(word === "" ? ["runs", run] : ["runs", run, word]), "aria-current": word === here ? "page" : "false" }, name)));
}

export const runCrumbs = (study: string, run: string | number): Crumb[] => [{ name: "Runs", href: link([]) }, { name: `${study}, run ${run}`, href: link(["runs", run]) }];
