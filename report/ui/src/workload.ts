import type { Cell, Data } from "./data";

/** A Workload says how the page words and arranges loads of one kind. */
export interface Workload {
  over: "protocol" | "transport";
  times: string;
  /** hasColumn says whether a cell has a column in the table of answers. */
  hasColumn: (cell: Cell) => boolean;
  foldedNetworks: boolean;
  /** detail is what a section shows of single loads. */
  detail: "waterfalls" | "timelines";
}

/** workloadOf gives the workload of the report's loads. */
export const workloadOf = (data: Data): Workload => {
  if (data.streams !== undefined) return streams;
  if (data.crowds !== undefined) return crowds;
  return data.uploads === true ? uploads : pages;
};

const pages: Workload = {
  over: "protocol",
  times: "page times",
  hasColumn: () => true,
  foldedNetworks: false,
  detail: "waterfalls",
};

const uploads: Workload = {
  ...pages,
  times: "upload times",
};

/** crowds have no packets and no requests to show, and some servers cannot do what a cell asks. */
const crowds: Workload = {
  over: "protocol",
  times: "these times",
  hasColumn: (cell) => cell.unsupported === 0 || cell.valid + cell.invalid + cell.failed + cell.pending > 0,
  foldedNetworks: true,
  detail: "timelines",
};

/** streams often differ in one number of their network, and some transports cannot do what some cells ask. */
const streams: Workload = {
  over: "transport",
  times: "these times",
  hasColumn: (cell) => cell.unsupported === 0 || cell.valid + cell.invalid + cell.failed + cell.pending > 0,
  foldedNetworks: true,
  detail: "timelines",
};
