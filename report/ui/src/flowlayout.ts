import type { FlowEvent } from "./data";

/** Stretch is one reason's part of a bar, ms from the bar's start. */
export interface Stretch {
  reason: number;
  from: number;
  to: number;
}

/** stacked lays the reasons that held a sender end to end; those that took no time are left out. */
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

/** Place says in which row an event starts, and behind which one it ends; null if it was not received. */
export interface Place {
  sent: number;
  received: number | null;
}

/** sequence gives each event a row of its own, in their order. One that arrives between two rows ends there. */
export function sequence(events: FlowEvent[]): Place[] {
  return events.map((e, i) => {
    if (e.received < 0) return { sent: i, received: null };
    let row = i;
    while (row + 1 < events.length && (events[row + 1]?.sent ?? -1) <= e.received) row++;
    return { sent: i, received: row === i ? i + 0.5 : row + 0.5 };
  });
}
