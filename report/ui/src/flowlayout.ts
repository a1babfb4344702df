import type { FlowEvent } from "./data";
import { ticks } from "./layout";

/** Stretch is the part of a bar that belongs to one reason, in ms from the bar's start. */
export interface Stretch {
  reason: number;
  from: number;
  to: number;
}

/** stacked lays the times (ns) of the reasons that held a sender end to end, without those that took no time. */
export function stacked(sums: number[]): Stretch[] {
  const result: Stretch[] = [];
  let from = 0;
  sums.forEach((ns, reason) => {
    const to = from + ns / 1e6;
    if (ns > 0) result.push({ reason, from, to });
    from = to;
  });
  return result;
}

/** Place says in which row an event starts, and behind which row it ends; null if it was not received. */
export interface Place {
  sent: number;
  received: number | null;
}

/** sequence gives each event a row, in their order. An event that arrives between the sending of two others ends between their rows. */
export function sequence(events: FlowEvent[]): Place[] {
  return events.map((e, i) => {
    if (e.received < 0) return { sent: i, received: null };
    let row = i;
    while (row + 1 < events.length && (events[row + 1]?.sent ?? -1) <= e.received) row++;
    return { sent: i, received: row === i ? i + 0.5 : row + 0.5 };
  });
}

/** ticksBetween returns round values between two others that divide the axis into about the wanted number of parts. */
export function ticksBetween(from: number, to: number, wanted: number): number[] {
  const step = ticks(to - from, wanted)[1] ?? 1;
  const first = Math.ceil(from / step - 1e-9);
  return Array.from({ length: Math.max(0, Math.floor(to / step + 1e-9) - first + 1) }, (_, i) => (first + i) * step);
}
