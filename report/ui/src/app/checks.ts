import { chapters } from "../appendix";
import { at, type Data } from "../data";
import { el, scrolling } from "../dom";
import { fixed, moment } from "../format";
import { sectionName } from "../tables";
import { facts, type Context, type Page } from "./page";
import { link } from "./route";
import { runCrumbs, runData, runTabs } from "./rundata";

/** checksPage says whether the figures of a run can be trusted, where it was measured, and what its words mean. */
export async function checksPage(context: Context, run = ""): Promise<Page> {
  const data = await runData(context, run);
  return {
    title: "Validity and environment", trail: runCrumbs(data.study, run), tabs: runTabs(run, "checks"),
    body: [
      facts([
        ["Measured", moment(data.started) + (data.finished ? ` to ${moment(data.finished)}` : ", not finished")],
        ["Seed", data.seed],
        ["Wiretime", data.version],
        ["Used the wrong protocol", fixed(data.counts.wrongProtocol, 0)],
      ]),
      ...(data.gaps ?? []).map((gap) => el("p", { class: "gaps" }, `${gap}.`)),
      ...chapters(data, leftOut(data, run)),
    ],
  };
}

/** leftOut leads to the cells with loads that do not count. */
function leftOut(data: Data, run: string): HTMLElement {
  const rows = data.sections.flatMap((s) => s.cells.map((number) => ({ number, section: s, cell: at(data.cells, number) }))).filter(({ cell }) => cell.invalid + cell.failed + cell.unsupported > 0);
  if (rows.length === 0) return el("p", {}, "None.");
  return scrolling("Loads that do not count", el("table", {},
    el("caption", {}, el("span", {}, "Kept in the store, left out of every median; a cell's page has the reasons")),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Cell"), ...["Valid", "Invalid", "Failed", "Unsupported"].map((h) => el("th", { scope: "col", class: "number" }, h)))),
    el("tbody", {}, ...rows.map(({ number, section, cell }) => el("tr", {},
      el("th", { scope: "row" }, el("a", { href: link(["runs", run, "cells", number]) }, `${sectionName(data, section)}, ${cell.label}`)),
      ...[cell.valid, cell.invalid, cell.failed, cell.unsupported].map((n) => el("td", { class: "number" }, fixed(n, 0))))))));
}
