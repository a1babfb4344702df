// Packets on a time axis: what was dropped, what was sent again.

import type { Traffic } from "./api";

/** Mark is a packet that stands out. */
export interface Mark {
  at: number; // ms
  kind: "dropped" | "again";
  why: string; // why it was dropped; empty for one that was sent again
  octets: number;
  connection: string;
  up: boolean;
}

/** marksOf returns the packets that were dropped or sent again. One that is both counts as dropped. */
export function marksOf({ marks, fates, connections }: Traffic): Mark[] {
  return marks.map(([at, down, octets, fate, , connection]) => ({
    at, octets, connection: connections[connection] ?? "", up: down === 0, kind: fate > 0 ? "dropped" : "again", why: fate > 0 ? fates[fate] ?? "" : "",
  }));
}

/** tally counts marks by connection, the one with the most first. */
export function tally(marks: Mark[]): { connection: string; dropped: number; again: number }[] {
  const rows = new Map<string, { connection: string; dropped: number; again: number }>();
  for (const m of marks) {
    const row = rows.get(m.connection) ?? { connection: m.connection, dropped: 0, again: 0 };
    row[m.kind]++;
    rows.set(m.connection, row);
  }
  return [...rows.values()].sort((a, b) => b.dropped + b.again - a.dropped - a.again);
}
