import { el, scrolling } from "../dom";
import { counted, fixed, moment } from "../format";
import { ask, type RunLine, type State } from "./api";
import type { Context, Page } from "./page";
import { link } from "./route";

/** runsPage lists the runs of the store. */
export async function runsPage(context: Context): Promise<Page> {
  const state = await ask<State>("/api/state", { signal: context.signal });
  const box = el("div");
  const fill = async (): Promise<void> => {
    const { runs } = await ask<{ runs: RunLine[] }>("/api/runs", { signal: context.signal });
    box.replaceChildren(runs.length === 0 ? none() : list(runs));
  };
  if (state.problem === undefined) await fill();
  else box.append(el("p", { class: "failure" }, state.problem), start());
  context.live.on("runs", () => void fill().catch(() => undefined), context.signal);
  return {
    title: "Runs", trail: [],
    body: [el("p", { class: "facts" }, "The store ", el("code", {}, state.store), `; Wiretime ${state.version}.`), box],
  };
}

const start = (): HTMLElement => el("p", {}, el("a", { href: link(["studies"]) }, "Start a study"), ", or run one in a terminal: it appears here.");

const none = (): HTMLElement => el("div", {}, el("p", { class: "lead" }, "This store holds no runs yet."), start());

function list(runs: RunLine[]): HTMLElement {
  return scrolling("Runs", el("table", { class: "runs" },
    el("thead", {}, el("tr", {}, ...["Run", "Study", "Began", "Clock", "State"].map((h) => el("th", { scope: "col" }, h)), el("th", { scope: "col", class: "number" }, "Loads done"), el("th", { scope: "col" }, "Wiretime"))),
    el("tbody", {}, ...runs.map((r) => el("tr", {},
      el("td", { class: "number" }, fixed(r.id, 0)),
      el("th", { scope: "row" }, el("a", { href: link(["runs", r.id]) }, r.study), r.title === undefined ? null : el("small", {}, r.title), r.quick === true ? el("small", {}, "quick run") : null),
      el("td", {}, moment(r.started)),
      el("td", {}, r.clock),
      el("td", {}, r.state === "finished" ? "finished" : el("a", { href: link(["runs", r.id, "live"]) }, r.state)),
      el("td", { class: "number" }, r.done === r.planned ? counted(r.planned, "load") : `${fixed(r.done, 0)} of ${fixed(r.planned, 0)}`),
      el("td", {}, r.version))))));
}
