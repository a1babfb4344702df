import { el, scrolling } from "../dom";
import { counted, duration, fixed, moment, roughly } from "../format";
import { ask, type Progress, type RunLine, type State } from "./api";
import { button, sentence, type Context, type Page } from "./page";
import { link } from "./route";
import { runCrumbs, runTabs } from "./rundata";

/** livePage follows a run: how far it is, its last loads, and how punctual they were. */
export async function livePage(context: Context, run = ""): Promise<Page> {
  const { runs } = await ask<{ runs: RunLine[] }>("/api/runs", { signal: context.signal });
  const line = runs.find((r) => String(r.id) === run);
  const progress = el("div", { class: "progress" });
  const controls = el("div", { class: "stop-go screen" });
  const workers = el("div");
  const last = el("div");
  let over = false; // it was seen to be under way
  context.live.on("progress", (data) => {
    const p = data as Progress;
    if (String(p.run) !== run) return;
    progress.replaceChildren(...standing(p));
    workers.replaceChildren(...workersOf(p));
    last.replaceChildren(lastLoads(p));
  }, context.signal);
  context.live.on("state", (data) => {
    const state = data as State;
    const running = String(state.running?.run) === run;
    controls.replaceChildren(...controlsOf(context, state, run));
    if (over && !running) context.say(String(state.resumable?.run) === run ? "The run was stopped; it can be resumed." : "The run is finished.");
    over = running;
  }, context.signal);
  return {
    title: `Progress of run ${run}`,
    trail: runCrumbs(line?.study ?? "run", run),
    tabs: runTabs(run, "live"),
    body: [progress, controls, workers, el("h2", {}, "Last loads"), last],
  };
}

function standing(p: Progress): HTMLElement[] {
  const words = p.done >= p.planned ? `All ${counted(p.planned, "load")} are done.`
    : `${fixed(p.done, 0)} of ${counted(p.planned, "load")} done${p.left === undefined ? "" : `, about ${roughly(p.left)} left`}.`;
  const counts: [string, number, boolean][] = [["valid", p.valid, true], ["invalid", p.invalid, true], ["failed", p.failed, true], ["unsupported", p.unsupported, p.unsupported > 0], ["attempts", p.attempts, true]];
  return [
    el("p", { class: "lead" }, words),
    el("progress", { max: p.planned, value: p.done, "aria-label": "Loads done" }),
    el("ul", { class: "counts", "aria-label": "Attempts" }, ...counts.filter(([, , shown]) => shown).map(([name, n]) => el("li", {}, el("b", {}, fixed(n, 0)), el("span", {}, name)))),
    el("p", { class: "facts" }, `${p.since === undefined ? "" : `Under way since ${moment(p.since)}. `}The latest packet left the emulator ${duration(p.late.worst)} late; ${counted(p.late.loads, "load")} ${p.late.loads === 1 ? "was" : "were"} too late to count.`),
  ];
}

/** storedCommands is the flag that a run asks for if the store's study runs commands that this user has not run before. */
const storedCommands = "--run-stored-commands";

function controlsOf(context: Context, state: State, run: string): (Node | string)[] {
  const act = (path: string, said: string, body: object = {}) => async (): Promise<void> => {
    try {
      await ask(path, { method: "POST", body });
      context.say(said);
    } catch (error) {
      context.say(sentence(error), true);
    }
  };
  const parts: (Node | string)[] = [];
  if (state.running !== undefined && String(state.running.run) === run) {
    if (state.running.stopping) parts.push(el("p", {}, "The run is stopping in good order …"));
    else parts.push(button("Stop", act("/api/run/stop", "The run stops when its loads are in good order.")));
  } else if (state.running === undefined && String(state.resumable?.run) === run) {
    parts.push(button("Resume", act("/api/run/resume", "The run goes on.")));
  }
  const words = state.running?.said ?? (state.running === undefined && state.last !== undefined && state.last.code !== 0 ? state.last.said : undefined);
  if (state.running === undefined && words?.includes(storedCommands) === true) parts.push(button("Run these commands, and resume", act("/api/run/resume", "The run goes on.", { storedCommands: true })));
  if (words !== undefined && words !== "") parts.push(scrolling("What the run says", el("pre", {}, words)));
  return parts;
}

/** workersOf returns what the page says of a campaign's workers: nothing for a run that makes its loads itself. */
function workersOf({ workers }: Progress): HTMLElement[] {
  if (workers.length === 0) return [];
  return [el("h2", {}, "Workers"), scrolling("Workers", el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Worker"), el("th", { scope: "col" }, "Machine"), el("th", { scope: "col", class: "number" }, "Loads"))),
    el("tbody", {}, ...workers.map((w) => el("tr", {}, el("th", { scope: "row" }, w.name), el("td", {}, w.host ?? "–"), el("td", { class: "number" }, fixed(w.loads, 0)))))))];
}

function lastLoads({ run, last }: Progress): HTMLElement {
  if (last.length === 0) return el("p", { class: "facts" }, "No load has ended yet.");
  return scrolling("Last loads", el("table", { class: "loads" },
    el("thead", {}, el("tr", {}, ...["Load", "Cell", "Verdict"].map((h) => el("th", { scope: "col" }, h)), el("th", { scope: "col", class: "number" }, "Time (ms)"), el("th", { scope: "col", class: "number" }, "Late (ms)"), el("th", { scope: "col" }, "Ended (UTC)"))),
    el("tbody", {}, ...last.map((l) => el("tr", { class: l.validity },
      el("th", { scope: "row" }, el("a", { href: link(["loads", l.id]) }, l.id)),
      el("td", {}, el("a", { href: link(["runs", run, "cells", l.cell]) }, [l.label, l.site, l.network].filter(Boolean).join(", "))),
      el("td", {}, l.validity, l.reason === undefined || l.reason === "" ? null : el("small", { class: "why" }, l.reason)),
      el("td", { class: "number" }, l.value === undefined ? "–" : fixed(l.value, 1), l.metric === undefined ? null : el("small", {}, l.metric)),
      el("td", { class: "number" }, l.late === undefined ? "–" : fixed(l.late, 3)),
      el("td", {}, new Date(l.ended).toISOString().slice(11, 19)))))));
}
