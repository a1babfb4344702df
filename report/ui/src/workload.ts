import type { Cell, Data, Link, Streams } from "./data";
import { list } from "./format";

/** A Workload says how the page words and arranges loads of one kind. */
export interface Workload {
  /** measured says what was loaded, over what and by what, to stand before the number of cells. */
  measured: () => string;
  over: "protocol" | "transport";
  times: string;
  /** hasColumn says whether a cell has a column in the table of answers. */
  hasColumn: (cell: Cell) => boolean;
  /** folded: all sections but the first, and the networks, are folded. */
  foldedSections: boolean;
  foldedNetworks: boolean;
  /** detail is what a section shows of single loads. */
  detail: "waterfalls" | "timelines";
}

/** manyStreams is the number of sections above which all sections of streams but the first are folded: most readers only want the series. */
const manyStreams = 4;

/** workloadOf gives the workload of the report's loads. */
export const workloadOf = (data: Data): Workload => {
  if (data.streams !== undefined) return streams(data, data.streams);
  if (data.crowds !== undefined) return crowds(data);
  return data.uploads === true ? uploads(data) : pages(data);
};

const pages = (data: Data): Workload => ({
  measured: () => pagesMeasured(data),
  over: "protocol",
  times: "page times",
  hasColumn: () => true,
  foldedSections: false,
  foldedNetworks: false,
  detail: "waterfalls",
});

const uploads = (data: Data): Workload => ({
  ...pages(data),
  measured: () => pagesMeasured(data, "uploaded"),
  times: "upload times",
});

/** crowds have no packets and no requests to show, and some servers cannot do what a cell asks. */
const crowds = (data: Data): Workload => ({
  measured: () => `${list(distinct(data, (c) => c.site))} clients, ${list(distinct(data, (c) => c.loader))}, over ${list(distinct(data, (c) => c.protocol))}`
    + (data.servers === undefined ? "" : `, of the ${data.servers.length === 1 ? "server" : "servers"} ${list(data.servers.map((s) => s.name))}`),
  over: "protocol",
  times: "these times",
  hasColumn: (cell) => cell.unsupported === 0 || cell.valid + cell.invalid + cell.failed + cell.pending > 0,
  foldedSections: false,
  foldedNetworks: true,
  detail: "timelines",
});

/** streams often differ in one number of their network, and some transports cannot do what some cells ask. */
const streams = (data: Data, own: Streams): Workload => ({
  measured: () => streamsMeasured(data, own),
  over: "transport",
  times: "these times",
  hasColumn: (cell) => cell.unsupported === 0 || cell.valid + cell.invalid + cell.failed + cell.pending > 0,
  foldedSections: data.sections.length > manyStreams,
  foldedNetworks: true,
  detail: "timelines",
});

const distinct = (data: Data, of: (c: Cell) => string): string[] => [...new Set(data.cells.map(of))];

function pagesMeasured(data: Data, done = "loaded"): string {
  const networks = distinct(data, (c) => c.network);
  return `${list(distinct(data, (c) => c.site))} ${done} over ${list(distinct(data, (c) => c.protocol))}`
    + ` on ${networks.length > 6 ? `${networks.length} networks` : list(networks)}`
    + ` with ${list(distinct(data, (c) => c.loader))}`
    + (data.visits === undefined ? "" : `, in ${list(data.visits.map((v) => v.name))} visits`)
    + (data.strategies === undefined ? "" : `, by the ${data.strategies.length === 1 ? "strategy" : "strategies"} ${list(data.strategies.map((s) => s.name))}`)
    + (data.servers === undefined ? "" : `, from the ${data.servers.length === 1 ? "server" : "servers"} ${list(data.servers.map((s) => s.name))}`);
}

function streamsMeasured(data: Data, own: Streams): string {
  const values = (of: (link: Link) => number): string[] => [...new Set(data.cells.flatMap((c) => (c.link === undefined ? [] : [of(c.link)])))].sort((a, b) => a - b).map((v) => String(Number(v.toFixed(6))));
  const losses = values((l) => 100 * l.loss);
  const moves = values((l) => l.reconnections);
  return `${list(own.media.map((m) => m.name))} over ${list(own.transports.map((t) => t.name))}`
    + ` to the ${own.players.length === 1 ? "player" : "players"} ${list(distinct(data, (c) => c.loader))}`
    + `, with link delays of ${list(values((l) => l.delay))} ms on average`
    + (losses.join() === "0" ? "" : `, losses of ${list(losses)} %`)
    + (moves.join() === "0" ? "" : `, ${list(moves)} ${moves.join() === "1" ? "reconnection" : "reconnections"}`)
    + (data.strategies === undefined ? "" : `, and at these the ${data.strategies.length === 1 ? "strategy" : "strategies"} ${list(data.strategies.map((s) => s.name))}`);
}
