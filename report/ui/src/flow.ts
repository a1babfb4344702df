import { at, type Cell, type Data, type Flow, type FlowEvent, type Section } from "./data";
import { el, scrolling, svg, whenNear } from "./dom";
import { duration, fixed } from "./format";
import { sequence, stacked, ticksBetween } from "./flowlayout";
import { ticks } from "./layout";
import * as tooltip from "./tooltip";

interface Shown {
  cell: Cell;
  flow: Flow;
}

/** heights says where a reason's bar lies in its row, as shares of its height from the top, so that reasons can be told apart without colour. */
const heights: [top: number, bottom: number][] = [[0.42, 0.58], [0, 0.6], [0.4, 1], [0.2, 0.8], [0.3, 0.7], [0, 1], [0, 1]];

const windows = ["stream's window", "session's window", "receive window", "congestion window, inferred", "under way"];

const medians = "The connection of each cell's median load on which most was sent, from when its first octet of DATA left until the last had arrived.";

/** flows shows what held the sender of each cell's median load, and for one of them its windows over time and its frames; about says which connections these are. */
export function flows(data: Data, section: Section, about = medians): HTMLElement | null {
  const all = section.cells.map((c) => at(data.cells, c)).flatMap((cell): Shown[] => (cell.flow ? [{ cell, flow: cell.flow }] : []));
  const shown = all.filter((s) => s.flow.held.length > 0);
  const unseen = all.filter((s) => s.flow.held.length === 0).map((s) => el("p", { class: "failure" }, `What held the sender of ${s.cell.label}, load ${at(data.loads, s.flow.load).id}, could not be seen: ${s.flow.unseen?.join("; ") ?? "no DATA arrived"}.`));
  const [first] = shown;
  if (first === undefined) {
    const charted = data.reasons !== undefined && section.cells.some((c) => at(data.cells, c).critical);
    if (unseen.length > 0) return el("div", { class: "flows" }, el("h4", {}, "What held the sender"), ...unseen);
    return charted ? el("p", { class: "facts" }, "What held the senders is charted for the first 60 cells of a report only; wiretime frames LOAD prints it for any load.") : null;
  }
  const reasons = data.reasons ?? [];
  const present = reasons.map((_, r) => r).filter((r) => shown.some((s) => (s.flow.sums[r] ?? 0) > 0));
  const sums = el("div", { class: "chart" });
  whenNear(sums, () => {
    sums.replaceChildren(bars(data, shown, widthOf(sums)));
  });
  const chart = el("div", { class: "chart" });
  const frames = el("div", { class: "list" });
  let current = first;
  const choose = (s: Shown): void => {
    current = s;
    chart.replaceChildren(drawing(data, s, widthOf(chart)));
    frames.replaceChildren(...sequenceChart(data, s));
  };
  const select = el("select", { onchange: () => choose(at(shown, Number(select.value))) }, ...shown.map((s, i) => el("option", { value: i }, `${s.cell.label} ${at(data.loads, s.flow.load).id}`)));
  whenNear(chart, () => {
    choose(current);
  });
  return el("div", { class: "flows" },
    el("h4", {}, "What held the sender"),
    el("p", { class: "caption" }, `${about} While the path is carrying octets, the link counts, even if the sender may not send meanwhile.`),
    ...unseen,
    el("ul", { class: "legend", "aria-label": "What held the sender" }, ...present.map((r) => el("li", {}, swatch(r), at(reasons, r)))),
    sums,
    el("details", {}, el("summary", {}, "What held the sender, in figures"), table(data, shown, present)),
    el("h4", {}, "Windows over time, and frames"),
    el("label", {}, "Load ", select),
    el("ul", { class: "legend", "aria-label": "Windows" }, ...windows.map((name, i) => el("li", {}, svg("svg", { class: "windows", viewBox: "0 0 20 10", width: 20, height: 10, "aria-hidden": "true" }, svg("line", { class: `w${i}`, x1: 0, x2: 20, y1: 5, y2: 5 })), name))),
    chart,
    el("details", { class: "screen" }, el("summary", {}, "Frames in their order"), frames));
}

const widthOf = (box: HTMLElement): number => Math.max(300, Math.min(1080, box.clientWidth || 700));
const ms = (ns: number): string => `${fixed(ns / 1e6, 1)} ms`;
const total = (f: Flow): number => f.sums.reduce((sum, ns) => sum + ns, 0);

function swatch(reason: number): SVGElement {
  const [top, bottom] = heights[reason] ?? [0, 1];
  return svg("svg", { viewBox: "0 0 20 10", width: 20, height: 10, "aria-hidden": "true" },
    svg("rect", { x: 0, width: 20, y: 10 * top, height: 10 * (bottom - top), style: `fill:var(--h${reason})` }));
}

const row = 34;
const barHeight = 20;

function bars(data: Data, shown: Shown[], width: number): SVGElement {
  const left = Math.min(190, 20 + 7 * Math.max(...shown.map((s) => s.cell.label.length)));
  const right = 70;
  const end = Math.max(...shown.map((s) => total(s.flow) / 1e6));
  const height = shown.length * row + 24;
  const x = (t: number): number => left + ((width - left - right) * t) / end;
  const say = (s: Shown): string => `${s.cell.label}: ${(data.reasons ?? []).map((r, i) => [r, s.flow.sums[i] ?? 0] as const).filter(([, ns]) => ns > 0).map(([r, ns]) => `${r} ${ms(ns)}`).join(", ")}.`;
  return svg("svg", { class: "paths", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `What held the sender. ${shown.map(say).join(" ")}` },
    ...ticks(end, width < 500 ? 3 : 6).map((t) => svg("g", {},
      svg("line", { class: "grid", x1: x(t), x2: x(t), y1: 0, y2: height - 18 }),
      svg("text", { class: "axis", x: x(t), y: height - 4, "text-anchor": "middle" }, `${fixed(t, 0)}${t === 0 ? " ms" : ""}`))),
    ...shown.map((s, i) => {
      const top = i * row + 4;
      return svg("g", {},
        svg("text", { x: left - 8, y: top + 15, "text-anchor": "end" }, s.cell.label),
        ...stacked(s.flow.sums).map((p) => {
          const [upper, lower] = heights[p.reason] ?? [0, 1];
          return svg("rect", {
            x: x(p.from), width: Math.max(0.5, x(p.to) - x(p.from)), y: top + barHeight * upper, height: barHeight * (lower - upper), style: `fill:var(--h${p.reason})`,
            onpointermove: (event) => {
              tooltip.say([[at(data.reasons ?? [], p.reason), `${fixed(p.to - p.from, 1)} ms of ${ms(total(s.flow))}`], ["load", at(data.loads, s.flow.load).id], ["sent", `${fixed(s.flow.octets, 0)} B by the ${s.flow.sender}`]], event as PointerEvent);
            },
            onpointerleave: tooltip.hide,
          });
        }),
        svg("text", { x: x(total(s.flow) / 1e6) + 6, y: top + 15 }, duration(total(s.flow) / 1e6)));
    }));
}

function table(data: Data, shown: Shown[], present: number[]): HTMLElement {
  return scrolling("What held the sender, in figures", el("table", {},
    el("caption", {}, el("span", {}, "ms by reason; each column is one load, and adds up to its transfer exactly")),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Held by"), ...shown.map((s) => el("th", { scope: "col", class: "number" }, s.cell.label, el("small", {}, at(data.loads, s.flow.load).id))))),
    el("tbody", {},
      ...present.map((r) => el("tr", {}, el("th", { scope: "row" }, at(data.reasons ?? [], r)), ...shown.map((s) => el("td", { class: "number" }, fixed((s.flow.sums[r] ?? 0) / 1e6, 3))))),
      el("tr", {}, el("th", { scope: "row" }, "in all"), ...shown.map((s) => el("td", { class: "number" }, fixed(total(s.flow) / 1e6, 3)))))));
}

/** drawing shows the windows over time, above a bar of what held the sender. */
function drawing(data: Data, { cell, flow }: Shown, width: number): SVGElement {
  const [left, right, top, height, strip] = [64, 12, 10, 220, 16];
  const from = (flow.held[0]?.[0] ?? 0) / 1000;
  const to = (flow.held.at(-1)?.[1] ?? 1) / 1000;
  const x = (t: number): number => left + ((width - left - right) * (t - from)) / (to - from || 1);
  // Windows far above the flight would flatten everything else.
  const busiest = Math.max(1, ...flow.points.map((p) => p[5] ?? 0));
  const near = flow.points.flatMap((p) => p.slice(1)).filter((v): v is number => v !== null && v <= 4 * busiest);
  const end = Math.max(...near, busiest) * 1.05;
  const y = (v: number): number => top + height * (1 - Math.max(0, Math.min(v, end * 1.02)) / end);
  const path = (column: number): string => {
    let d = "";
    for (const [i, p] of flow.points.entries()) {
      const v = p[column] ?? null;
      if (v === null) continue;
      const until = x((flow.points[i + 1]?.[0] ?? to * 1000) / 1000);
      const here = x(p[0] / 1000);
      d += `${d === "" ? "M" : "L"}${n(here)} ${n(y(v))}H${n(until)}`;
    }
    return d;
  };
  const bottom = top + height;
  const beyond = windows.filter((_, i) => flow.points.some((p) => (p[i + 1] ?? 0) > end * 1.02));
  const picture = svg("svg", { class: "windows", viewBox: `0 0 ${width} ${bottom + strip + 44}`, role: "img", "aria-label": `Windows of load ${at(data.loads, flow.load).id}, ${cell.label}` },
    ...ticks(end, 4).map((v) => svg("g", {}, svg("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }), svg("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end" }, `${fixed(v / 1000, 0)} kB`))),
    ...ticksBetween(from, to, width < 500 ? 4 : 8).map((t, i) => svg("g", {}, svg("line", { class: "grid", x1: x(t), x2: x(t), y1: top, y2: bottom + strip + 6 }), svg("text", { x: x(t), y: bottom + strip + 20, "text-anchor": "middle" }, fixed(t, to - from < 10 ? 1 : 0) + (i === 0 ? " ms" : "")))),
    ...[0, 1, 2, 3, 4].map((i) => svg("path", { class: `w${i}`, d: path(i + 1) })),
    ...flow.held.map(([start, stop, reason]) => {
      const [upper, lower] = heights[reason] ?? [0, 1];
      return svg("rect", { x: n(x(start / 1000)), width: n(Math.max(0.5, x(stop / 1000) - x(start / 1000))), y: bottom + 6 + strip * upper, height: strip * (lower - upper), style: `fill:var(--h${reason})` });
    }),
    svg("text", { x: left, y: bottom + strip + 38 }, `${flow.connection}, ${flow.connections === 1 ? "the only connection" : `one of ${flow.connections} connections`}${beyond.length === 0 ? "" : `; above the chart at times: ${beyond.join(", ")}`}`));
  picture.addEventListener("pointermove", (event) => {
    const area = picture.getBoundingClientRect();
    const t = from + ((((event.clientX - area.left) / area.width) * width - left) / (width - left - right)) * (to - from);
    const point = flow.points.findLast((p) => p[0] / 1000 <= t);
    const reason = flow.held.find(([start, stop]) => start / 1000 <= t && t < stop / 1000)?.[2];
    if (point === undefined || reason === undefined) {
      tooltip.hide();
      return;
    }
    tooltip.say([["at", `${fixed(t, 1)} ms`], ["held by", data.reasons?.[reason] ?? ""], ...windows.flatMap((name, i): [string, string][] => (point[i + 1] == null ? [] : [[name, `${fixed(point[i + 1] ?? 0, 0)} B`]]))], event);
  });
  picture.addEventListener("pointerleave", tooltip.hide);
  return picture;
}

const n = (value: number): number => Math.round(value * 100) / 100;

/** sequenceChart shows the frames between two lifelines, each in the row of its sending. */
function sequenceChart(data: Data, { cell, flow }: Shown): HTMLElement[] {
  const notes = (flow.unseen ?? []).map((text) => el("p", { class: "failure" }, `Not seen: ${text}.`));
  const id = at(data.loads, flow.load).id;
  if (flow.events.length === 0) return [...notes, el("p", { class: "facts" }, "This connection shows no frames.")];
  const [step, top, width, client, server] = [17, 26, 1260, 555, 705];
  const rows = sequence(flow.events);
  const y = (place: number): number => top + step * place;
  const height = y(flow.events.length) + 8;
  const line = (side: FlowEvent["from"]): number => (side === "client" ? client : server);
  const cut = (text: string): string => (text.length > 66 ? text.slice(0, 65) + "…" : text);
  const picture = svg("svg", { class: "sequence", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Frames of load ${id}, ${cell.label}; wiretime frames ${id} prints them` },
    svg("text", { class: "title", x: client, y: 14, "text-anchor": "end" }, "client"),
    svg("text", { class: "title", x: server, y: 14 }, "server"),
    svg("line", { class: "life", x1: client, x2: client, y1: 18, y2: height }),
    svg("line", { class: "life", x1: server, x2: server, y1: 18, y2: height }),
    ...flow.events.map((e, i) => {
      const { sent, received } = at(rows, i);
      const start = line(e.from);
      const stop = line(e.from === "client" ? "server" : "client");
      const out = e.from === "client" ? -1 : 1;
      const label = `${e.stream === undefined ? "" : `${e.stream}: `}${e.text}${left(e)}`;
      const shape = received === null
        ? [svg("line", { class: "arrow lost", x1: start, x2: start - out * 60, y1: y(sent), y2: y(sent) + 5 }), svg("text", { x: start - out * 66, y: y(sent) + 9, "text-anchor": "middle" }, "×")]
        : [svg("line", { class: `arrow ${kind(e)}`, x1: start, x2: stop, y1: y(sent), y2: y(received) }), svg("path", { class: kind(e), d: `M${stop} ${n(y(received))}l${-8 * -out} -4v8Z` })];
      return svg("g", {
        onpointermove: (event) => {
          tooltip.say([["from", e.from], ["frame", e.text], ...(e.stream === undefined ? [] : [["stream", String(e.stream)] as [string, string]]), ["sent", moment(e.sent)], ["received", moment(e.received)],
            ...(e.left === undefined ? [] : [["stream's window", `${fixed(e.left, 0)} B left`] as [string, string]]), ...(e.session === undefined ? [] : [["session's window", `${fixed(e.session, 0)} B left`] as [string, string]])], event as PointerEvent);
        },
        onpointerleave: tooltip.hide,
      },
      ...shape,
      svg("text", { class: kind(e), x: start + out * 8, y: y(sent) + 4, "text-anchor": out < 0 ? "end" : "start" }, cut(label)),
      svg("text", { class: "axis", x: out < 0 ? 4 : width - 4, y: y(sent) + 4, "text-anchor": out < 0 ? "start" : "end" }, e.sent < 0 ? "" : fixed(e.sent, 1)));
    }));
  return [
    ...notes,
    el("p", { class: "caption" }, `Frames of load ${id}: time in ms since navigation start at the edges, when each was sent; rows are in that order, not to scale. An arrow ends between what the other end sent before and after it arrived. After an arrow (→): what the window has left for the sender of DATA, of the stream, then of the session.`),
    scrolling(`Frames of load ${id}`, picture),
    ...(flow.more > 0 ? [el("p", { class: "facts" }, `${fixed(flow.more, 0)} more lines: wiretime frames ${id} prints them.`)] : []),
  ];
}

const moment = (t: number): string => (t < 0 ? "not seen" : `${fixed(t, 3)} ms`);

/** left writes what the windows have left after an event that changes them. */
function left(e: FlowEvent): string {
  const known = [e.left, e.session].filter((v): v is number => v !== undefined).map((v) => fixed(v, 0));
  return known.length === 0 ? "" : ` → ${known.join(", ")}`;
}

/** kind gives the class that colours a line. */
function kind(e: FlowEvent): string {
  if (/^(DATA|STREAM) /.test(e.text)) return "payload";
  if (/^(WINDOW_UPDATE|MAX_DATA|MAX_STREAM_DATA|SETTINGS|TRANSPORT_PARAMETERS)/.test(e.text)) return "grant";
  return "other";
}
