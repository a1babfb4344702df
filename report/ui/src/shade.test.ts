import { expect, test } from "vitest";
import { luminance, shade, standing } from "./shade";

test("colours diverge around 1, equally for equal factors", () => {
  expect(shade(1).fill).toBe("rgb(247 247 247)");
  expect(shade(0.25).fill).toBe("rgb(0 84 147)");
  expect(shade(4).fill).toBe("rgb(196 78 0)");
  expect(shade(0.01)).toEqual(shade(0.25));
  expect(shade(2).ink).toBe(shade(0.5).ink);
});

test("letters can be read on every colour", () => {
  for (let ratio = 0.1; ratio < 10; ratio *= 1.05) {
    const { fill, ink } = shade(ratio);
    const [paper, letters] = [luminance((fill.match(/\d+/g) ?? []).map(Number)), ink === "white" ? 1 : 0];
    const contrast = (Math.max(paper, letters) + 0.05) / (Math.min(paper, letters) + 0.05);
    expect(contrast, `ratio ${ratio.toFixed(2)}`).toBeGreaterThan(4.5);
  }
});

test("a ratio whose interval holds 1 is not decided", () => {
  const spot = (low: number, high: number, interval = true): Parameters<typeof standing>[0] => ({ low, high, interval });
  expect([spot(0.5, 0.9), spot(1.1, 2), spot(0.9, 1.1), spot(0.5, 1), spot(0.5, 0.9, false)].map(standing)).toEqual(["below", "above", "undecided", "undecided", "undecided"]);
});
