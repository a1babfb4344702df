import { endOf, phases, type Phase, type Request } from "./data";

/** A Bar is one phase of one request on a time axis, ms since navigation start. */
export interface Bar {
  phase: Phase;
  from: number;
  to: number;
}

/** bars lays the phases of a request end to end and leaves out those that take no time. */
export function bars(r: Request): Bar[] {
  const result: Bar[] = [];
  let from = r.start;
  r.durations.forEach((d, i) => {
    const phase = phases[i];
    if (d > 0 && phase !== undefined) result.push({ phase, from, to: from + d });
    from += d;
  });
  return result;
}

/**
 * heights is where a bar lies in its row, as shares of the row's height from
 * the top. Waiting before a connection is a thin line and setting it up a
 * narrow bar, so that the phases differ without colour, too.
 */
export const heights: Record<Phase, [top: number, bottom: number]> = {
  blocked: [0.4, 0.6],
  dns: [0.25, 0.75],
  connect: [0.25, 0.75],
  ssl: [0.25, 0.75],
  send: [0.05, 0.95],
  wait: [0.05, 0.95],
  receive: [0.05, 0.95],
};

/** endOfAll returns when everything had arrived and DCL and onLoad were over. */
export function endOfAll(requests: Request[], ...marks: number[]): number {
  return requests.reduce((end, r) => Math.max(end, endOf(r)), Math.max(0, ...marks));
}

/** ticks returns round times from zero that divide the axis into about the wanted number of parts. */
export function ticks(end: number, wanted: number): number[] {
  if (!(end > 0)) return [0];
  const rough = end / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((s) => s * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, i) => i * step);
}

/** lanes numbers the distinct values in the order they first appear. */
export function lanes(values: string[]): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const v of values) if (!numbers.has(v)) numbers.set(v, numbers.size);
  return numbers;
}

const priorities = ["VeryHigh", "High", "Medium", "Low", "VeryLow"];

/** priorityLane returns the lane of a priority as sent, 0 for the most urgent and -1 for none. A request that changed reads "Low > High". */
export function priorityLane(priority: string): number {
  return priorities.indexOf(priority.split(" > ")[0] ?? "");
}

export const priorityLanes = priorities.length;

/** rowHeight is that of a row among so many: a page of thousands of requests still fits a screen. */
export const rowHeight = (requests: number): number => Math.max(Math.min(1.6, 900 / Math.max(1, requests)), Math.min(9, 300 / Math.max(1, requests)));
