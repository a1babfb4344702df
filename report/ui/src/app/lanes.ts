// The strips above a load's requests: the critical path, and the packets of both directions.

import { svg } from "../dom";
import { counted, duration, fixed } from "../format";
import { heights } from "../critical";
import type { Lane } from "../requests";
import * as tooltip from "../tooltip";
import type { Packets, Paths, Step } from "./api";
import { marksOf, sentBy, type Mark } from "./packets";

/** moments are the steps of all critical paths on the load's time axis, in ms; each page's path counts from its own navigation start. */
export function moments(paths: Paths, pages: { started: number }[]): (Step & { from: number; to: number })[] {
  return paths.paths.flatMap((p, i) => {
    const since = pages[i]?.started ?? 0;
    return p.steps.map((s) => ({ ...s, from: since + s.from / 1e6, to: since + s.to / 1e6 }));
  });
}

/** criticalLane shows on what the time of the critical path was spent, when. */
export function criticalLane(paths: Paths, pages: { started: number }[]): Lane {
  const steps = moments(paths, pages);
  return {
    name: "Critical path",
    note: `Critical path: ${paths.paths.map((p) => p.verdict).join(" ")}`,
    draw: (x) => steps.map((s) => {
      const kind = paths.kinds.indexOf(s.kind);
      const [top, bottom] = heights[kind] ?? [0, 1];
      return svg("rect", {
        x: x(s.from), width: Math.max(0.6, x(s.to) - x(s.from)), y: 100 * top, height: 100 * (bottom - top), style: `fill:var(--k${kind})`,
        onpointermove: (event) => tooltip.say([[s.kind, duration(s.to - s.from)], ["from", `${fixed(s.from, 1)} ms`], ["while", s.phase], ["resource", s.url ?? "onLoad"]], event as PointerEvent),
        onpointerleave: tooltip.hide,
      });
    }),
  };
}

/** stretches is into how many parts the time axis is divided to show what was sent. */
const stretches = 240;

/** packetLanes show what each end sent over time, and the packets that were dropped or sent again. */
export function packetLanes(packets: Packets, end: number): Lane[] {
  const marks = marksOf(packets);
  const both = [true, false].map((up) => ({ up, sent: sentBy(packets.packets, up, end, stretches), marks: marks.filter((m) => m.up === up) }));
  return both.map(({ up, sent, marks }) => {
    const most = Math.max(1, ...sent.map((s) => s.octets));
    const name = up ? "Sent by the client" : "Sent by the server";
    return {
      name,
      note: `${name}: ${fixed(sent.reduce((sum, s) => sum + s.octets, 0) / 1000, 0)} kB; ${counted(marks.filter((m) => m.kind === "dropped").length, "packet")} dropped, ${fixed(marks.filter((m) => m.kind === "again").length, 0)} sent again.`,
      draw: (x) => [
        svg("path", { class: "sent", d: sent.filter((s) => s.octets > 0).map((s) => `M${x(s.from)} 100V${(100 * (1 - s.octets / most)).toFixed(1)}H${x(s.to)}V100Z`).join("") }),
        ...marks.map((m) => markAt(m, x(m.at), packets)),
      ],
    };
  });
}

/** markAt draws a dropped packet over the whole height, one that was sent again over the lower half. */
function markAt(m: Mark, x: number, { connections }: Packets): SVGElement {
  return svg("line", {
    class: m.kind, x1: x, x2: x, y1: m.kind === "dropped" ? 0 : 50, y2: 100,
    onpointermove: (event) => tooltip.say([
      [m.kind === "dropped" ? "dropped" : "sent again", m.kind === "dropped" ? m.why : "its octets were sent before"], ["at", `${fixed(m.at, 2)} ms`], ["size", `${fixed(m.octets, 0)} B`], ["connection", connections[m.connection] ?? ""],
    ], event as PointerEvent),
    onpointerleave: tooltip.hide,
  });
}
