import { expect, test } from "vitest";
import type { Point, Timeline } from "./data";
import { cut, outages, spanAt, stepAt, stretches, valueAt } from "./watching";

// Nothing until 1 s, a segment comes, it plays to the end, two come at once.
const buffer: Point[] = [[0, 0], [1000, 0], [1000, 1], [2000, 0], [2000, 2], [3000, 1]];

test.each([[500, 0], [1000, 1], [1500, 0.5], [2000, 2], [2500, 1.5], [9000, 1]])("at %d ms %d s are buffered", (at, want) => expect(valueAt(buffer, at)).toBe(want));

test("a line is cut where it has no corner", () => {
  expect(cut(buffer, 1250, 2500)).toEqual([[1250, 0.75], [2000, 0], [2000, 2], [2500, 1.5]]);
});

test("of a jump at a cut, the inner side stays", () => {
  expect(cut(buffer, 1000, 2000)).toEqual([[1000, 1], [2000, 0]]);
  expect(cut(buffer, 0, 1000)).toEqual([[0, 0], [1000, 0]]);
});

test("steps last until the next one", () => {
  const delay: Point[] = [[0, 50], [1000, 80]];
  expect([stepAt(delay, 0), stepAt(delay, 999), stepAt(delay, 1000), stepAt([], 5)]).toEqual([50, 50, 80, undefined]);
});

test("a span holds its beginning, not its end", () => {
  const spans = [{ from: 0, to: 10, state: "starting" as const }, { from: 10, to: 20, state: "playing" as const, shown: "hd" as const }];
  expect(spanAt(spans, 10)?.shown).toBe("hd");
  expect(spanAt(spans, 20)).toBeUndefined();
});

const stream = (part: Partial<Timeline>): Timeline => ({ duration: 2500, goodput: [], step: 1000, ...part });

test("the last stretch ends with the stream", () => {
  expect(stretches(stream({ goodput: [8, 80] }))).toEqual([{ from: 0, to: 1000, rate: 8 }, { from: 1000, to: 2500, rate: 80 }]);
});

test("an outage without recovery lasts until the next handover, or the end", () => {
  const got = outages(stream({ handovers: [{ at: 100, access: "AP2", recovered: 400 }, { at: 1000, access: "AP1" }, { at: 2000, access: "AP2", ready: 2100 }] }));
  expect(got.map((o) => [o.from, o.to, o.recovered])).toEqual([[100, 400, true], [1000, 2000, false], [2000, 2500, false]]);
});
