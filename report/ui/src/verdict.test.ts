import { expect, test } from "vitest";
import type { Answer, Behind, Cell, Claim, ClaimPair, ClockPair, Summary } from "./data";
import { claimStanding, clockStanding, standing, verdict } from "./verdict";

const summary = (median: number, n = 10): Summary => ({ n, median, interval: n >= 6, low: median, high: median, min: median, max: median, cv: 0 });
const cell = (label: string, median: number, n = 10): Cell => ({
  site: "s", network: "n", protocol: label, loader: "chromium", clock: "real", visit: "cold", strategy: "browser", server: "wiretime", label, valid: n, invalid: 0, failed: 0, unsupported: 0, pending: 0,
  summaries: { plt: summary(median, n) }, medianLoad: -1, loads: [],
});
const plt = { title: "PLT", unit: "ms", more: false };
const gap = (cell: number, diff: number, low: number, high: number, interval = true): Behind => ({ cell, diff, low, high, interval });
const answer = (...behind: Behind[]): Answer => ({ metric: "plt", fastest: 0, behind });
const plain = (text: string): string => text.replaceAll("\u00a0", " ");

const cells = [cell("h3", 1000), cell("h2", 1100), cell("http/1.1", 1500)];

test("a clear difference is named with its interval", () => {
  const v = verdict(answer(gap(1, 100, 60, 140), gap(2, 500, 450, 560)), cells, plt);
  expect(v.sure).toBe("clear");
  expect(plain(v.short)).toBe("h3, 10 % ahead of h2");
  expect(plain(v.text)).toBe("h3 is fastest: median PLT 1.00 s (n = 10), 10 % or 100 ms ahead of h2 (95 % interval of the difference 60.0 ms to 140 ms).");
});

test("an interval with zero in it is no clear difference, and names who is slower all the same", () => {
  const v = verdict(answer(gap(1, 100, -20, 140), gap(2, 500, 450, 560)), cells, plt);
  expect(v.sure).toBe("unclear");
  expect(v.short).toBe("h3 and h2: no clear difference");
  expect(plain(v.text)).toContain("not clearly faster than h2 (10 % or 100 ms behind, 95 % interval \u221220.0 ms to 140 ms). http/1.1 is slower, by 50 %.");
});

test("behind a median of zero there are no shares", () => {
  const still = [cell("quic", 0), cell("tcp", 800)];
  const v = verdict(answer(gap(1, 800, 500, 900)), still, { ...plt, title: "Stalled" });
  expect(plain(v.short)).toBe("quic, 800 ms ahead of tcp");
  expect(plain(v.text)).toBe("quic is fastest: median Stalled 0.00 ms (n = 10), 800 ms ahead of tcp (95 % interval of the difference 500 ms to 900 ms).");
  expect(plain(standing(answer(gap(1, 800, 500, 900)), 1, still, plt)?.text ?? "")).toBe("+800 ms");
});

test("a noisy third keeps the first from being called fastest", () => {
  expect(verdict(answer(gap(1, 100, 60, 140), gap(2, 500, -10, 900)), cells, plt).short).toBe("h3 and http/1.1: no clear difference");
});

test("too few loads give no certainty", () => {
  const few = [cell("h3", 1000, 3), cell("h2", 1100)];
  const v = verdict(answer(gap(1, 100, 90, 110, false)), few, plt);
  expect(v.sure).toBe("few");
  expect(plain(v.text)).toContain("six valid loads on each side");
  expect(plain(v.text)).toContain("(n = 3)");
});

test("equal medians of few loads are called equal", () => {
  const few = [cell("h3", 1000, 3), cell("h2", 1000, 3), cell("http/1.1", 1500, 3)];
  const v = verdict(answer(gap(1, 0, 0, 0, false), gap(2, 500, 500, 500, false)), few, plt);
  expect(plain(v.text)).toBe("h3 has the lowest median PLT: 1.00 s (n = 3), equal to h2.");
  expect(v.short).toBe("h3, equal to h2");
});

test("a slower cell with too few loads is said to be untold", () => {
  const v = verdict(answer(gap(1, 100, 60, 140), gap(2, 500, 450, 560, false)), cells, plt);
  expect(v.sure).toBe("clear");
  expect(v.text).toMatch(/ http\/1\.1 has too few valid loads to tell\.$/);
});

test("one cell alone is not the fastest of anything", () => {
  expect(verdict(answer(), cells, plt)).toMatchObject({ short: "only h3", sure: "only" });
});

test("a cell stands where its gap says", () => {
  const a = answer(gap(1, 100, -20, 140));
  expect(standing(a, 0, cells, plt)).toEqual({ text: "lowest", sure: "fastest" });
  expect(standing(a, 1, cells, plt)).toEqual({ text: "+10\u00a0%", sure: "unclear" });
  expect(standing(a, 2, cells, plt)).toBeNull();
});

const pair = (ratio: number, low: number, high: number, interval = true): ClockPair => ({
  real: 0, virtual: 1, lossy: false, ratio, interval, low, high, agrees: Math.abs(ratio - 1) <= 0.01,
});

test.each<[string, ClockPair, string, string]>([
  ["within one per cent", pair(0.995, 0.99, 0.999), "within 1 %", "agrees"],
  ["within one per cent of few loads", pair(0.995, 0.9, 1.1, false), "within 1 %; too few loads", "agrees"],
  ["an interval that leaves 1 out", pair(0.968, 0.96, 0.98), "3.2 % below", "clear"],
  ["an interval around 1", pair(1.2, 0.9, 1.4), "20 % above, not clear", "unclear"],
  ["few loads", pair(1.2, 1.1, 1.4, false), "20 % above; too few loads", "few"],
  ["a side without loads", pair(0, 0, 0, false), "not measured on both", "none"],
])("a pair of clocks with %s", (_, p, text, sure) => {
  const says = clockStanding(p);
  expect([says.text.replaceAll("\u00a0", " "), says.sure]).toEqual([text, sure]);
});

test("a claim stands as its pairs do", () => {
  const claim = (...outcomes: ClaimPair["outcome"][]): Claim => ({
    text: "", test: "", verdict: "",
    pairs: outcomes.map((outcome) => ({ name: "", cell: 0, to: 1, ratio: 1, interval: true, low: 1, high: 1, outcome })),
  });
  expect(claimStanding(claim("held", "held"))).toBe("held");
  expect(claimStanding(claim("refuted"))).toBe("refuted");
  expect(claimStanding(claim("held", "refuted"))).toBe("partly");
  expect(claimStanding(claim("held", "not decided"))).toBe("partly");
  expect(claimStanding(claim("not decided", "not measured"))).toBe("unclear");
});
