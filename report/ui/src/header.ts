import type { Data } from "./data";
import { el } from "./dom";
import { counted, fixed, list, moment } from "./format";
import { kernels } from "./kernels";
import { workloadOf } from "./workload";

/** header says what was measured and whether the figures can be trusted. */
export function header(data: Data): HTMLElement {
  return el("header", {},
    el("p", { class: "kind" }, "Wiretime report"),
    el("h1", {}, data.study),
    el("p", { class: "lead" }, workloadOf(data).measured() + howOften(data)),
    el("dl", { class: "run" },
      ...fact("Run", String(data.run)),
      ...fact("Measured", moment(data.started) + (data.finished ? ` to ${moment(data.finished)}` : ", not finished")),
      ...fact("Seed", data.seed),
      ...fact("Wiretime", data.version),
      ...fact("Clock", clocks(data)),
      ...kernels(data).flatMap((k) => fact("Kernel", k))),
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

function howOften(data: Data): string {
  const repeats = data.cells.length > 0 ? data.counts.planned / data.cells.length : 0;
  return `: ${counted(data.cells.length, "cell")}, ${Number.isInteger(repeats) ? (repeats === 1 ? "once each" : counted(repeats, "time") + " each") : counted(data.counts.planned, "load")}, in seeded random order.`;
}

function loads(data: Data): HTMLElement {
  const c = data.counts;
  const all: [string, number, boolean][] = [
    ["planned", c.planned, true], ["valid", c.valid, true], ["invalid", c.invalid, true], ["failed", c.failed, true],
    ["unsupported", c.unsupported, c.unsupported > 0], ["pending", c.pending, c.pending > 0],
  ];
  return el("ul", { class: "counts", "aria-label": "Loads" },
    ...all.filter(([, , shown]) => shown).map(([name, n]) => el("li", {}, el("b", {}, fixed(n, 0)), el("span", {}, name === "planned" ? `load${n === 1 ? "" : "s"} planned` : name))));
}

/** trust says how many loads broke a validity rule, the wrong protocol first. */
function trust(data: Data): HTMLElement {
  const wrong = data.counts.wrongProtocol;
  const others = data.checks.filter((c) => c.rule !== 1).map((c) => `${fixed(c.broken, 0)} ${c.short}`);
  return el("p", { class: wrong > 0 ? "bad" : "good" },
    el("b", {}, `${counted(wrong, "load")} used the wrong ${workloadOf(data).over}`), `. Loads that broke another rule: ${list(others)}. `,
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
