import { clockDistances } from "./charts";
import { at, type Cell, type ClockPair, type Clocks, type Data } from "./data";
import { el, scrolling, whenNear } from "./dom";
import { fixed, scaled, scaleFor } from "./format";
import { placeName } from "./tables";
import { clockStanding } from "./verdict";

/** manyPairs is the number of pairs above which the chart would be too tall; the table says the same. */
const manyPairs = 96;

/** clocksView compares the two clocks of a study that used both. */
export function clocksView(data: Data, clocks: Clocks): HTMLElement {
  const pairs = clocks.pairs.map((pair) => ({ pair, name: pairName(data, at(data.cells, pair.real)) }));
  const title = titleOf(data, clocks);
  const chart = el("div", { class: "chart" });
  const few = pairs.length <= manyPairs;
  if (few) whenNear(chart, () => chart.replaceChildren(clockDistances(data, pairs, title, Math.max(300, Math.min(900, chart.clientWidth || 700)))));
  return el("section", { id: "clocks" },
    el("h2", {}, "Two clocks"),
    el("p", { class: "answer" }, clocks.verdict),
    el("p", {}, "These cells were loaded on both clocks, over the same path and with the same seeds of loss and jitter. If the virtual clock's median is lower, the difference is what computing added on the machine that measured. A packet lost here and not there can change a whole load: with loss, look at the intervals rather than at the medians."),
    table(data, clocks, pairs),
    few ? el("figure", {},
      el("figcaption", {}, "How far the median " + title + " on the virtual clock lies from that on the real one; the line is the 95 % interval of the ratio, the band is agreement within 1 %."),
      chart) : null);
}

/** pairName names what a pair shares: all but the clock and the label. */
const pairName = (data: Data, cell: Cell): string => [placeName(data, cell), cell.shared].filter(Boolean).join(", ");

const titleOf = (data: Data, clocks: Clocks): string => data.metrics.find((m) => m.name === clocks.metric)?.title ?? clocks.metric;

function table(data: Data, clocks: Clocks, pairs: { pair: ClockPair; name: string }[]): HTMLElement {
  const places = [...new Set(pairs.map((p) => p.name))];
  return scrolling("Real and virtual clock",
    el("table", { class: "clocks" },
      el("caption", {}, el("span", {}, `Median ${titleOf(data, clocks)} and n, the number of valid loads, on both clocks; the ratio of the medians, virtual to real, and its 95 % interval; median drops, real and virtual`)),
      el("thead", {}, el("tr", {},
        el("th", { scope: "col" }, "Network"), el("th", { scope: "col" }, "Cell"),
        ...["Real (ms)", "Virtual (ms)", "Ratio", "Drops"].map((h) => el("th", { scope: "col", class: "number" }, h)),
        el("th", { scope: "col" }, "Virtual clock"))),
      ...places.map((place) => {
        const of = pairs.filter((p) => p.name === place).map((p) => p.pair);
        return el("tbody", {}, ...of.map((pair, i) => row(data, clocks.metric, pair, i > 0 ? null : el("th", { scope: "rowgroup", rowspan: of.length }, place, pair.lossy ? el("small", {}, "with loss") : null))));
      })));
}

function row(data: Data, metric: string, pair: ClockPair, place: HTMLElement | null): HTMLElement {
  const real = at(data.cells, pair.real);
  const virtual = at(data.cells, pair.virtual);
  const medians = [real, virtual].map((c) => c.summaries[metric]);
  const scale = scaleFor("ms", medians.flatMap((s) => s?.median ?? []));
  const drops = [real, virtual].map((c) => c.summaries["drops"]?.median).map((d) => (d === undefined ? "–" : fixed(d, Number.isInteger(d) ? 0 : 1)));
  const says = clockStanding(pair);
  return el("tr", {},
    place,
    el("th", { scope: "row" }, real.label),
    ...medians.map((s) => (s === undefined
      ? el("td", { class: "number none" }, "–", el("small", {}, "no valid load"))
      : el("td", { class: "number" }, scaled(s.median, scale), el("small", {}, `n ${fixed(s.n, 0)}`)))),
    el("td", { class: "number" }, pair.ratio > 0 ? fixed(pair.ratio, 3) : "–",
      pair.interval ? el("small", {}, `${fixed(pair.low, 3)} to ${fixed(pair.high, 3)}`) : null),
    el("td", { class: "number" }, drops.join(", ")),
    el("td", { class: says.sure }, says.text));
}
