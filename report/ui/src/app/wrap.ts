// What the report's drawings take, made of what the server tells of one cell or of single loads.

import type { Cell, Data, Load, Metric, Section } from "../data";

/** Parts are what a drawing may need. */
export interface Parts {
  cells: Cell[];
  loads: Load[];
  metrics: Metric[];
  words: string[];
  kinds?: string[] | undefined;
  reasons?: string[] | undefined;
}

/** dataOf makes a report's data of parts. */
export function dataOf(parts: Parts): Data {
  return {
    study: "", studyText: "", seed: "", run: 0, started: "", version: "",
    counts: { planned: 0, valid: 0, invalid: 0, failed: 0, unsupported: 0, pending: 0, without: 0, wrongProtocol: 0 },
    summary: [], overview: { compared: "protocol", labels: [], facets: [], metrics: [], places: [] },
    checks: [], environment: [], networks: [], sections: [sectionOf(parts.cells)],
    compared: "protocol", same: [], mediansOnly: false,
    cells: parts.cells, loads: parts.loads, metrics: parts.metrics, words: parts.words,
    ...(parts.kinds === undefined ? {} : { kinds: parts.kinds }),
    ...(parts.reasons === undefined ? {} : { reasons: parts.reasons }),
  };
}

/** sectionOf holds all of the cells. */
export function sectionOf(cells: Cell[]): Section {
  const [first] = cells;
  return { site: first?.site ?? "", network: first?.network ?? "", clock: first?.clock ?? "real", cells: cells.map((_, i) => i), answers: [] };
}

/** cellOf is a cell that holds one load alone: the one with this number in the data. */
export function cellOf(label: string, load: number): Cell {
  return { site: "", network: "", protocol: label, loader: "", clock: "real", strategy: "", label, valid: 1, invalid: 0, failed: 0, unsupported: 0, pending: 0, summaries: {}, medianLoad: load, loads: [load] };
}
