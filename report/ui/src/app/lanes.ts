// The strips above a load's requests: the critical path, and the packets of both directions.

import { heights } from "../critical";
import { svg } from "../dom";
import { counted, duration, fixed } from "../format";
import type { Lane } from "../requests";
import * as tooltip from "../tooltip";
import type { LoadPage, Traffic } from "./api";
import { marksOf, type Mark } from "./packets";

/** Step is a part of a critical path, in ms on the load's time axis. */
export interface Step {
  from: number;
  to: number;
  kind: number;
  phase: string;
  url: string;
}

/** stepsOf are the steps of the critical paths of all pages; each page's path counts from its own navigation start. */
export function stepsOf({ path, words, load: { pages } }: Pick<LoadPage, "path" | "words" | "load">): Step[] {
  return (path ?? []).flatMap((p, i) => {
    const since = pages?.[i]?.started ?? 0;
    return p.steps.map(([from, to, kind, phase, url]) => ({ from: since + from / 1000, to: since + to / 1000, kind, phase: words[phase] ?? "", url: words[url] ?? "" }));
  });
}

/** criticalLane shows on what the time of the critical path was spent, when. */
export function criticalLane(page: LoadPage): Lane {
  return {
    name: "Critical path",
    note: `Critical path: ${(page.path ?? []).map((p) => p.verdict).join(" ")}`,
    draw: (x) => stepsOf(page).map((s) => {
      const [top, bottom] = heights[s.kind] ?? [0, 1];
      return svg("rect", {
        x: x(s.from), width: Math.max(0.6, x(s.to) - x(s.from)), y: 100 * top, height: 100 * (bottom - top), style: `fill:var(--k${s.kind})`,
        onpointermove: (event) => tooltip.say([[page.kinds?.[s.kind] ?? "", duration(s.to - s.from)], ["from", `${fixed(s.from, 1)} ms`], ["while", s.phase], ["resource", s.url || "onLoad"]], event as PointerEvent),
        onpointerleave: tooltip.hide,
      });
    }),
  };
}

/** packetLanes show what arrived from each end over time, and the packets that were dropped or sent again. */
export function packetLanes(traffic: Traffic): Lane[] {
  const marks = marksOf(traffic);
  return ([["From the client", true, traffic.rate.up], ["From the server", false, traffic.rate.down]] as const).map(([name, up, rate]) => {
    const most = Math.max(1, ...rate);
    const own = marks.filter((m) => m.up === up);
    const moment = (i: number): number => traffic.from + i * traffic.rate.step;
    return {
      name,
      note: `${name}: ${fixed(rate.reduce((sum, v) => sum + v, 0) / 1000, 0)} kB; ${counted(own.filter((m) => m.kind === "dropped").length, "packet")} dropped, ${fixed(own.filter((m) => m.kind === "again").length, 0)} sent again.`,
      draw: (x) => [
        svg("path", { class: "sent", d: rate.map((v, i) => (v === 0 ? "" : `M${x(moment(i))} 100V${(100 * (1 - v / most)).toFixed(1)}H${x(moment(i + 1))}V100Z`)).join("") }),
        ...own.map((m) => markAt(m, x(m.at))),
      ],
    };
  });
}

/** markAt draws a dropped packet over the whole height, one that was sent again over the lower half. */
function markAt(m: Mark, x: number): SVGElement {
  return svg("line", {
    class: m.kind, x1: x, x2: x, y1: m.kind === "dropped" ? 0 : 50, y2: 100,
    onpointermove: (event) => tooltip.say([
      [m.kind === "dropped" ? "dropped" : "sent again", m.kind === "dropped" ? m.why : "its octets were sent before"], ["at", `${fixed(m.at, 2)} ms`], ["size", `${fixed(m.octets, 0)} B`], ["connection", m.connection],
    ], event as PointerEvent),
    onpointerleave: tooltip.hide,
  });
}
