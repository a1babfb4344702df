import { describe, expect, test } from "vitest";
import type { Overview, Standing } from "./data";
import { axesOf, nextOf, pairIndex, picturesOf, ratioOf, settle } from "./places";

const standing = (medians: (number | null)[], tied: number[] = [], few = false): Standing => {
  const pairs: Standing["pairs"] = [];
  medians.forEach((x, i) => medians.slice(i + 1).forEach((y) => pairs.push(x === null || y === null || few ? null : [0.9 * (x / y), 1.1 * (x / y)])));
  const known = medians.filter((m) => m !== null);
  return { medians, n: medians.map((m) => (m === null ? 0 : 7)), pairs, best: medians.indexOf(Math.min(...known)), tied, few };
};

/** A grid of two rates by two round-trip times, for two sites. */
const overview: Overview = {
  compared: "protocol",
  labels: ["h1", "h2", "h3"],
  facets: [
    { id: "site", name: "site", label: "Site", values: ["a", "b"], number: false },
    { id: "rate", name: "rate", label: "Rate down (Mbit/s)", values: ["1", "10"], number: true },
    { id: "rtt", name: "RTT", label: "RTT without queues (ms)", values: ["10", "50", "100"], number: true },
  ],
  metrics: [{ name: "onload", title: "onLoad", unit: "ms", more: false }, { name: "goodput", title: "Goodput", unit: "Mbit/s", more: true }],
  places: [0, 1].flatMap((site) => [0, 1].map((rate) => ({ at: [site, rate, 2], cells: [0, 1, 2], standings: [standing([400, 200, 300]), null] }))),
};
const oneFacet: Overview = { ...overview, facets: overview.facets.slice(0, 1), places: overview.places.slice(0, 2).map((p, i) => ({ ...p, at: [i] })) };
const colours = ["red", "green", "blue"];

describe("what is shown first", () => {
  test("two numbers are the axes, the one with more values across", () => expect(settle(overview, {})).toEqual({ metric: "onload", against: "", across: "rtt", down: "rate" }));
  test("with a single facet the labels are the other axis, and ratios are shown", () => expect(settle(oneFacet, {})).toEqual({ metric: "onload", against: "h1", across: "site", down: "compared" }));
  test("an address that asks for the unknown gets the usual", () => expect(settle(overview, { metric: "x", against: "h9", across: "x", down: "rtt" })).toEqual({ metric: "onload", against: "", across: "rate", down: "rtt" }));
  test("the labels are an axis of ratios only", () => {
    expect(settle(overview, { against: "h1", down: "compared" }).down).toBe("compared");
    expect(settle(overview, { against: "", down: "compared" }).down).toBe("rate");
  });
  test("the axes differ", () => expect(settle(overview, { across: "rate", down: "rate" })).toMatchObject({ across: "rate", down: "rtt" }));
  test("numbers come before names", () => expect(axesOf(overview, "h1").map((a) => a.id)).toEqual(["rtt", "rate", "site", "compared"]));
});

describe("pictures", () => {
  test("there is one for each combination of what is not on an axis", () => {
    const names = (over: object): string[] => picturesOf(overview, settle(overview, over), colours).map((p) => p.name);
    expect(names({})).toEqual(["a", "b"]);
    expect(names({ against: "h1" })).toEqual(["h2 to h1, a", "h2 to h1, b", "h3 to h1, a", "h3 to h1, b"]);
    expect(names({ against: "h1", across: "site", down: "compared" })).toEqual(["rate 1 Mbit/s, RTT 100 ms", "rate 10 Mbit/s, RTT 100 ms"]);
    expect(names({ metric: "goodput" })).toEqual([]);
  });
  test("a field names the best label and the next one", () => {
    const spot = picturesOf(overview, settle(overview, {}), colours)[0]?.spots[0];
    expect(spot).toMatchObject({ x: 2, y: 0, place: 0, decided: true, words: ["h2", "h3 +50\u00a0%", "36 to 67 %"] });
    expect(spot?.fill).toContain("green");
    expect(spot?.says).toContain("h1 400 ms, n 7");
  });
  test("what is not decided stands in parentheses, and says why", () => {
    const with1 = (s: Standing): Overview => ({ ...oneFacet, places: [{ at: [0], cells: [0, 1, 2], standings: [s] }] });
    const only = (s: Standing): object | undefined => picturesOf(with1(s), settle(with1(s), { against: "" }), colours)[0]?.spots[0];
    expect(only(standing([400, 200, 205], [2]))).toMatchObject({ decided: false, words: ["(h2)", expect.anything(), expect.anything()], says: expect.stringContaining("not clearly better than h3") });
    expect(only(standing([400, 200, 205], [0, 2], true))).toMatchObject({ decided: false, words: ["(h2)", "h3 +2.5\u00a0%", "n 7"], says: expect.stringContaining("too few loads to tell it from h1 and h3") });
    expect(only(standing([null, 200, null]))).toMatchObject({ decided: false, words: ["only h2"] });
  });
  test("ratios leave the baseline out, and what has no value", () => {
    const labels = (o: Overview): (number | undefined)[] => picturesOf(o, settle(o, { against: "h2" }), colours).flatMap((p) => p.spots.map((s) => s.label));
    expect(labels(oneFacet)).toEqual([0, 0, 2, 2]);
    expect(labels({ ...oneFacet, places: [{ at: [0], cells: [0, 1, 2], standings: [standing([400, 200, null])] }] })).toEqual([0]);
  });
});

test("pairs are numbered as report/overview.go orders them", () => {
  const pairs = [];
  for (let i = 0; i < 4; i++) for (let j = i + 1; j < 4; j++) pairs.push(pairIndex(i, j, 4));
  expect(pairs).toEqual([0, 1, 2, 3, 4, 5]);
});

test("a ratio turns round with its sides", () => {
  const s = standing([400, 200, 300]);
  expect(ratioOf(s, 0, 1)).toEqual({ ratio: 2, low: 1.8, high: 2.2, interval: true, n: 7 });
  expect(ratioOf(s, 1, 0)).toMatchObject({ ratio: 0.5, low: 1 / 2.2, high: 1 / 1.8 });
  expect(ratioOf(standing([400, null]), 0, 1)).toBeNull();
});

test("the next one is the second lowest, or the second highest", () => {
  expect(nextOf(standing([400, 200, 300]), false)).toBe(2);
  expect(nextOf({ ...standing([80, 100, 90]), best: 1 }, true)).toBe(2);
  expect(nextOf(standing([400, null]), false)).toBeUndefined();
});
