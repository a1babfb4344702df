import { expect, test } from "vitest";
import type { Request } from "../data";
import { changes } from "./changes";

const request = (url: string, start: number, wait: number, more: Partial<Request> = {}): Request => ({
  start, durations: [0, 0, 0, 0, 0, wait, 0], status: 200, bytes: 100, url, kind: "Image", priority: "Low", protocol: "h2", connection: "1", address: "", initiator: "", error: "", ...more,
});

test("requests are paired by URL, the n-th with the n-th, and the largest difference comes first", () => {
  const got = changes([request("/", 0, 10), request("/x", 10, 10), request("/x", 30, 10)], [request("/", 0, 12), request("/x", 10, 11), request("/x", 50, 20)]);
  expect(got.map((c) => [c.url, c.later, c.asked, c.took])).toEqual([["/x", 30, 20, 10], ["/", 2, 0, 2], ["/x", 1, 0, 1]]);
});

test("what only one load has comes last, and is not compared", () => {
  const got = changes([request("/a", 0, 10), request("/b", 0, 5)], [request("/b", 0, 6), request("/c", 1, 2)]);
  expect(got.map((c) => [c.url, c.only, c.endA, c.endB, c.later])).toEqual([["/b", null, 5, 6, 1], ["/a", "a", 10, null, null], ["/c", "b", null, 3, null]]);
});

test("other sizes, priorities and protocols are told; unknown sizes are not", () => {
  const [one, two] = changes(
    [request("/a", 0, 1), request("/b", 0, 1, { bytes: -1 })],
    [request("/a", 0, 2, { bytes: 150, priority: "High", protocol: "h3" }), request("/b", 0, 1)]);
  expect([one?.bytes, one?.priority, one?.protocol]).toEqual([50, ["Low", "High"], ["h2", "h3"]]);
  expect([two?.bytes, two?.priority]).toEqual([null, null]);
});
