import type { Point, Span, Timeline } from "./data";

/** cut returns the part of a line between two moments, with corners at both ends. */
export function cut(line: Point[], from: number, to: number): Point[] {
  const inside = line.filter(([t]) => t >= from && t <= to);
  const result: Point[] = [];
  if (inside[0]?.[0] !== from) result.push([from, valueAt(line, from)]);
  result.push(...inside);
  if (inside.at(-1)?.[0] !== to) result.push([to, valueAt(line, to)]);
  // Where the line jumps at an end, only the corner on this side of the jump is of it.
  while (result.length > 1 && result[1]?.[0] === from) result.shift();
  while (result.length > 1 && result.at(-2)?.[0] === to) result.pop();
  return result;
}

/** valueAt returns the value of a line at a moment; at a jump, the later of its two values. */
export function valueAt(line: Point[], at: number): number {
  let before: Point | undefined;
  for (const p of line) {
    if (p[0] > at) {
      if (before === undefined) return p[1];
      return before[1] + ((p[1] - before[1]) * (at - before[0])) / (p[0] - before[0]);
    }
    before = p;
  }
  return before?.[1] ?? 0;
}

/** stepAt returns the value at a moment of steps, each of which lasts until the next. */
export function stepAt(steps: Point[], at: number): number | undefined {
  return steps.findLast(([t]) => t <= at)?.[1];
}

/** spanAt returns what the viewer saw at a moment. */
export const spanAt = (spans: Span[], at: number): Span | undefined => spans.find((s) => s.from <= at && at < s.to);

/** Stretch is a time with one goodput, Mbit/s. */
export interface Stretch {
  from: number;
  to: number;
  rate: number;
}

/** stretches returns the goodput's values with their times; the last one ends with the stream. */
export function stretches(t: Timeline): Stretch[] {
  return t.goodput.map((rate, i) => ({ from: i * t.step, to: i === t.goodput.length - 1 ? t.duration : (i + 1) * t.step, rate }));
}

/** Outage is a handover and the time until data arrived again: until the next handover, or the end, if none did. */
export interface Outage {
  from: number;
  to: number;
  recovered: boolean;
  access: string;
}

export function outages(t: Timeline): Outage[] {
  const all = t.handovers ?? [];
  return all.map((h, i) => ({ from: h.at, to: h.recovered ?? all[i + 1]?.at ?? t.duration, recovered: h.recovered !== undefined, access: h.access }));
}
