// The report's data as Go writes it (report/data.go): the two change together.

export interface Data {
  study: string;
  studyText: string;
  seed: string;
  run: number;
  started: string;
  finished?: string;
  version: string;
  summary: string[]; // paragraphs
  counts: {
    planned: number;
    valid: number;
    invalid: number;
    failed: number;
    unsupported: number;
    pending: number;
    without: number;
    wrongProtocol: number;
  };
  checks: { rule: number; title: string; short: string; broken: number }[];
  gaps?: string[];
  quick?: boolean;
  environment: Fact[];
  metrics: Metric[];
  overview: Overview;
  networks: Network[];
  cells: Cell[];
  sections: Section[];
  loads: Load[];
  clocks?: Clocks;
  clockNote?: string;
  printed?: Printed[];
  claims?: Claim[];
  streams?: Streams;
  uploads?: boolean;
  series?: Series[];
  crowds?: { activities: Fact[] };
  compared: "protocol" | "strategy" | "server" | "transport" | "transport and strategy";
  same: string[];
  visits?: Fact[];
  strategies?: Fact[];
  servers?: Fact[];
  kinds?: string[];
  reasons?: string[];
  words: string[];
  mediansOnly: boolean;
  omitted?: number; // median loads without a waterfall, since there was no room
  dropped?: string;
}

export interface Fact {
  name: string;
  value: string;
}

export interface Metric {
  name: string;
  title: string;
  unit: string;
  definition: string;
  ranked: boolean;
}

/** What only a report of streams has. */
export interface Streams {
  media: Fact[];
  transports: Fact[];
  players: Fact[];
}

/** An axis of a chart. */
export interface Scale {
  name: string; // in a sentence
  label: string;
  ticks: { value: number; word: string }[];
  names?: boolean; // ticks are names side by side
}

/** The part of an axis that is shown; ends that are missing follow from the data. */
export interface Cut {
  from?: number;
  to?: number;
  log?: boolean;
}

/** A picture of chosen cells by itself, outside of a report (report/figure.go). */
export interface Figure {
  title: string;
  unit: string;
  along: Scale;
  against?: Scale; // of a heat map
  lines: string[];
  panels: { name: string; points: FigurePoint[] }[];
  x: Cut;
  y: Cut;
}

/** One cell, or the ratio of two. */
export interface FigurePoint {
  line: number;
  at: number;
  against: number;
  value: number;
  low: number;
  high: number;
  interval: boolean;
  n: number;
  printed?: number;
}

/** How cells, or the loads of a session, differ along one number. */
export interface Series extends Scale {
  axis: string;
  metrics: string[];
  panels: Panel[];
}

/** Which of the compared cells is best where: at each place, by each metric. */
export interface Overview {
  compared: string; // in a sentence
  labels: string[]; // of the cells that are compared
  facets: Facet[];
  metrics: OverviewMetric[]; // the most wanted one first
  places: Place[]; // one for each section
}

export interface OverviewMetric {
  name: string;
  title: string;
  unit: string;
  more: boolean; // more is better
}

/** Something by which places differ. */
export interface Facet {
  id: string;
  name: string; // in a sentence
  label: string; // of an axis
  values: string[];
  number: boolean;
}

/** Cells that differ in nothing but what is compared. */
export interface Place {
  at: number[]; // by facet: the index of its value
  cells: number[]; // by label; -1 for none
  standings: (Standing | null)[]; // by metric
}

/** The cells of a place, compared by one metric. */
export interface Standing {
  medians: (number | null)[]; // by label
  n: number[];
  pairs: ([low: number, high: number] | null)[]; // 95 % intervals of the ratios of medians, of label 0 to 1, 0 to 2 ... 1 to 2 ...; null without one
  best: number; // label
  tied: number[]; // labels that were not shown to be behind it
  few: boolean; // some of these for lack of loads
}

export interface Panel {
  name: string;
  lines: { label: string; points: LinePoint[] }[];
}

/** A cell on a line, or a load of a session; the points of a line are in the order of their values on the axis. */
export interface LinePoint {
  at: number;
  cell: number; // the cell that has its loads
  summaries: Record<string, Summary>;
  printed?: Record<string, number>;
}

export interface Link {
  delay: number; // ms, average, one-way
  loss: number; // 0 to 1
  reconnections: number;
}

export interface Network {
  name: string;
  title?: string;
  source: string;
  note: string;
  facts: Fact[];
}

export interface Cell {
  site: string;
  network: string;
  protocol: string;
  loader: string;
  clock: Clock;
  visit?: string; // none for a stream
  strategy: string;
  server?: string; // none for a stream
  link?: Link;
  shared?: string;
  label: string;
  valid: number;
  invalid: number;
  failed: number;
  unsupported: number;
  pending: number;
  summaries: Record<string, Summary>;
  medianLoad: number;
  loads: number[];
  critical?: Critical;
  flow?: Flow;
}

/** What decided one load's onLoad: ns by kind, in the order of Data.kinds. */
export interface Critical {
  load: number;
  onLoad: number;
  kinds: number[];
  verdict: string;
}

/** The connection of a load on which most DATA was sent; without DATA, held is empty and unseen says why. Moments are ms since navigation start, in arrays microseconds. */
export interface Flow {
  load: number;
  connection: string;
  connections: number;
  unseen?: string[];
  sender: string;
  octets: number;
  sums: number[]; // ns by reason, in the order of Data.reasons
  held: [from: number, to: number, reason: number][];
  points: [at: number, ...values: (number | null)[]][]; // octets: left of the stream's and the session's window, receive window, congestion window, flight
  events: FlowEvent[];
  more: number;
}

/** A line of a sequence chart. A moment that is not known is -1. */
export interface FlowEvent {
  from: "client" | "server";
  sent: number;
  received: number;
  stream?: number;
  text: string;
  left?: number;
  session?: number;
}

export interface Summary {
  n: number;
  median: number;
  interval: boolean;
  low: number;
  high: number;
  min: number;
  max: number;
  cv: number;
}

export interface Section {
  site: string;
  network: string;
  clock: Clock;
  shared?: string;
  cells: number[];
  answers: Answer[];
}

export interface Answer {
  metric: string;
  fastest: number;
  behind: Behind[];
}

export interface Behind {
  cell: number;
  diff: number;
  interval: boolean;
  low: number;
  high: number;
}

export type Clock = "real" | "virtual" | "live";

export interface Clocks {
  metric: string;
  pairs: ClockPair[];
  verdict: string;
}

export interface ClockPair {
  real: number;
  virtual: number;
  lossy: boolean;
  ratio: number;
  interval: boolean;
  low: number;
  high: number;
  agrees: boolean;
}

/** A table that a paper printed, beside what was measured. */
export interface Printed {
  source: string;
  statistic: string;
  metric: string;
  unit: string;
  scale: number; // how many of the metric's unit the table's is
  rows: string[];
  columns: string[];
  figures: { row: number; column: number; printed: string; value: number; ratio: number; here: { n: number; value: number; low: number; high: number; interval: boolean } }[];
}

export interface Claim {
  text: string;
  test: string;
  per?: string; // of a claim of growth: follows the figures of its pairs
  pairs: ClaimPair[];
  verdict: string;
}

export interface ClaimPair {
  name: string;
  ratio: number;
  interval: boolean;
  low: number;
  high: number;
  outcome: "held" | "refuted" | "not decided" | "not measured";
  steps?: string; // of a claim of growth: at how many steps it rises and falls
}

export interface Load {
  id: string;
  cell: number;
  repeat: number;
  attempt: number;
  validity: "valid" | "invalid" | "failed" | "unsupported";
  reason?: string;
  values: (number | null)[];
  waterfall?: Waterfall;
  timeline?: Timeline;
}

/** One stream. Moments are ms since the viewing began. */
export interface Timeline {
  duration: number;
  failure?: string;
  buffer?: Point[]; // corners: ms, s
  spans?: Span[];
  seeks?: { at: number; segment: number }[];
  goodput: number[]; // Mbit/s, in stretches of step; the last one ends with the stream
  step: number; // ms
  delay?: Point[]; // ms, ms: from then on
  handovers?: Handover[];
}

export type Point = [at: number, value: number];

/** A time during which the viewer saw the same. */
export interface Span {
  from: number;
  to: number;
  state: "starting" | "playing" | "stalled" | "seeking" | "ended";
  shown?: "hd" | "fhd" | "qhd";
}

export interface Handover {
  at: number;
  access: string;
  ready?: number;
  recovered?: number;
}

export interface Waterfall {
  dcl: number;
  onLoad: number;
  requests: number[][] | null;
}

/** The phases of a request, in the order they happen. */
export const phases = ["blocked", "dns", "connect", "ssl", "send", "wait", "receive"] as const;
export type Phase = (typeof phases)[number];

/** One request of a waterfall, unpacked. Times are ms since navigation start or ms long. */
export interface Request {
  start: number;
  durations: number[]; // in the order of phases
  status: number;
  bytes: number; // as they came, -1 unknown
  url: string;
  kind: string;
  priority: string;
  protocol: string;
  connection: string;
  address: string;
  initiator: string;
  error: string;
}

/** unpack reads the rows of a waterfall; the order is that of request.MarshalJSON in report/waterfall.go. */
export function unpack(waterfall: Waterfall, words: string[]): Request[] {
  return (waterfall.requests ?? []).map((row) => {
    const [start = 0, ...rest] = row;
    const word = (i: number): string => words[rest[i] ?? 0] ?? "";
    return {
      start: start / 100,
      durations: rest.slice(0, phases.length).map((t) => t / 100),
      status: rest[7] ?? 0,
      bytes: rest[8] ?? -1,
      url: word(9),
      kind: word(10),
      priority: word(11),
      protocol: word(12),
      connection: word(13),
      address: word(14),
      initiator: word(15),
      error: word(16),
    };
  });
}

/** readData reads the text of a report's data, in which summaries are packed. */
export function readData(text: string): Data | { figure: Figure } | null {
  const data = JSON.parse(text) as Data | { figure: Figure } | null;
  return data === null || "figure" in data ? data : withSummaries(data);
}

/** withSummaries unpacks the summaries of a report's data as Go writes it. */
export function withSummaries<D extends Data>(data: D): D {
  for (const cell of data.cells) cell.summaries = unpackSummaries(cell.summaries);
  for (const point of (data.series ?? []).flatMap((s) => s.panels).flatMap((p) => p.lines).flatMap((l) => l.points)) point.summaries = unpackSummaries(point.summaries);
  return data;
}

/** A packed summary has its fields in order, and only the first three if all values are equal (Summary.MarshalJSON in report/data.go). */
type Packed = [n: number, interval: boolean, median: number, low?: number, high?: number, min?: number, max?: number, cv?: number];

function unpackSummaries(packed: Record<string, Summary>): Record<string, Summary> {
  const entries = Object.entries(packed as unknown as Record<string, Packed>);
  return Object.fromEntries(entries.map(([name, [n, interval, median, low = median, high = median, min = median, max = median, cv = 0]]) => [name, { n, interval, median, low, high, min, max, cv }]));
}

/** at returns the element that an index in the data refers to. */
export function at<T>(list: readonly T[], index: number): T {
  const element = list[index];
  if (element === undefined) throw new RangeError(`the report's data refers to element ${index} of ${list.length}`);
  return element;
}

/** endOf returns when the last byte of a request had arrived, ms since navigation start. */
export const endOf = (r: Request): number => r.durations.reduce((sum, d) => sum + d, r.start);
