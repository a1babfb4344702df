import { at, type Answer, type Cell, type Clock, type Data, type Metric, type OverviewMetric, type Section, type Summary } from "./data";
import { el, scrolling } from "./dom";
import { fixed, list, scaled, scaleFor, type Scale } from "./format";
import { standing, verdict } from "./verdict";
import { workloadOf } from "./workload";

export const anchor = (index: number): string => `section-${index + 1}`;

/** placeName names site and network as short as the run allows: a study of one site need not repeat it. */
export function placeName(data: Data, { site, network }: { site: string; network: string }): string {
  const name = networkName(data, network);
  return data.sections.every((s) => s.site === site) ? name : `${site}, ${name}`;
}

/** networkName names a network; for streams, by the properties of the link that the study varies. */
export const networkName = (data: Data, network: string): string => data.networks.find((n) => n.name === network)?.title ?? network;

/** clockName is "real clock" or "virtual clock", or nothing in a run that knows only one. */
export function clockName(data: Data, { clock }: { clock: Clock }): string {
  return data.cells.every((c) => c.clock === clock) ? "" : `${clock} clock`;
}

/** sectionName names a section, or the one that a cell is in. */
export const sectionName = (data: Data, of: Section | Cell): string => [placeName(data, of), of.shared, clockName(data, of)].filter(Boolean).join(", ");

export const answerFor = (section: Section, metric: { name: string }): Answer | undefined => section.answers.find((a) => a.metric === metric.name);

/** interval writes a summary's interval, or its range with fewer than six loads, and n if it differs from the cell's. */
function interval(s: Summary, scale: Scale, valid: number): HTMLElement {
  const [low, high] = [scaled(s.low, scale), scaled(s.high, scale)];
  const text = low === high && !s.interval ? `all round to ${low}` : `${low} to ${high}`;
  const words = s.n === 1 ? "one load" : s.min === s.max ? "all equal" : s.interval || low === high ? text : `range ${text}`;
  return el("span", { class: s.interval ? "interval" : "interval range" }, words, s.n === valid ? null : el("small", {}, `n ${s.n}`));
}

/** answers is the overview as a table: the medians of each place. href gives the address of a section, if there is one. */
export function answers(data: Data, metric: OverviewMetric, href: (section: number) => string | null): HTMLElement {
  const { labels } = data.overview;
  const shown = labels.map((_, l) => l).filter((l) => data.overview.places.some((p) => (p.cells[l] ?? -1) >= 0 && workloadOf(data).hasColumn(at(data.cells, p.cells[l] ?? 0))));
  const medians = data.cells.flatMap((c) => c.summaries[metric.name]?.median ?? []);
  const scale = scaleFor(metric.unit, medians);
  const ends = metric.more ? "highest" : "lowest";
  const oneSite = data.sections.every((s) => s.site === data.sections[0]?.site);
  const rows = data.sections.map((section, i) => {
    const answer = answerFor(section, metric);
    const says = answer ? verdict(answer, data.cells, metric) : null;
    const name = networkName(data, section.network);
    const address = href(i);
    return el("tr", {},
      el("th", { scope: "row" }, address === null ? name : el("a", { href: address }, name), oneSite ? null : el("small", {}, section.site), section.shared === undefined ? null : el("small", {}, section.shared), el("small", {}, clockName(data, section))),
      ...shown.map((label) => {
        const index = data.overview.places[i]?.cells[label] ?? -1;
        return index < 0 ? el("td", { class: "number none" }, "–") : answerCell(data, index, metric, answer, scale);
      }),
      el("td", { class: "verdict " + (says?.sure ?? "") }, says?.short ?? "no valid load"),
    );
  });
  return scrolling(`${metric.title} by network`,
    el("table", { class: "answers" },
      el("caption", {}, el("span", {}, `Median ${metric.title} (${scale.unit}), how far it lies behind the ${ends} on the same ${list(data.same)}, and n, the number of valid loads`)),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Network"), ...shown.map((l) => el("th", { scope: "col", class: "number" }, at(labels, l))), el("th", { scope: "col" }, metric.more ? "Highest" : "Lowest"))),
      el("tbody", {}, ...rows)));
}

function answerCell(data: Data, index: number, metric: OverviewMetric, answer: Answer | undefined, scale: Scale): HTMLElement {
  const s = at(data.cells, index).summaries[metric.name];
  if (s === undefined) return el("td", { class: "number none" }, "–", el("small", {}, "no valid load"));
  const place = answer && standing(answer, index, data.cells, metric);
  const doubt = place?.sure === "unclear" ? ", not clear" : place?.sure === "few" ? ", too few" : "";
  return el("td", { class: "number " + (place?.sure ?? "") },
    el("b", {}, scaled(s.median, scale)),
    el("small", {}, `${place ? place.text + doubt + ", " : ""}n ${s.n}`));
}

/** figures makes a section's table: every metric of every cell. */
export function figures(data: Data, section: Section): HTMLElement {
  const numbers = section.cells.filter((c) => workloadOf(data).hasColumn(at(data.cells, c)));
  const cells = numbers.map((c) => at(data.cells, c));
  const rows = data.metrics.flatMap((metric) => {
    const present = cells.flatMap((c) => c.summaries[metric.name] ?? []);
    if (present.length === 0) return [];
    const scale = scaleFor(metric.unit, present.flatMap((s) => [s.median, s.low, s.high]));
    const unit = scale.unit.toLowerCase() === metric.title.toLowerCase() ? "" : ` (${scale.unit})`;
    const fastest = answerFor(section, metric)?.fastest;
    return [el("tr", {},
      el("th", { scope: "row", title: metric.definition }, metric.title, el("span", { class: "unit" }, unit)),
      ...cells.map((cell, i) => figure(cell, metric, scale, numbers[i] === fastest)))];
  });
  return scrolling(`All metrics on ${sectionName(data, section)}`,
    el("table", { class: "figures" },
      el("caption", {}, el("span", {}, caption(data, section))),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Metric (unit)"), ...cells.map(heading))),
      el("tbody", {}, ...rows)));
}

function caption(data: Data, section: Section): string {
  const few = section.cells.some((c) => Object.values(at(data.cells, c).summaries).some((s) => !s.interval));
  return `${section.site} on ${[networkName(data, section.network), clockName(data, section)].filter(Boolean).join(", ")}: median and 95 % interval of the valid loads; n is in the heading, or in the field where it differs. The best median is bold.`
    + (few ? " With fewer than six values there is no 95 % interval, and the range is shown instead." : "");
}

function heading(cell: Cell): HTMLElement {
  const left = ([["invalid", cell.invalid], ["failed", cell.failed], ["unsupported", cell.unsupported], ["pending", cell.pending]] as const)
    .filter(([name, n]) => name === "invalid" || n > 0)
    .map(([name, n]) => `${fixed(n, 0)} ${name}`);
  return el("th", { scope: "col", class: "number" }, cell.label, el("small", {}, `n ${fixed(cell.valid, 0)}`), el("small", {}, left.join(", ")));
}

function figure(cell: Cell, metric: Metric, scale: Scale, fastest: boolean): HTMLElement {
  const s = cell.summaries[metric.name];
  if (s === undefined) return el("td", { class: "number none" }, "–", el("span", { class: "interval" }));
  return el("td", { class: "number" },
    el(fastest ? "b" : "span", {}, scaled(s.median, scale)),
    interval(s, scale, cell.valid));
}
