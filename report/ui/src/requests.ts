import { endOf, phases, type Load, type Request } from "./data";
import { el, scrolling, svg } from "./dom";
import { fixed, resourceName } from "./format";
import { bars, endOfAll, heights, ticks } from "./layout";

/** requestList is the large form of a waterfall: a table with a row per request, its bar in the last column. */
export function requestList(load: Load, label: string, requests: Request[]): HTMLElement {
  const dcl = load.waterfall?.dcl ?? -1;
  const onLoad = load.waterfall?.onLoad ?? -1;
  const end = endOfAll(requests, dcl, onLoad) * 1.01 || 1;
  const share = (ms: number): string => `${((100 * ms) / end).toFixed(2)}%`;
  const axis = el("div", { class: "axis" },
    ...ticks(end, 5).map((t) => el("span", { style: `left:${share(t)}` }, fixed(t, 0))));
  const body = el("tbody");
  requests.forEach((r, i) => body.append(row(r, i, end, dcl, onLoad)));
  walkWithArrows(body);
  return scrolling(`Requests of load ${load.id}`,
    el("table", { class: "requests" },
      el("caption", {}, el("span", {}, `Requests of load ${load.id} (${label}) in the order they started; times in ms since navigation start. DCL: ${mark(dcl)}, onLoad: ${mark(onLoad)}. A resource's button opens its phases; the arrow keys go from one to the next.`)),
      el("thead", {}, el("tr", {},
        el("th", { scope: "col" }, "Resource"),
        el("th", { scope: "col" }, "Priority"),
        el("th", { scope: "col", class: "number" }, "Conn."),
        el("th", { scope: "col", class: "number" }, "Size (kB)"),
        el("th", { scope: "col", class: "number" }, "Start (ms)"),
        el("th", { scope: "col", class: "number" }, "Took (ms)"),
        el("th", { scope: "col", class: "bar" }, el("span", { class: "hidden" }, "Waterfall"), axis))),
      body));
}

const mark = (ms: number): string => (ms < 0 ? "unknown" : fixed(ms, 0) + " ms");

function row(r: Request, index: number, end: number, dcl: number, onLoad: number): HTMLElement {
  const button = el("button", { type: "button", "aria-expanded": "false", tabindex: index === 0 ? 0 : -1, title: r.url }, resourceName(r.url));
  const tr = el("tr", { class: r.error !== "" || r.status >= 400 ? "broken" : "" },
    el("th", { scope: "row" }, button),
    el("td", {}, r.priority.replace(" > ", " → ")),
    el("td", { class: "number" }, r.connection),
    el("td", { class: "number" }, r.bytes < 0 ? "–" : fixed(r.bytes / 1000, 1)),
    el("td", { class: "number" }, fixed(r.start, 0)),
    el("td", { class: "number" }, fixed(endOf(r) - r.start, 0)),
    el("td", { class: "bar" }, bar(r, end, dcl, onLoad)));
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
function walkWithArrows(body: HTMLElement): void {
  body.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || !(event.target instanceof HTMLButtonElement)) return;
    const buttons = [...body.querySelectorAll("button")];
    const next = buttons[buttons.indexOf(event.target) + step];
    if (next === undefined) return;
    event.preventDefault();
    stopAt(buttons, next);
    next.focus();
  });
}

/** showRequest opens a row of a request list and brings it into view. */
export function showRequest(table: HTMLElement, index: number): void {
  const buttons = [...table.querySelectorAll<HTMLButtonElement>("tbody button")];
  const button = buttons[index];
  if (button === undefined) return;
  if (button.getAttribute("aria-expanded") === "false") button.click();
  stopAt(buttons, button);
  button.focus({ preventScroll: true });
  const box = table.getBoundingClientRect();
  table.scrollTop += button.getBoundingClientRect().top - box.top - 80;
}

function stopAt(buttons: HTMLButtonElement[], stop: HTMLButtonElement): void {
  for (const b of buttons) b.tabIndex = b === stop ? 0 : -1;
}
