import { drawAll, el } from "../dom";
import type { State } from "./api";
import { ask } from "./api";
import { cellPage } from "./cell";
import { checksPage } from "./checks";
import { comparePage } from "./compare";
import { editorPage } from "./editor";
import { listen } from "./live";
import { livePage } from "./livepage";
import { loadPage } from "./load";
import { overviewPage } from "./overview";
import { failed, sentence, type Context, type Page } from "./page";
import { papersPage } from "./papers";
import { link, parseRoute, type Route } from "./route";
import { runsPage } from "./runs";
import { studiesPage } from "./studies";
import { studyPage } from "./study";
import { withTools } from "./tools";
import "../style.css";
import "./app.css";

type Maker = (context: Context, ...words: string[]) => Promise<Page>;

/** routes are the pages by their addresses; a word with a colon stands for any word. */
const routes: [address: string, make: Maker][] = [
  ["", runsPage],
  ["runs/:run", overviewPage],
  ["runs/:run/study", studyPage],
  ["runs/:run/checks", checksPage],
  ["runs/:run/live", livePage],
  ["runs/:run/cells/:cell", cellPage],
  ["loads/:load", loadPage],
  ["compare/:a/:b", comparePage],
  ["papers", papersPage],
  ["studies", studiesPage],
  ["studies/:kind/:name", editorPage],
];

function find(route: Route): { make: Maker; words: string[] } | null {
  for (const [address, make] of routes) {
    const parts = address === "" ? [] : address.split("/");
    if (parts.length === route.path.length && parts.every((p, i) => p.startsWith(":") || p === route.path[i])) {
      return { make, words: route.path.filter((_, i) => parts[i]?.startsWith(":")) };
    }
  }
  return null;
}

/** start draws the frame that all pages share, and the page of the address whenever it changes. */
function start(app: HTMLElement): void {
  const said = el("p", { class: "said", role: "status" });
  const nav = el("nav", { "aria-label": "Wiretime" });
  const running = el("p", { class: "running" });
  const lost = el("p", { class: "lost", role: "alert", hidden: true }, "The connection to wiretime ui is lost; what is shown may be old.");
  const main = el("main", { id: "page", tabindex: -1 });
  app.append(
    el("a", { class: "skip", href: "#page", onclick: (event) => {
      event.preventDefault(); // the part of the address after # names a page
      main.focus();
    } }, "Skip to the content"),
    el("header", { class: "top" }, el("a", { class: "home", href: link([]) }, "Wiretime"), nav, running),
    lost, said, main);

  const say = (text: string, bad = false): void => {
    said.textContent = text;
    said.classList.toggle("failure", bad);
  };
  const live = listen((gone) => {
    lost.hidden = !gone;
  });
  let state: State | null = null;
  live.on("state", (data) => {
    state = data as State;
    running.replaceChildren(...standing(state));
  }, new AbortController().signal);

  let left = new AbortController();
  const show = async (): Promise<void> => {
    left.abort();
    left = new AbortController();
    const { signal } = left;
    const route = parseRoute(location.hash);
    nav.replaceChildren(...([["Runs", []], ["Papers", ["papers"]], ["Studies", ["studies"]]] as [string, string[]][]).map(([name, path]) =>
      el("a", { href: link(path), "aria-current": (route.path[0] === "loads" || route.path[0] === "compare" ? "runs" : route.path[0] ?? "runs") === (path[0] ?? "runs") ? "page" : "false" }, name)));
    live.follow(route.path[0] === "runs" ? route.path[1] : undefined);
    say("");
    main.setAttribute("aria-busy", "true");
    const keep: Context["keep"] = (query) => {
      for (const [name, value] of Object.entries(query)) {
        if (value === undefined || value === "") delete route.query[name];
        else route.query[name] = value;
      }
      history.replaceState(null, "", link(route.path, route.query));
    };
    const found = find(route);
    let page: Page;
    try {
      page = found === null ? failed(new Error(`There is no page ${location.hash}.`)) : await found.make({ route, signal, live, keep, say, state: () => state }, ...found.words);
    } catch (error) {
      if (signal.aborted) return;
      page = failed(error);
    }
    if (signal.aborted) return;
    document.title = `${page.title} · Wiretime`;
    main.removeAttribute("aria-busy");
    const heading = el("h1", { tabindex: -1 }, page.title);
    main.replaceChildren(
      page.trail.length === 0 ? "" : el("nav", { class: "trail", "aria-label": "You are here" }, ...page.trail.map((c) => el("a", { href: c.href }, c.name))),
      heading,
      ...(page.tabs ? [page.tabs] : []),
      ...page.body.filter((b) => b !== null));
    withTools(main, () => page.title, signal);
    if (shown) heading.focus();
    shown = true;
    scrollTo(0, 0);
  };
  let shown = false;
  addEventListener("hashchange", () => void show());
  addEventListener("beforeprint", () => {
    for (const folded of main.querySelectorAll<HTMLDetailsElement>("details.folded")) folded.open = true;
    drawAll();
  });
  void ask<State>("/api/state").then((s) => {
    state = s;
    running.replaceChildren(...standing(s));
  }, (error: unknown) => say(sentence(error), true));
  void show();
}

/** standing says what is measured at the moment, or could be resumed. */
function standing(state: State): (Node | string)[] {
  if (state.running) {
    const { run, study, stopping } = state.running;
    const name = `${stopping ? "stopping" : "measuring"} ${study ?? "a study"}`;
    return [run === undefined ? name : el("a", { href: link(["runs", run, "live"]) }, name)];
  }
  return state.resumable ? [el("a", { href: link(["runs", state.resumable.run, "live"]) }, `${state.resumable.study} is interrupted`)] : [];
}

const app = document.getElementById("app");
if (app !== null) start(app);
