import { at, type Cell } from "../data";
import { el } from "../dom";
import { flows } from "../flow";
import { counted, fixed } from "../format";
import type { Connections, LoadPage } from "./api";
import { withCells } from "./wrap";

/** mostTransfers is how many transfers the drawings have: those with the most octets. */
const mostTransfers = 24;

/** connectionViews draws what held the senders of a load's connections, their windows and their frames. */
export function connectionViews(page: LoadPage, all: Connections): HTMLElement[] {
  if (all.connections.length === 0) return [el("p", { class: "facts" }, "No connection has packets of both ends.")];
  const cell = at(page.cells, 0);
  const transfers = all.connections.flatMap((c) => c.flows.map((f) => ({ c, f }))).sort((a, b) => b.f.octets - a.f.octets);
  const shown = transfers.slice(0, mostTransfers);
  const cells = shown.map(({ c, f }, i): Cell => ({
    ...cell, label: transfers.length === 1 ? cell.label : `${i + 1}: ${c.protocol ?? ""} ${f.sender}`,
    flow: { ...f, load: 0, events: c.events, more: c.more },
  }));
  const unseen = all.connections.filter((c) => c.flows.length === 0 && (c.unseen ?? []).length > 0);
  const data = withCells({ ...page, reasons: all.reasons }, cells);
  const drawn = cells.length === 0 ? null : flows(data, at(data.sections, 0), "Each bar is a transfer of DATA over one connection in one direction, from when its first octet left until the last had arrived.");
  return [
    el("p", { class: "facts" }, `${counted(all.connections.length, "connection")}, ${counted(transfers.length, "transfer")} of DATA`
      + (transfers.length > shown.length ? `; the ${fixed(shown.length, 0)} largest are drawn` : "") + "."),
    ...unseen.map((c) => el("p", { class: "failure" }, `${c.name}: ${(c.unseen ?? []).join("; ")}.`)),
    ...(drawn === null ? [] : [drawn]),
  ];
}
