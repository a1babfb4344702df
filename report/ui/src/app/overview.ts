import { at, type Data } from "../data";
import { clocksView } from "../clocks";
import { el } from "../dom";
import { counted, fixed } from "../format";
import { seriesView } from "../series";
import { figures, sectionName } from "../tables";
import type { Progress } from "./api";
import type { Context, Page } from "./page";
import { link } from "./route";
import { runCrumbs, runData, runTabs } from "./rundata";

/** overviewPage says what wins where in a run, and leads to its cells. */
export async function overviewPage(context: Context, run = ""): Promise<Page> {
  const data = await runData(context, run);
  const body = el("div", {}, ...view(data, run));
  let done = data.counts.planned - data.counts.pending;
  context.live.on("progress", (event) => {
    const p = event as Progress;
    if (String(p.run) !== run || p.done === done) return;
    ({ done } = p);
    void runData(context, run).then((now) => body.replaceChildren(...view(now, run)), () => undefined);
  }, context.signal);
  return { title: `${data.study}, run ${run}`, trail: runCrumbs(data.study, run).slice(0, 1), tabs: runTabs(run, ""), body: [body] };
}

function view(data: Data, run: string): HTMLElement[] {
  const series = seriesView(data);
  return [
    ...(series === null ? [] : [series]),
    ...(data.clocks === undefined ? [] : [clocksView(data, data.clocks)]),
    el("h2", {}, "Cell by cell"),
    ...data.sections.map((_, i) => section(data, i, run)),
  ];
}

/** section folds the figures of the cells that are compared with each other, and leads to each cell. */
function section(data: Data, index: number, run: string): HTMLElement {
  const s = at(data.sections, index);
  const details = el("details", { class: "folded", ontoggle: () => {
    if (details.open && details.children.length === 1) details.append(figures(data, s), cells());
  } }, el("summary", {}, el("h3", {}, sectionName(data, s)), el("span", { class: "facts" }, ` ${counted(s.cells.length, "cell")}`)));
  const cells = (): HTMLElement => el("ul", { class: "inline", "aria-label": "Cells" }, ...s.cells.map((c) => {
    const cell = at(data.cells, c);
    return el("li", {}, el("a", { href: link(["runs", run, "cells", c]) }, cell.label), ` (${fixed(cell.valid, 0)} valid)`);
  }));
  return details;
}
