import { at, type Answer, type Behind, type Cell, type Claim, type ClockPair, type OverviewMetric, type Summary } from "./data";
import { behind, list, percent, quantity } from "./format";

/** How sure the order of two cells is. */
export type Sureness = "clear" | "unclear" | "few";

/** sureness says how sure a difference is: if its interval holds zero, chance may explain it. */
export function sureness(b: Behind): Sureness {
  return !b.interval ? "few" : b.low > 0 ? "clear" : "unclear";
}

export interface Verdict {
  short: string; // for a table's cell
  text: string; // a sentence or two
  sure: Sureness | "only";
}

/** Measure is what an answer is about. */
export type Measure = Pick<OverviewMetric, "title" | "unit" | "more">;

/** verdict puts an answer into words: which cell is fastest, by how much, and how sure that is. */
export function verdict(answer: Answer, cells: Cell[], metric: Measure): Verdict {
  const write = (value: number): string => quantity(value, metric.unit);
  const ends = metric.more ? "highest" : "lowest";
  const speed = metric.unit === "ms" || metric.more;
  const [superlative, better, worse] = speed ? ["fastest", "faster", "slower"] : ["lowest", "lower", "higher"];
  // As a share of the best median, unless that is zero, as when nothing stalled.
  const by = (b: Behind, median: number): string => (median > 0 ? percent(b.diff / median) : write(b.diff));
  const amount = (b: Behind, median: number): string => (median > 0 ? `${percent(b.diff / median)} or ${write(b.diff)}` : write(b.diff));
  const range = (b: Behind): string => `${write(b.low)} to ${write(b.high)}`;
  const fastest = at(cells, answer.fastest);
  const best = summary(fastest, answer.metric);
  const name = (b: Behind): string => at(cells, b.cell).label;
  const next = answer.behind[0];
  const lead = `${fastest.label} has the ${ends} median ${metric.title}: ${write(best.median)} (n = ${best.n})`;
  if (next === undefined) {
    return { short: `only ${fastest.label}`, text: `Only ${fastest.label} has valid loads: median ${metric.title} ${write(best.median)} (n = ${best.n}).`, sure: "only" };
  }
  if (sureness(next) === "few" && next.diff === 0) {
    const equal = list(answer.behind.filter((b) => b.diff === 0).map(name));
    return { short: `${fastest.label}, equal to ${equal}`, text: `${lead}, equal to ${equal}.`, sure: "few" };
  }
  if (sureness(next) === "few") {
    const nextSummary = summary(at(cells, next.cell), answer.metric);
    return {
      short: `${fastest.label}? too few loads`,
      text: `${lead}, ${amount(next, best.median)} ahead of ${name(next)} (n = ${nextSummary.n}), but it takes six valid loads on each side to show with 95 % confidence that it is ${better}.`,
      sure: "few",
    };
  }
  const few = answer.behind.filter((b) => sureness(b) === "few").map(name);
  const untold = few.length === 0 ? "" : ` ${list(few)} ${few.length === 1 ? "has" : "have"} too few valid loads to tell.`;
  const ties = answer.behind.filter((b) => sureness(b) === "unclear");
  if (sureness(next) === "clear" && ties.length === 0) {
    return {
      short: `${fastest.label}, ${by(next, best.median)} ahead of ${name(next)}`,
      text: `${fastest.label} is ${superlative}: median ${metric.title} ${write(best.median)} (n = ${best.n}), ${amount(next, best.median)} ahead of ${name(next)} (95 % interval of the difference ${range(next)}).${untold}`,
      sure: "clear",
    };
  }
  const slower = answer.behind.filter((b) => sureness(b) === "clear");
  const after = slower[0] === undefined ? "" : ` ${list(slower.map(name))} ${slower.length === 1 ? "is" : "are"} ${worse}, by ${by(slower[0], best.median)}${slower.length === 1 ? "" : " or more"}.`;
  return {
    short: `${list([fastest.label, ...ties.map(name)])}: no clear difference`,
    text: `${lead}, but it is not clearly ${better} than ${list(ties.map((b) => `${name(b)} (${amount(b, best.median)} behind, 95 % interval ${range(b)})`))}.${after}${untold}`,
    sure: "unclear",
  };
}

/** standing compares a cell with the fastest of its section, for a table. */
export function standing(answer: Answer, cell: number, cells: Cell[], metric: Measure): { text: string; sure: Sureness | "fastest" } | null {
  if (answer.fastest === cell) return { text: metric.more ? "highest" : "lowest", sure: "fastest" };
  const b = answer.behind.find((b) => b.cell === cell);
  if (b === undefined) return null;
  const best = summary(at(cells, answer.fastest), answer.metric).median;
  if (best <= 0) return { text: "+" + quantity(b.diff, metric.unit), sure: sureness(b) };
  return { text: metric.more ? `−${percent(b.diff / best)}` : behind(b.diff / best), sure: sureness(b) };
}

/** clockStanding says whether the clocks of a pair agree or how far the virtual one lies from the real one, and how sure that is. */
export function clockStanding(pair: ClockPair): { text: string; sure: "agrees" | "clear" | "unclear" | "few" | "none" } {
  if (pair.ratio === 0) return { text: "not measured on both", sure: "none" };
  if (pair.agrees) return { text: pair.interval ? "within 1\u00a0%" : "within 1\u00a0%; too few loads", sure: "agrees" };
  const far = `${percent(Math.abs(pair.ratio - 1))} ${pair.ratio < 1 ? "below" : "above"}`;
  if (!pair.interval) return { text: `${far}; too few loads`, sure: "few" };
  return pair.low > 1 || pair.high < 1 ? { text: far, sure: "clear" } : { text: `${far}, not clear`, sure: "unclear" };
}

/** claimStanding sums up the outcomes of a claim over all its pairs. */
export function claimStanding(claim: Claim): "held" | "refuted" | "partly" | "unclear" {
  const all = (outcome: string): boolean => claim.pairs.every((p) => p.outcome === outcome);
  if (all("held")) return "held";
  if (all("refuted")) return "refuted";
  return claim.pairs.some((p) => p.outcome === "held" || p.outcome === "refuted") ? "partly" : "unclear";
}

function summary(cell: Cell, metric: string): Summary {
  const s = cell.summaries[metric];
  if (s === undefined) throw new RangeError(`the report's data ranks ${cell.label} by ${metric} without a value`);
  return s;
}
