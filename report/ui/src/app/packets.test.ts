import { expect, test } from "vitest";
import type { Packets } from "./api";
import { marksOf, perConnection, sentBy } from "./packets";

const all: Packets = {
  connections: ["a > b TCP", "c > d QUIC"], fates: ["", "queue full"], more: 0,
  packets: [
    [0, 50_000, 1, 60, 0, 0, 0],
    [60_000, 110_000, 0, 1500, 0, 0, 0],
    [61_000, -1, 0, 1500, 0, 1, 0],
    [99_000, 149_000, 0, 1500, 0, 0, 1],
    [99_999, -1, 1, 1200, 1, 1, 1],
    [-5, 2, 1, 40, 1, 0, 0],
  ],
};

test("octets fall into the stretch in which they were sent, by direction", () => {
  expect(sentBy(all.packets, false, 100, 4).map((s) => s.octets)).toEqual([0, 0, 3000, 1500]);
  expect(sentBy(all.packets, true, 100, 4).map((s) => s.octets)).toEqual([60, 0, 0, 1200]);
});

test("what was dropped and what was sent again stands out", () => {
  expect(marksOf(all).map((m) => [m.at, m.kind, m.why, m.up])).toEqual([[61, "dropped", "queue full", false], [99, "again", "", false], [99.999, "dropped", "queue full", true]]);
});

test("connections are counted, the busiest first", () => {
  expect(perConnection(all).map((c) => [c.name, c.packets, c.octets, c.dropped, c.again])).toEqual([["a > b TCP", 4, 4560, 1, 1], ["c > d QUIC", 2, 1240, 1, 1]]);
});
