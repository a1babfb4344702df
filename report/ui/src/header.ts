import type { Data } from "./data";
import { el } from "./dom";
import { counted, fixed, list, moment } from "./format";
import { kernels } from "./kernels";
import { workloadOf } from "./workload";

/** header says in words what was measured and what came out, and whether the figures can be trusted. */
export function header(data: Data): HTMLElement {
  return el("header", {},
    el("p", { class: "kind" }, "Wiretime report"),
    el("h1", {}, data.study),
    ...data.summary.map((paragraph) => el("p", { class: "lead" }, paragraph)),
    el("dl", { class: "run" },
      ...fact("Run", String(data.run)),
      ...fact("Measured", moment(data.started) + (data.finished ? ` to ${moment(data.finished)}` : ", not finished")),
      ...fact("Seed", data.seed),
      ...fact("Wiretime", data.version),
      ...fact("Clock", clocks(data)),
      ...kernels(data).flatMap(({ name, value }) => fact(name, value))),
    loads(data),
    trust(data),
    ...quick(data), ...gaps(data));
}

const fact = (name: string, value: string): HTMLElement[] => [el("div", {}, el("dt", {}, name), el("dd", {}, value))];

/** clocks names the clocks that were used, and how many cells ran on each where there are two. */
function clocks(data: Data): string {
  const used = (["real", "virtual", "live"] as const)
    .map((clock) => ({ clock, cells: data.cells.filter((c) => c.clock === clock).length }))
    .filter((u) => u.cells > 0);
  return list(used.map((u) => (used.length === 1 ? u.clock : `${u.clock} (${counted(u.cells, "cell")})`)));
}

/** loads says what became of the planned loads, which add up, and then which attempts at them do not count. */
export function loads(data: Data): HTMLElement {
  const c = data.counts;
  const planned: [name: string, n: number, shown: boolean][] = [
    [`${c.planned === 1 ? "load" : "loads"} planned`, c.planned, true], ["with a valid attempt", c.valid, true], ["without", c.without, true],
    ["cannot run here", c.unsupported, c.unsupported > 0], ["still to be measured", c.pending, c.pending > 0],
  ];
  const attempts = `Attempts that do not count: ${fixed(c.invalid, 0)} invalid, ${fixed(c.failed, 0)} failed.`;
  return el("div", {},
    el("ul", { class: "counts", "aria-label": "Loads" },
      ...planned.filter(([, , shown]) => shown).map(([name, n]) => el("li", {}, el("b", {}, fixed(n, 0)), el("span", {}, name)))),
    c.invalid + c.failed > 0 ? el("p", { class: "caption" }, attempts) : null);
}

/** trust says how many loads broke a validity rule, the wrong protocol first. */
function trust(data: Data): HTMLElement {
  const wrong = data.counts.wrongProtocol;
  const others = data.checks.filter((c) => c.rule !== 1).map((c) => `${fixed(c.broken, 0)} ${c.short}`);
  return el("p", { class: wrong > 0 ? "bad" : "good" },
    el("b", {}, `${counted(wrong, "attempt")} used the wrong ${workloadOf(data).over}`), `. Attempts that broke another rule: ${list(others)}. `,
    el("a", { href: "#checks" }, "What was checked"));
}

/** quick says that the run measures only a part of its study. */
function quick(data: Data): HTMLElement[] {
  return data.quick ? [el("p", { class: "gaps" }, "This is a quick run: it measures only a part of the study, and its claims and tables are not those of the full run.")] : [];
}

/** gaps says what the sites' archives lacked of what was asked for. */
function gaps(data: Data): HTMLElement[] {
  return data.gaps === undefined ? [] : [el("p", { class: "gaps" }, `What the archives lacked: ${data.gaps.join(". ")}.`)];
}
