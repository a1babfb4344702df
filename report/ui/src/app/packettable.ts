import { el, scrolling } from "../dom";
import { fixed, list } from "../format";
import type { Traffic } from "./api";
import { marksOf, tally } from "./packets";

/** mostRows is how many rows a table of packets has. */
const mostRows = 200;

/** packetTable says how many packets a load had, and lists those that were dropped or sent again. */
export function packetTable(load: string, traffic: Traffic): HTMLElement[] {
  const marks = marksOf(traffic);
  const dropped = marks.filter((m) => m.kind === "dropped");
  const reasons = [...new Set(dropped.map((m) => m.why))].map((why) => `${fixed(dropped.filter((m) => m.why === why).length, 0)} ${why}`);
  const numbers = (...all: number[]): HTMLElement[] => all.map((n) => el("td", { class: "number" }, fixed(n, 0)));
  return [
    el("p", {}, `${fixed(traffic.total[0], 0)} packets arrived from the client, ${fixed(traffic.total[1], 0)} from the server. Dropped by the path: ${reasons.length === 0 ? "none" : list(reasons)}. Segments of TCP sent again: ${fixed(marks.length - dropped.length, 0)}.`
      + (traffic.more > 0 ? ` ${fixed(traffic.more, 0)} more are left out here; the capture has them.` : "")),
    ...(marks.length === 0 ? [] : [el("details", {}, el("summary", {}, "Dropped and repeated packets"),
      scrolling(`Dropped and repeated packets of load ${load} by connection`, el("table", {},
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Connection"), ...["Dropped", "Sent again"].map((h) => el("th", { scope: "col", class: "number" }, h)))),
        el("tbody", {}, ...tally(marks).slice(0, mostRows).map((c) => el("tr", {}, el("th", { scope: "row" }, c.connection), ...numbers(c.dropped, c.again)))))),
      scrolling(`Dropped and repeated packets of load ${load}, one by one`, el("table", {},
        el("caption", {}, el("span", {}, `When each was sent, since navigation start${marks.length > mostRows ? `; the first ${mostRows} of ${fixed(marks.length, 0)}` : ""}`)),
        el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "number" }, "At (ms)"), ...["From", "What", "Connection"].map((h) => el("th", { scope: "col" }, h)), el("th", { scope: "col", class: "number" }, "Size (B)"))),
        el("tbody", {}, ...marks.slice(0, mostRows).map((m) => el("tr", {}, el("td", { class: "number" }, fixed(m.at, 3)), el("td", {}, m.up ? "client" : "server"), el("td", {}, m.kind === "dropped" ? `dropped: ${m.why}` : "sent again"),
          el("td", {}, m.connection), ...numbers(m.octets)))))))]),
  ];
}
