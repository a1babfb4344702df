// What the report's drawings take, made of what the server tells of single loads.

import { at, type Cell, type Data, type Load } from "../data";

/** withCells is data with other cells, which all are of its only section. */
export function withCells<D extends Data>(data: D, cells: Cell[], loads: Load[] = data.loads): D {
  return { ...data, cells, loads, sections: [{ ...at(data.sections, 0), cells: cells.map((_, i) => i) }] };
}
