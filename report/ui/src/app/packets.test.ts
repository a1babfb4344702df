import { expect, test } from "vitest";
import type { Traffic } from "./api";
import { marksOf, tally } from "./packets";

const traffic: Traffic = {
  connections: ["a > b TCP", "c > d QUIC"], fates: ["delivered", "queue full"], more: 0, from: 0, rate: { step: 1, up: [], down: [] }, total: [9, 9],
  marks: [[61, 1, 1500, 1, 0, 0], [99, 1, 1500, 0, 1, 0], [99.9, 0, 1200, 1, 1, 1]],
};

test("what was dropped and what was sent again stands out; what was both counts as dropped", () => {
  expect(marksOf(traffic).map((m) => [m.at, m.kind, m.why, m.up, m.connection])).toEqual([
    [61, "dropped", "queue full", false, "a > b TCP"], [99, "again", "", false, "a > b TCP"], [99.9, "dropped", "queue full", true, "c > d QUIC"],
  ]);
});

test("marks are counted by connection", () => {
  expect(tally(marksOf(traffic))).toEqual([{ connection: "a > b TCP", dropped: 1, again: 1 }, { connection: "c > d QUIC", dropped: 1, again: 0 }]);
});
