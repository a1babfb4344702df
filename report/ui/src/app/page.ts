import { el } from "../dom";
import { Failure, type State } from "./api";
import type { Route } from "./route";

/** Context is what a page is given: where it is, and what happens while it is shown. */
export interface Context {
  route: Route;
  signal: AbortSignal; // aborted when the reader leaves the page
  live: Live;
  state: () => State | null;
  /** keep puts a choice into the address without a new page in the history. */
  keep: (query: Record<string, string | undefined>) => void;
  /** say tells something in the line that screen readers read out. */
  say: (text: string, bad?: boolean) => void;
}

/** Live calls back with what the server tells, until the signal is aborted. */
export interface Live {
  on: (event: "state" | "runs" | "progress" | "study", run: (data: unknown) => void, signal: AbortSignal) => void;
}

/** Page is what is shown at an address. */
export interface Page {
  title: string;
  trail: Crumb[]; // the way to the page, without the page itself
  tabs?: HTMLElement | null;
  body: (Node | null)[];
}

export interface Crumb {
  name: string;
  href: string;
}

/** sentence says why something failed. */
export const sentence = (error: unknown): string => (error instanceof Failure ? error.message : error instanceof Error ? `${error.name}: ${error.message}` : String(error));

/** failed is a page that says why there is no other. */
export function failed(error: unknown): Page {
  return { title: error instanceof Failure && error.status === 404 ? "Not found" : "This page cannot be shown", trail: [], body: [el("p", { class: "failure", role: "alert" }, sentence(error))] };
}

/** button is a button; while what it does is under way, it cannot be pressed again. */
export function button(name: string, press: () => void | Promise<void>, attributes: Record<string, string | boolean> = {}): HTMLButtonElement {
  const b = el("button", {
    type: "button", class: "do", ...attributes,
    onclick: () => {
      const done = press();
      if (!(done instanceof Promise)) return;
      b.disabled = true;
      void done.finally(() => {
        b.disabled = false;
      });
    },
  }, name);
  return b;
}

/** facts lists names and values beside each other. */
export const facts = (all: [name: string, value: string | Node | null | undefined][]): HTMLElement =>
  el("dl", { class: "run" }, ...all.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value ?? ""))));
