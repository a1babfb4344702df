// Packets on a time axis: what each end sent, what was dropped, what was sent again.

import type { Packet, Packets } from "./api";

/** Stretch is a part of the time axis and the octets that left one end within it. */
export interface Stretch {
  from: number; // ms
  to: number;
  octets: number;
}

/** sentBy sums up the packets of a direction in stretches of equal length from 0 to end, ms. */
export function sentBy(packets: Packet[], up: boolean, end: number, count: number): Stretch[] {
  const result = Array.from({ length: count }, (_, i): Stretch => ({ from: (end * i) / count, to: (end * (i + 1)) / count, octets: 0 }));
  for (const [sent, , isUp, octets] of packets) {
    const stretch = result[Math.floor((sent / 1000 / end) * count)];
    if (stretch !== undefined && (isUp === 1) === up) stretch.octets += octets;
  }
  return result;
}

/** Mark is a packet that stands out. */
export interface Mark {
  at: number; // ms
  kind: "dropped" | "again";
  why: string; // why it was dropped; empty for one that was sent again
  octets: number;
  connection: number;
  up: boolean;
}

/** marksOf returns the packets that were dropped or sent again. One that is both counts as dropped. */
export function marksOf({ packets, fates }: Packets): Mark[] {
  return packets.flatMap(([sent, , up, octets, connection, fate, again]): Mark[] => {
    const common = { at: sent / 1000, octets, connection, up: up === 1 };
    if (fate > 0) return [{ ...common, kind: "dropped", why: fates[fate] ?? "" }];
    return again === 1 ? [{ ...common, kind: "again", why: "" }] : [];
  });
}

/** perConnection sums up what happened on each connection, the busiest first. */
export function perConnection(all: Packets): { name: string; index: number; packets: number; octets: number; dropped: number; again: number }[] {
  const rows = all.connections.map((name, index) => ({ name, index, packets: 0, octets: 0, dropped: 0, again: 0 }));
  for (const [, , , octets, connection, fate, again] of all.packets) {
    const row = rows[connection];
    if (row === undefined) continue;
    row.packets++;
    row.octets += octets;
    row.dropped += fate > 0 ? 1 : 0;
    row.again += again;
  }
  return rows.sort((a, b) => b.octets - a.octets);
}
