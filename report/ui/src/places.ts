// What an overview shows, as data: which places make up a picture, and what each of their fields says.

import { at, type Facet, type Overview, type OverviewMetric, type Place, type Standing } from "./data";
import { behind, fixed, list, percent, scaled, scaleFor, share } from "./format";
import { ratioSpot, type Grid, type Ratio, type Spot } from "./heatmap";

/** What an overview shows. */
export interface OverviewState {
  metric: string;
  against: string; // "" for the best label at each place; or the label that ratios are against
  across: string; // ID of a facet; "" for none; compared for the labels, if ratios are shown
  down: string;
}

/** compared is the ID of the axis that has the labels. */
export const compared = "compared";

/** A Picture is one heat map of an overview. */
export interface Picture {
  name: string; // what distinguishes it from the others
  across: Grid;
  down: Grid;
  spots: PlaceSpot[];
}

/** A PlaceSpot is about a place, and about a label if it shows that label's ratio. */
export interface PlaceSpot extends Spot {
  place: number;
  label?: number;
}

/** settle makes a state that the overview can show of one that it may not: what is unknown or missing gets its usual value. */
export function settle(overview: Overview, wanted: Partial<OverviewState>): OverviewState {
  const metric = overview.metrics.some((m) => m.name === wanted.metric) ? (wanted.metric ?? "") : (overview.metrics[0]?.name ?? "");
  const usual = overview.facets.length < 2 ? (overview.labels[0] ?? "") : "";
  const against = wanted.against !== undefined && (wanted.against === "" || overview.labels.includes(wanted.against)) ? wanted.against : usual;
  const axes = axesOf(overview, against);
  const axis = (id: string | undefined): string | undefined => (axes.some((a) => a.id === id) ? id : undefined);
  const across = axis(wanted.across) ?? axes.find((a) => a.id !== axis(wanted.down))?.id ?? "";
  const down = [axis(wanted.down), ...axes.map((a) => a.id)].find((id) => id !== undefined && id !== across) ?? "";
  return { metric, against, across, down };
}

/** axesOf returns the axes that a heat map may have, those first that are the better choice: numbers, then names, the most values first, then the labels. */
export function axesOf(overview: Overview, against: string): { id: string; name: string }[] {
  const rank = (f: Facet): number => (f.number ? 1000 : 0) + f.values.length;
  const facets = overview.facets.toSorted((a, b) => rank(b) - rank(a)).map((f) => ({ id: f.id, name: f.name }));
  return against === "" ? facets : [...facets, { id: compared, name: overview.compared }];
}

/** picturesOf returns the heat maps of a state: one for each combination of what is not on their axes. */
export function picturesOf(overview: Overview, state: OverviewState, colours: string[]): Picture[] {
  const m = overview.metrics.findIndex((x) => x.name === state.metric);
  const metric = at(overview.metrics, m);
  const baseline = overview.labels.indexOf(state.against);
  const pictures = new Map<string, Picture>();
  const onAxis = [state.across, state.down];
  const add = (place: Place, index: number, standing: Standing, label: number | undefined): void => {
    const apart = overview.facets.flatMap((f, i) => (onAxis.includes(f.id) ? [] : [valueOf(f, at(place.at, i))]));
    const versus = label === undefined || onAxis.includes(compared) ? [] : [`${at(overview.labels, label)} to ${state.against}`];
    const name = [...versus, ...apart].join(", ");
    const on = (id: string): number => (id === compared ? (label ?? 0) : id === "" ? 0 : at(place.at, overview.facets.findIndex((f) => f.id === id)));
    const where = overview.facets.map((f, i) => valueOf(f, at(place.at, i))).join(", ");
    const spot = label === undefined
      ? bestSpot(overview, standing, metric, where, colours)
      : ratioTo(overview, standing, metric, where, label, baseline);
    if (spot === null) return;
    const picture = pictures.get(name) ?? { name, across: gridOf(overview, state.across), down: gridOf(overview, state.down), spots: [] };
    pictures.set(name, picture);
    picture.spots.push({ ...spot, x: on(state.across), y: on(state.down), place: index, ...(label === undefined ? {} : { label }) });
  };
  const labels = baseline < 0 ? [undefined] : overview.labels.map((_, i) => i).filter((i) => i !== baseline);
  for (const label of labels) {
    overview.places.forEach((place, i) => {
      const standing = place.standings[m];
      if (standing) add(place, i, standing, label);
    });
  }
  return [...pictures.values()];
}

function gridOf(overview: Overview, id: string): Grid {
  if (id === compared) return { label: "", words: overview.labels, number: false };
  const facet = overview.facets.find((f) => f.id === id);
  return facet === undefined ? { label: "", words: [""], number: false } : { label: facet.label, words: facet.values, number: facet.number };
}

/** valueOf writes a value of a facet for the name of a picture. */
function valueOf(facet: Facet, value: number): string {
  const word = facet.values[value] ?? "";
  const unit = /\(([^)]*)\)$/.exec(facet.label)?.[1] ?? "";
  return facet.number ? `${facet.name} ${word} ${unit}`.trim() : word;
}

/** ratioOf returns the ratio of the medians of two labels, with its interval; null if one has no value. */
export function ratioOf(standing: Standing, label: number, to: number): Ratio | null {
  const [x, y] = [standing.medians[label], standing.medians[to]];
  if (x == null || y == null) return null;
  const turned = label > to;
  const pair = standing.pairs[pairIndex(Math.min(label, to), Math.max(label, to), standing.medians.length)];
  const ends = pair == null ? [x / y, x / y] as const : turned ? [1 / pair[1], 1 / pair[0]] as const : pair;
  return { ratio: x / y, low: ends[0], high: ends[1], interval: pair != null, n: Math.min(standing.n[label] ?? 0, standing.n[to] ?? 0) };
}

/** pairIndex is the place of the pair (i, j), i < j < n, in the order (0, 1), (0, 2), ... (1, 2), ... */
export const pairIndex = (i: number, j: number, n: number): number => i * n - (i * (i + 1)) / 2 + (j - i - 1);

function ratioTo(overview: Overview, standing: Standing, metric: OverviewMetric, where: string, label: number, baseline: number): Spot | null {
  const ratio = ratioOf(standing, label, baseline);
  if (ratio === null) return null;
  const both = [label, baseline].map((l) => `${at(overview.labels, l)} ${median(standing, l, metric)}`);
  return ratioSpot(0, 0, ratio, [where, both.join(", "), "ratio"].filter(Boolean).join("\n"), metric.more);
}

const median = (standing: Standing, label: number, metric: OverviewMetric): string => {
  const value = standing.medians[label] ?? 0;
  const scale = scaleFor(metric.unit, [value]);
  return `${scaled(value, scale)} ${scale.unit}`;
};

/** bestSpot shows which label is best at a place, and how far the next one is behind it: the farther, the stronger is its colour. */
function bestSpot(overview: Overview, standing: Standing, metric: OverviewMetric, where: string, colours: string[]): Spot | null {
  const name = at(overview.labels, standing.best);
  const next = nextOf(standing, metric.more);
  const medians = overview.labels.flatMap((label, l) => (standing.medians[l] == null ? [] : [`${label} ${median(standing, l, metric)}, n ${standing.n[l]}`]));
  const colour = colours[standing.best] ?? "var(--p0)";
  const tint = (share: number): string => `color-mix(in srgb, ${colour} ${fixed(share, 0)}%, var(--paper))`;
  const says = (verdict: string): string => [where, ...medians, verdict].filter(Boolean).join("\n");
  const spot = { x: 0, y: 0, ink: "var(--ink)" };
  if (next === undefined) return { ...spot, words: [`only ${name}`], fill: tint(8), decided: false, says: says(`only ${name} has valid loads`) };
  const ratio = ratioOf(standing, next, standing.best);
  if (ratio === null) return null;
  const small = [`${at(overview.labels, next)} ${far(ratio.ratio)}`, ratio.interval ? farBetween(ratio.low, ratio.high) : `n ${ratio.n}`];
  if (standing.tied.length > 0) {
    const tied = list(standing.tied.map((l) => at(overview.labels, l)));
    const why = standing.few ? "too few loads to tell it from" : "not clearly better than";
    return { ...spot, words: [`(${name})`, ...small], fill: tint(8), decided: false, says: says(`${name}: ${why} ${tied}`) };
  }
  const strength = Math.min(1, Math.abs(Math.log(ratio.ratio)) / Math.log(2));
  return { ...spot, words: [name, ...small], fill: tint(16 + 30 * strength), decided: true, says: says(`${name}, ahead of ${small.join(", ")}`) };
}

/** far writes how far a median is from the best one: the ratio to it is above 1, or below where more is better. */
const far = (ratio: number): string => (ratio >= 1 ? behind(ratio - 1) : `−${percent(1 - ratio)}`);

/** farBetween writes far for the ends of an interval, in short. */
function farBetween(low: number, high: number): string {
  const ends = low >= 2 ? [low, high].map((r) => `×${fixed(r, 1)}`) : [low, high].map((r) => (r >= 2 ? `×${fixed(r, 1)}` : share(r - 1)));
  const unit = high < 2 ? " %" : "";
  return (ends[0] === ends[1] ? String(ends[0]) : ends.join(" to ")) + unit;
}

/** nextOf returns the label with the best median after the best one. */
export function nextOf(standing: Standing, more: boolean): number | undefined {
  const others = standing.medians.flatMap((value, label) => (value == null || label === standing.best ? [] : [{ value, label }]));
  return others.sort((a, b) => (more ? b.value - a.value : a.value - b.value))[0]?.label;
}
