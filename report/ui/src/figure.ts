import { at, type Figure, type FigurePoint, type Scale } from "./data";
import { el } from "./dom";
import { barChart } from "./barchart";
import { heatMap, ratioSpot, type Grid } from "./heatmap";
import { legend, lineChart } from "./linechart";
import { cutTo, looksOf, rangesOf, type Point } from "./lines";

/** palette is how many colours lines have. */
const palette = 8;

/** figureView draws a figure by itself: what a page of the documentation shows. */
export function figureView(figure: Figure): HTMLElement {
  return el("div", { id: "figure" }, ...(figure.against === undefined ? lineCharts(figure) : heatMaps(figure)));
}

function lineCharts(figure: Figure): HTMLElement[] {
  const looks = looksOf(figure.lines.map((label, i) => ({ label, colour: `var(--p${i % palette})` })));
  const panels = figure.panels.map((p) => p.points.map((f): Point => ({
    label: at(figure.lines, f.line), x: f.at, y: f.value, low: f.low, high: f.high, n: f.n, interval: f.interval, ...(f.printed === undefined ? {} : { printed: f.printed }),
  })));
  const shown = (p: Point): boolean => p.x >= (figure.x.from ?? -Infinity) && p.x <= (figure.x.to ?? Infinity);
  const ranges = rangesOf(panels.map((points) => points.filter(shown)), { unit: "" }).map((r) => cutTo({ ...r, unit: figure.unit }, figure.y)); // the unit is the figure's, however long the times
  const width = figure.panels.length > 1 ? 470 : 640;
  return [
    legend(looks, new Set(figure.lines)),
    el("div", { class: "panels" }, ...figure.panels.map((panel, i) => el("figure", {},
      panel.name === "" ? null : el("figcaption", {}, el("b", {}, panel.name)),
      el("div", { class: "chart" }, (figure.along.names ? barChart : lineChart)({
        name: panel.name, title: figure.title, along: figure.along, looks, width, dense: false, offers: [], range: at(ranges, i), points: at(panels, i), x: figure.x,
        labels: figure.lines.filter((label) => at(panels, i).some((p) => p.label === label)),
      }))))),
    panels.flat().some((p) => p.printed !== undefined) ? el("p", { class: "caption" }, figure.along.names ? "Hollow points are published figures." : "Hollow points with a thin line are published figures.") : el("p"),
  ];
}

function heatMaps(figure: Figure): HTMLElement[] {
  const { along, against } = figure;
  if (against === undefined) return [];
  const many = figure.panels.length * figure.lines.length > 1;
  const grid = (scale: Scale): Grid => ({ label: scale.label, words: scale.ticks.map((t) => t.word), number: true });
  const tick = (scale: Scale, value: number): number => scale.ticks.findIndex((t) => t.value === value);
  const where = (p: FigurePoint): string => `${along.name} ${along.ticks[tick(along, p.at)]?.word ?? ""}, ${against.name} ${against.ticks[tick(against, p.against)]?.word ?? ""}`;
  return [el("div", { class: "panels" }, ...figure.panels.flatMap((panel) => figure.lines.map((label, line) => el("figure", {},
    el("figcaption", {}, el("b", {}, [label, panel.name].filter(Boolean).join(", "))),
    el("div", { class: "chart" }, heatMap({
      name: `${figure.title}, ${label}, by ${along.name} and ${against.name}`, across: grid(along), down: grid(against), width: many ? 470 : 640,
      spots: panel.points.filter((p) => p.line === line).map((p) => ratioSpot(tick(along, p.at), tick(against, p.against), { ...p, ratio: p.value }, `${where(p)}\n${figure.title}`)),
    })))))), el("p", { class: "caption" }, `${figure.title}, with its 95 % interval: blue below 1, orange above. A cell in parentheses is not decided: its interval holds 1, or it has too few loads for one.`)];
}
