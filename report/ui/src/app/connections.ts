import type { Cell, Flow } from "../data";
import { el } from "../dom";
import { flows } from "../flow";
import { counted, fixed } from "../format";
import type { Connections, LoadPage } from "./api";
import { cellOf, dataOf, sectionOf } from "./wrap";

/** mostTransfers is how many transfers the drawings have: those with the most octets. */
const mostTransfers = 24;

/** connectionViews draws what held the senders of a load's connections, their windows and their frames. */
export function connectionViews(page: LoadPage, all: Connections): HTMLElement[] {
  const transfers = all.connections
    .flatMap((c) => c.transfers.map((t) => ({ c, t })))
    .sort((a, b) => b.t.octets - a.t.octets);
  const shown = transfers.slice(0, mostTransfers);
  const cells = shown.map(({ c, t }, i): Cell => ({
    ...cellOf(transfers.length === 1 ? page.label : `${i + 1}: ${c.protocol || c.name}, ${t.sender}`, 0),
    flow: { load: 0, connection: c.name, connections: all.connections.length, ...(c.unseen === undefined || c.unseen.length === 0 ? {} : { unseen: c.unseen }), sender: t.sender, octets: t.octets, sums: t.sums, held: t.held, points: t.points, events: c.events, more: c.more } satisfies Flow,
  }));
  const unseen = all.connections.filter((c) => c.transfers.length === 0 && (c.unseen ?? []).length > 0);
  const drawn = cells.length === 0 ? null : flows(dataOf({ cells, loads: [page.load], metrics: page.metrics, words: page.words, reasons: all.reasons }), sectionOf(cells), "Each bar is a transfer of DATA over one connection in one direction, from when its first octet left until the last had arrived.");
  return [
    el("p", { class: "facts" }, `${counted(all.connections.length, "connection")}, ${counted(transfers.length, "transfer")} of DATA`
      + (transfers.length > shown.length ? `; the ${fixed(shown.length, 0)} largest are drawn` : "") + "."),
    ...unseen.map((c) => el("p", { class: "failure" }, `${c.name}: ${(c.unseen ?? []).join("; ")}.`)),
    ...(drawn === null ? [] : [drawn]),
  ];
}
