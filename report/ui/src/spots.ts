import type { MapSpot } from "./data";
import type { Spot } from "./heatmap";

/** spotsOf returns the ratios of a label's cells to those of another label, by one metric. */
export function spotsOf(spots: MapSpot[], metric: number, label: number, to: number): Spot[] {
  return spots.filter((s) => s.metric === metric && s.label === Math.min(label, to) && s.to === Math.max(label, to)).map((s) => {
    const place = { x: s.at, y: s.against, interval: s.interval, n: s.n };
    return label < to ? { ...place, ratio: s.ratio, low: s.low, high: s.high } : { ...place, ratio: 1 / s.ratio, low: 1 / s.high, high: 1 / s.low };
  });
}
