import { expect, test } from "vitest";
import type { FlowEvent } from "./data";
import { sequence, stacked } from "./flowlayout";

const event = (sent: number, received: number): FlowEvent => ({ from: "client", sent, received, text: "DATA 1 octets" });

test("what held a sender lies end to end and ends with the transfer", () => {
  expect(stacked([2_000_000, 0, 5_000_000])).toEqual([
    { reason: 0, from: 0, to: 2 },
    { reason: 2, from: 2, to: 7 },
  ]);
});

test("an arrow ends between what was sent before and after it arrived", () => {
  expect(sequence([event(0, 50), event(10, 20), event(40, 90), event(60, -1)])).toEqual([
    { sent: 0, received: 2.5 },
    { sent: 1, received: 1.5 },
    { sent: 2, received: 3.5 },
    { sent: 3, received: null },
  ]);
});
