import { el, scrolling } from "../dom";
import { counted, fixed, list } from "../format";
import type { Packets } from "./api";
import { marksOf, perConnection } from "./packets";

/** mostRows is how many rows a table of packets or connections has. */
const mostRows = 200;

/** packetTable says how many packets each connection had, and lists those that were dropped or sent again. */
export function packetTable(load: string, all: Packets): HTMLElement {
  const marks = marksOf(all);
  const connections = perConnection(all);
  const again = marks.filter((m) => m.kind === "again").length;
  const reasons = [...new Set(marks.filter((m) => m.kind === "dropped").map((m) => m.why))].map((why) => `${fixed(marks.filter((m) => m.kind === "dropped" && m.why === why).length, 0)} ${why}`);
  return el("div", {},
    el("p", {}, `${counted(all.packets.length, "packet")} over ${counted(connections.length, "connection")}. Dropped by the path: ${reasons.length === 0 ? "none" : list(reasons)}. Segments of TCP sent again: ${fixed(again, 0)}.`
      + (all.more > 0 ? ` ${fixed(all.more, 0)} more packets are left out here; the capture has them.` : "")),
    el("details", {}, el("summary", {}, "By connection"), scrolling(`Connections of load ${load}`, el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Connection"), ...["Packets", "Octets (kB)", "Dropped", "Sent again"].map((h) => el("th", { scope: "col", class: "number" }, h)))),
      el("tbody", {}, ...connections.slice(0, mostRows).map((c) => el("tr", {}, el("th", { scope: "row" }, c.name), ...[fixed(c.packets, 0), fixed(c.octets / 1000, 1), fixed(c.dropped, 0), fixed(c.again, 0)].map((v) => el("td", { class: "number" }, v)))))))),
    marks.length === 0 ? null : el("details", {}, el("summary", {}, "Dropped and repeated packets, one by one"), scrolling(`Dropped and repeated packets of load ${load}`, el("table", {},
      el("caption", {}, el("span", {}, `When each was sent, since navigation start${marks.length > mostRows ? `; the first ${mostRows} of ${fixed(marks.length, 0)}` : ""}`)),
      el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "number" }, "At (ms)"), ...["From", "What", "Connection"].map((h) => el("th", { scope: "col" }, h)), el("th", { scope: "col", class: "number" }, "Size (B)"))),
      el("tbody", {}, ...marks.slice(0, mostRows).map((m) => el("tr", {}, el("td", { class: "number" }, fixed(m.at, 3)), el("td", {}, m.up ? "client" : "server"), el("td", {}, m.kind === "dropped" ? `dropped: ${m.why}` : "sent again"),
        el("td", {}, all.connections[m.connection] ?? ""), el("td", { class: "number" }, fixed(m.octets, 0)))))))),
    el("p", { class: "screen" }, el("a", { href: `/api/loads/${load}/packets.csv`, download: `${load}-packets.csv` }, "All packets as CSV")));
}
