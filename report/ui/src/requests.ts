import { endOf, phases, type Load, type Request } from "./data";
import { drawNow, el, scrolling, svg, whenNear } from "./dom";
import { fixed, resourceName } from "./format";
import { bars, endOfAll, heights, ticks } from "./layout";

/** Lane is a strip above the requests, on their time axis, 1000 wide and 100 high. */
export interface Lane {
  name: string;
  draw: (x: (ms: number) => number) => SVGElement[];
  note: string; // what the strip shows, in words
}

/** Extra is what a request list shows beside the requests. */
export interface Extra {
  lanes?: Lane[];
  decisive?: (r: Request) => boolean; // onLoad waited for the request
}

/** blockSize is how many rows are drawn at once: a page can have thousands of requests. */
const blockSize = 100;

/** usualHeight is a row's height in px, as long as none was drawn. */
const usualHeight = 21;

/** Rows gives the button of a row, drawing it first if the reader has not come near it yet. */
interface Rows {
  count: number;
  button: (index: number) => HTMLButtonElement | null;
}

const rowsOf = new WeakMap<Element, Rows>();

/** requestList is the large form of a waterfall: a table with a row per request, its bar in the last column. */
export function requestList(load: Load, label: string, requests: Request[], extra: Extra = {}): HTMLElement {
  const dcl = load.waterfall?.dcl ?? -1;
  const onLoad = load.waterfall?.onLoad ?? -1;
  const end = endOfAll(requests, dcl, onLoad) * 1.01 || 1;
  const share = (ms: number): string => `${((100 * ms) / end).toFixed(2)}%`;
  const axis = el("div", { class: "axis" },
    ...ticks(end, 5).map((t) => el("span", { style: `left:${share(t)}` }, fixed(t, 0))));
  const draw = (r: Request, i: number): HTMLElement => row(r, i, end, dcl, onLoad, extra);
  const bodies = Array.from({ length: Math.ceil(requests.length / blockSize) }, (_, b) => block(requests, b * blockSize, draw));
  const table = el("table", { class: "requests", "aria-rowcount": requests.length + 1 },
    el("caption", {}, el("span", {}, `Requests of load ${load.id} (${label}) in the order they started; times in ms since navigation start. DCL: ${mark(dcl)}, onLoad: ${mark(onLoad)}. A resource's button opens its phases; the arrow keys go from one to the next.`)),
    el("thead", {}, el("tr", {},
      el("th", { scope: "col" }, "Resource"),
      el("th", { scope: "col" }, "Priority"),
      el("th", { scope: "col", class: "number" }, "Conn."),
      el("th", { scope: "col", class: "number" }, "Size (kB)"),
      el("th", { scope: "col", class: "number" }, "Start (ms)"),
      el("th", { scope: "col", class: "number" }, "Took (ms)"),
      el("th", { scope: "col", class: "bar" }, el("span", { class: "hidden" }, "Waterfall"), axis)),
    ...(extra.lanes ?? []).map((lane) => strip(lane, end))),
    ...bodies);
  const rows: Rows = {
    count: requests.length,
    button: (index) => {
      const body = bodies[Math.floor(index / blockSize)];
      if (body === undefined || index < 0) return null;
      drawNow(body);
      return body.querySelector<HTMLButtonElement>(`button[data-row="${index}"]`);
    },
  };
  walkWithArrows(table, rows);
  const box = scrolling(`Requests of load ${load.id}`, table);
  rowsOf.set(box, rows);
  return box;
}

/** block is a part of the rows: the first one drawn, any other a space of about its height until the reader comes near. */
function block(requests: Request[], from: number, draw: (r: Request, i: number) => HTMLElement): HTMLElement {
  const own = requests.slice(from, from + blockSize);
  const body = el("tbody");
  const fill = (): void => {
    body.replaceChildren(...own.map((r, i) => draw(r, from + i)));
  };
  if (from === 0) {
    fill();
    return body;
  }
  body.append(el("tr", {}, el("td", { colspan: 7, style: `height:${own.length * usualHeight}px` }, `Requests ${from + 1} to ${from + own.length}`)));
  whenNear(body, fill);
  return body;
}

function strip(lane: Lane, end: number): HTMLElement {
  return el("tr", { class: "lane" },
    el("th", { scope: "row", colspan: 6 }, lane.name),
    el("td", { class: "bar" }, svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": lane.note }, ...lane.draw((ms) => Math.round((100_000 * ms) / end) / 100))));
}

const mark = (ms: number): string => (ms < 0 ? "unknown" : fixed(ms, 0) + " ms");

function row(r: Request, index: number, end: number, dcl: number, onLoad: number, extra: Extra): HTMLElement {
  const button = el("button", { type: "button", "aria-expanded": "false", tabindex: index === 0 ? 0 : -1, title: r.url, "data-row": index }, resourceName(r.url));
  const decisive = extra.decisive?.(r) === true;
  const tr = el("tr", { class: `${r.error !== "" || r.status >= 400 ? "broken" : ""}${decisive ? " decisive" : ""}` },
    el("th", { scope: "row" }, button),
    el("td", {}, r.priority.replace(" > ", " → ")),
    el("td", { class: "number" }, r.connection),
    el("td", { class: "number" }, r.bytes < 0 ? "–" : fixed(r.bytes / 1000, 1)),
    el("td", { class: "number" }, fixed(r.start, 0)),
    el("td", { class: "number" }, fixed(endOf(r) - r.start, 0)),
    el("td", { class: "bar" }, decisive ? el("span", { class: "hidden" }, "onLoad waited for it") : null, bar(r, end, dcl, onLoad)));
  const toggle = (): void => {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) tr.nextElementSibling?.remove();
    else tr.after(el("tr", { class: "details" }, el("td", { colspan: 7 }, details(r))));
  };
  button.addEventListener("click", toggle);
  tr.querySelector(".bar")?.addEventListener("click", toggle);
  return tr;
}

function bar(r: Request, end: number, dcl: number, onLoad: number): SVGElement {
  const x = (ms: number): string => ((1000 * ms) / end).toFixed(2);
  const line = (ms: number, kind: string): SVGElement[] => (ms < 0 ? [] : [svg("line", { x1: x(ms), x2: x(ms), y1: 0, y2: 100, class: kind })]);
  return svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", "aria-hidden": "true" },
    ...bars(r).map((b) => {
      const [top, bottom] = heights[b.phase];
      return svg("rect", { x: x(b.from), width: Math.max(1, Number(x(b.to - b.from))), y: top * 100, height: (bottom - top) * 100, class: b.phase });
    }),
    ...line(dcl, "dcl"),
    ...line(onLoad, "onload"));
}

/** facts are all that is known of a request, as names and values. */
export function facts(r: Request): [name: string, value: string][] {
  const times = phases.map((p, i): [string, string] => [p, fixed(r.durations[i] ?? 0, 2) + " ms"]);
  const all: [string, string][] = [
    ["URL", r.url],
    ["status", r.error || String(r.status)],
    ["type", r.kind],
    ["protocol", r.protocol],
    ["priority", r.priority.replace(" > ", ", then ")],
    ["connection", r.connection],
    ["server", r.address],
    ["asked for by", r.initiator],
    ["size", r.bytes < 0 ? "" : fixed(r.bytes, 0) + " B"],
    ["start", fixed(r.start, 2) + " ms"],
    ...times,
    ["end", fixed(endOf(r), 2) + " ms"],
  ];
  return all.filter(([, value]) => value !== "");
}

function details(r: Request): HTMLElement {
  return el("dl", {}, ...facts(r).map(([name, value]) => el("div", { class: (phases as readonly string[]).includes(name) ? "phase " + name : "" }, el("dt", {}, name), el("dd", {}, value))));
}

/** walkWithArrows makes the rows' buttons one stop of the Tab key. */
function walkWithArrows(table: HTMLElement, rows: Rows): void {
  table.addEventListener("keydown", (event) => {
    if (!(event.target instanceof HTMLButtonElement)) return;
    const here = Number(event.target.dataset["row"]);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: rows.count - 1 }[event.key];
    const next = to === undefined ? null : rows.button(to);
    if (next === null) return;
    event.preventDefault();
    stopAt(table, next);
    next.focus();
  });
}

/** showRequest opens a row of a request list and brings it into view. */
export function showRequest(list: HTMLElement, index: number): void {
  const button = rowsOf.get(list)?.button(index) ?? null;
  if (button === null) return;
  if (button.getAttribute("aria-expanded") === "false") button.click();
  stopAt(list, button);
  button.focus({ preventScroll: true });
  const box = list.getBoundingClientRect();
  list.scrollTop += button.getBoundingClientRect().top - box.top - 80;
}

function stopAt(list: HTMLElement, stop: HTMLButtonElement): void {
  for (const b of list.querySelectorAll<HTMLButtonElement>('button[data-row][tabindex="0"]')) b.tabIndex = -1;
  stop.tabIndex = 0;
}
