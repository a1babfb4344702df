import { at, type Cell, type Critical, type Data, type Section } from "./data";
import { el, scrolling, svg, whenNear } from "./dom";
import { fixed } from "./format";
import { ticks } from "./layout";
import { parts } from "./stack";
import * as tooltip from "./tooltip";

interface Bar {
  cell: Cell;
  critical: Critical;
}

const ms = (ns: number): string => `${fixed(ns / 1e6, 1)} ms`;
const share = (c: Critical, ns: number): string => `${fixed((100 * ns) / c.onLoad, 0)} %`;

/**
 * heights says where a kind's bar lies in its row, as shares from the top. Set-up, bandwidth, loss
 * recovery and head-of-line blocking have full height; server, window and queueing are narrower; path delay and
 * the client are thin. So the kinds differ without colour, too.
 */
export const heights: [top: number, bottom: number][] = [[0, 1], [0.36, 0.64], [0.18, 0.82], [0.18, 0.82], [0, 1], [0.18, 0.82], [0, 1], [0, 1], [0.36, 0.64]];

const medians = "The critical path of one load of each cell, the valid one whose onLoad is nearest to the median: the chain of requests that onLoad waited for, and what its time was spent on. The parts add up to that load's onLoad.";

/** criticalPaths shows what decided onLoad: a bar per cell of the section, stacked by kind; about says whose paths these are. */
export function criticalPaths(data: Data, section: Section, about = medians): HTMLElement | null {
  const kinds = data.kinds ?? [];
  const bars = section.cells.map((c) => at(data.cells, c)).flatMap((cell): Bar[] => (cell.critical ? [{ cell, critical: cell.critical }] : []));
  if (bars.length === 0) return null;
  const present = kinds.map((_, k) => k).filter((k) => bars.some((b) => (b.critical.kinds[k] ?? 0) > 0));
  const box = el("div", { class: "chart" });
  whenNear(box, () => {
    box.replaceChildren(drawing(data, bars, Math.max(300, Math.min(1080, box.clientWidth || 700))));
  });
  return el("div", {},
    el("h4", {}, "What decided onLoad"),
    el("p", { class: "caption" }, about),
    pathLegend(kinds, present),
    box,
    el("details", {}, el("summary", {}, "Critical paths in figures"), table(data, kinds, present, bars)));
}

/** pathLegend names the kinds of time that are present. */
export const pathLegend = (kinds: string[], present: number[]): HTMLElement => el("ul", { class: "legend", "aria-label": "What time was spent on" }, ...present.map((k) => el("li", {}, swatch(k), at(kinds, k))));

function swatch(kind: number): SVGElement {
  const [top, bottom] = heights[kind] ?? [0, 1];
  return svg("svg", { viewBox: "0 0 20 10", width: 20, height: 10, "aria-hidden": "true" },
    svg("rect", { x: 0, width: 20, y: 10 * top, height: 10 * (bottom - top), style: `fill:var(--k${kind})` }));
}

const row = 44;
const barHeight = 22;

function drawing(data: Data, bars: Bar[], width: number): SVGElement {
  const left = Math.min(190, 20 + 7 * Math.max(...bars.map((b) => b.cell.label.length)));
  const right = 70;
  const end = Math.max(...bars.map((b) => b.critical.onLoad / 1e6));
  const height = bars.length * row + 24;
  const x = (t: number): number => left + ((width - left - right) * t) / end;
  const label = bars.map((b) => `${b.cell.label}: onLoad ${ms(b.critical.onLoad)}. ${b.critical.verdict}`).join(" ");
  return svg("svg", { class: "paths", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Critical paths. ${label}` },
    ...ticks(end, width < 500 ? 3 : 6).map((t) => svg("g", {},
      svg("line", { class: "grid", x1: x(t), x2: x(t), y1: 0, y2: height - 18 }),
      svg("text", { class: "axis", x: x(t), y: height - 4, "text-anchor": "middle" }, `${fixed(t, 0)}${t === 0 ? " ms" : ""}`))),
    ...bars.map(({ cell, critical }, i) => {
      const top = i * row + 14;
      return svg("g", {},
        svg("text", { x: left - 8, y: top + 15, "text-anchor": "end" }, cell.label),
        svg("text", { class: "load", x: left, y: top - 3 }, `load ${at(data.loads, critical.load).id}`),
        ...parts(critical).map((p) => {
          const [upper, lower] = heights[p.kind] ?? [0, 1];
          const ns = critical.kinds[p.kind] ?? 0;
          return svg("rect", {
            x: x(p.from), width: Math.max(0.5, x(p.to) - x(p.from)), y: top + barHeight * upper, height: barHeight * (lower - upper), style: `fill:var(--k${p.kind})`,
            onpointermove: (event) => {
              tooltip.say([[at(data.kinds ?? [], p.kind), `${ms(ns)}, ${share(critical, ns)} of onLoad`], ["load", `${at(data.loads, critical.load).id}, ${cell.label}`], ["", critical.verdict]], event as PointerEvent);
            },
            onpointerleave: tooltip.hide,
          });
        }),
        svg("text", { x: x(critical.onLoad / 1e6) + 6, y: top + 15 }, `${fixed(critical.onLoad / 1e6, 0)} ms`));
    }));
}

function table(data: Data, kinds: string[], present: number[], bars: Bar[]): HTMLElement {
  return scrolling("Critical paths in figures", el("table", {},
    el("caption", {}, el("span", {}, "ms by kind; each column is one load, and adds up to its onLoad exactly")),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Spent on"),
      ...bars.map((b) => el("th", { scope: "col", class: "number" }, b.cell.label, el("small", {}, at(data.loads, b.critical.load).id))))),
    el("tbody", {},
      ...present.map((k) => el("tr", {}, el("th", { scope: "row" }, at(kinds, k)),
        ...bars.map((b) => el("td", { class: "number" }, fixed((b.critical.kinds[k] ?? 0) / 1e6, 3))))),
      el("tr", {}, el("th", { scope: "row" }, "onLoad"), ...bars.map((b) => el("td", { class: "number" }, fixed(b.critical.onLoad / 1e6, 3)))))));
}
