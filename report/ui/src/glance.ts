import { at, phases, type Load, type Request } from "./data";
import { svg } from "./dom";
import { counted, fixed } from "./format";
import { bars, heights, lanes, priorityLane, priorityLanes, rowHeight, ticks } from "./layout";

/** What hovering or choosing a row of a waterfall does. */
export interface Pointing {
  over: (request: Request, event: PointerEvent) => void;
  out: () => void;
  choose: (row: number) => void;
}

const usual = 290; // width of the drawing; the page scales it
const top = 26;
const bottom = 18;

/**
 * glance draws a whole waterfall small, so that the shapes of several can be
 * compared: on the left a lane per priority and a lane per connection, then
 * the requests. All share one time axis, which ends at end (ms).
 */
export function glance(load: Load, label: string, requests: Request[], end: number, pointing: Pointing, width = usual): SVGElement {
  const row = rowHeight(requests.length);
  const height = top + requests.length * row + bottom;
  const connections = lanes(requests.map((r) => r.connection).filter((c) => c !== ""));
  const priorityWidth = 22;
  const laneStep = Math.min(3.5, 44 / Math.max(1, connections.size));
  const connectionsAt = priorityWidth + 8;
  const left = connectionsAt + Math.max(22, laneStep * connections.size) + 8;
  const x = (ms: number): number => left + ((width - left - 6) * ms) / end;
  const y = (i: number): number => top + i * row;

  const paths: Record<string, string> = {};
  const box = (name: string, x1: number, y1: number, x2: number, y2: number): void => {
    paths[name] = (paths[name] ?? "") + `M${n(x1)} ${n(y1)}H${n(x2)}V${n(y2)}H${n(x1)}Z`;
  };
  requests.forEach((r, i) => {
    for (const b of bars(r)) {
      const [from, to] = heights[b.phase];
      box(b.phase, x(b.from), y(i) + from * row, Math.max(x(b.to), x(b.from) + 0.3), y(i) + to * row);
    }
    const priority = priorityLane(r.priority);
    if (priority >= 0) box("lane", 2 + (priority * (priorityWidth - 4)) / priorityLanes, y(i), 2 + ((priority + 0.8) * (priorityWidth - 4)) / priorityLanes, y(i + 1));
    const lane = connections.get(r.connection);
    if (lane !== undefined) box("lane", connectionsAt + lane * laneStep, y(i), connectionsAt + (lane + 0.8) * laneStep, y(i + 1));
  });

  const last = y(requests.length);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${n(height)}`, preserveAspectRatio: "xMinYMin", class: "glance", role: "img", "aria-label": describe(load, label, requests, connections.size) },
    svg("text", { x: 2, y: top - 5 }, "prio"),
    svg("text", { x: connectionsAt, y: top - 5 }, "conn"),
    ...ticks(end, 4).flatMap((t) => [
      svg("line", { x1: n(x(t)), x2: n(x(t)), y1: top, y2: n(last), class: "grid" }),
      svg("text", { x: n(x(t)), y: n(last + 12), "text-anchor": "middle" }, end >= 10_000 ? fixed(t / 1000, 0) : fixed(t, 0)),
    ]),
    svg("text", { x: 2, y: n(last + 12) }, end >= 10_000 ? "s" : "ms"),
    svg("path", { d: paths["lane"] ?? "", class: "lane" }),
    ...phases.map((p) => svg("path", { d: paths[p] ?? "", class: p })),
    ...mark("DCL", load.waterfall?.dcl ?? -1, "dcl", 9),
    ...mark("onLoad", load.waterfall?.onLoad ?? -1, "onload", 19),
  );

  function mark(name: string, ms: number, kind: string, textY: number): SVGElement[] {
    if (ms < 0) return [];
    const before = x(ms) > width * 0.7;
    return [
      svg("line", { x1: n(x(ms)), x2: n(x(ms)), y1: textY - 7, y2: n(last), class: kind }),
      svg("text", { x: n(x(ms) + (before ? -3 : 3)), y: textY, "text-anchor": before ? "end" : "start" }, `${name} ${fixed(ms, 0)}`),
    ];
  }
  const rowAt = (event: PointerEvent | MouseEvent): number => {
    const area = drawing.getBoundingClientRect();
    return Math.floor((((event.clientY - area.top) / area.height) * height - top) / row);
  };
  drawing.addEventListener("pointermove", (event) => {
    const request = requests[rowAt(event)];
    if (request) pointing.over(request, event);
    else pointing.out();
  });
  drawing.addEventListener("pointerleave", pointing.out);
  drawing.addEventListener("click", (event) => {
    const i = rowAt(event);
    if (requests[i]) pointing.choose(i);
  });
  return drawing;
}

const n = (value: number): string => String(Math.round(value * 100) / 100);

function describe(load: Load, label: string, requests: Request[], connections: number): string {
  const first = requests.length > 0 ? at(requests, 0).protocol : "";
  return `Waterfall of load ${load.id}, ${label}: ${counted(requests.length, "request")} over ${counted(connections, "connection")}${first ? ", " + first : ""}. The request list below has the figures.`;
}
