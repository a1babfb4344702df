import { describe, expect, test } from "vitest";
import { endOf, phases, unpack, type Request } from "./data";
import { bars, endOfAll, heights, lanes, priorityLane, ticks } from "./layout";

const request = (start: number, durations: number[]): Request => ({
  start, durations, status: 200, bytes: 1, url: "", kind: "", priority: "", protocol: "", connection: "", address: "", initiator: "", error: "",
});

describe("the bars of a request", () => {
  test("follow one another without a gap", () => {
    expect(bars(request(10, [1, 2, 30, 40, 0.5, 6, 7]))).toEqual([
      { phase: "blocked", from: 10, to: 11 },
      { phase: "dns", from: 11, to: 13 },
      { phase: "connect", from: 13, to: 43 },
      { phase: "ssl", from: 43, to: 83 },
      { phase: "send", from: 83, to: 83.5 },
      { phase: "wait", from: 83.5, to: 89.5 },
      { phase: "receive", from: 89.5, to: 96.5 },
    ]);
  });
  test("leave out phases that did not happen", () => {
    expect(bars(request(5, [0, 0, 0, 0, 0, 2, 1])).map((b) => [b.phase, b.from, b.to])).toEqual([["wait", 5, 7], ["receive", 7, 8]]);
  });
  test("end where the request ends", () => {
    const r = request(3, [1, 1, 1, 1, 1, 1, 1]);
    expect(bars(r).at(-1)?.to).toBe(endOf(r));
  });
  test("lie within their row", () => {
    for (const p of phases) {
      const [top, bottom] = heights[p];
      expect(0 <= top && top < bottom && bottom <= 1).toBe(true);
    }
  });
});

test("a waterfall is unpacked from hundredths of ms and word numbers", () => {
  const words = ["", "https://a.test/", "Low > High", "7"];
  const [r] = unpack({ dcl: 1, onLoad: 2, requests: [[1050, 100, 200, 1800, 1200, 50, 700, 25, 204, 15, 1, 0, 2, 0, 3, 0, 0, 0]] }, words);
  expect(r).toEqual({
    start: 10.5, durations: [1, 2, 18, 12, 0.5, 7, 0.25], status: 204, bytes: 15, url: "https://a.test/",
    kind: "", priority: "Low > High", protocol: "", connection: "7", address: "", initiator: "", error: "",
  });
});

test("a waterfall without requests is empty", () => expect(unpack({ dcl: -1, onLoad: -1, requests: null }, [""])).toEqual([]));

test("the axis ends with the last byte or the last mark", () => {
  expect(endOfAll([request(0, [0, 0, 0, 0, 0, 5, 5])], 7, -1)).toBe(10);
  expect(endOfAll([request(0, [0, 0, 0, 0, 0, 5, 5])], 7, 30)).toBe(30);
  expect(endOfAll([], -1)).toBe(0);
});

test.each([
  [0, 5, [0]],
  [10, 5, [0, 2, 4, 6, 8, 10]],
  [870, 4, [0, 500]],
  [21_600, 4, [0, 10_000, 20_000]],
])("an axis of %d ms in about %d parts", (end, wanted, want) => expect(ticks(end, wanted)).toEqual(want));

test("lanes are numbered as they first appear", () => expect([...lanes(["40", "41", "40", "7"])]).toEqual([["40", 0], ["41", 1], ["7", 2]]));

test.each([["VeryHigh", 0], ["Low", 3], ["Low > High", 3], ["", -1]])("priority %s is lane %d", (priority, want) => expect(priorityLane(priority)).toBe(want));
