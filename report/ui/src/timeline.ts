import { at, type Cell, type Data, type Load, type Point, type Section, type Span, type Timeline } from "./data";
import { el, scrolling, svg, whenNear } from "./dom";
import { duration, fixed } from "./format";
import { ticks } from "./layout";
import * as tooltip from "./tooltip";
import { cut, outages, spanAt, stepAt, stretches, valueAt } from "./watching";

interface Shown {
  cell: Cell;
  load: Load;
  timeline: Timeline;
}

/** timelines shows one stream of each cell: what was played, what arrived, and what the network did. */
export function timelines(data: Data, section: Section): HTMLElement {
  const all = section.cells.flatMap((c): Shown[] => {
    const cell = at(data.cells, c);
    const load = data.loads[cell.medianLoad];
    return load?.timeline === undefined ? [] : [{ cell, load, timeline: load.timeline }];
  });
  if (all.length === 0) return el("p", { class: "facts" }, ["No valid load of this section left a record of its stream.", data.dropped].filter(Boolean).join(" "));
  const video = all.some((s) => s.timeline.buffer !== undefined);
  const scale = scaleOf(all.map((s) => s.timeline));
  const by = data.metrics.find((m) => m.ranked && all[0]?.cell.summaries[m.name] !== undefined)?.title ?? "";
  const box = el("div", { class: "timelines" });
  whenNear(box, () => {
    const width = box.clientWidth || 700;
    const columns = width >= 900 && all.length > 1 ? 2 : 1;
    box.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    box.replaceChildren(...all.map((s) => el("figure", {},
      el("figcaption", {}, el("b", {}, s.cell.label), ` load ${s.load.id}`, s.timeline.failure === undefined ? null : el("span", { class: "failure" }, `: ${s.timeline.failure}`)),
      drawing(s, scale, Math.max(280, (width - 24 * (columns - 1)) / columns)))));
  });
  return el("div", { class: "waterfalls" },
    el("h4", {}, video ? "What the viewer saw" : "How the file arrived"),
    el("p", { class: "caption" }, `One load of each cell, the valid one whose ${by} is nearest to the median, on the same axes. ${video ? "The buffer's colour is the resolution that is played, and so is the height of the bar below it. " : ""}Goodput is of content, per ${scale.step === 1000 ? "second" : `${fixed(scale.step / 1000, 0)} s`}; the link's delay is one-way. A handover is a dashed line, and the band after it is the time until data arrived again.`),
    legend(all, video),
    box,
    handovers(all));
}

/** Scale is what all timelines of a section share. */
interface Scale {
  end: number; // ms
  buffer: number; // s; 0 where nothing is played
  goodput: number; // Mbit/s
  delay: number; // ms; 0 where none is known
  step: number; // ms, the longest
}

function scaleOf(all: Timeline[]): Scale {
  const most = (of: (t: Timeline) => number[]): number => Math.max(0, ...all.flatMap(of));
  return {
    end: most((t) => [t.duration]) || 1,
    buffer: all.some((t) => t.buffer) ? Math.max(1, most((t) => (t.buffer ?? []).map(([, s]) => s))) : 0,
    goodput: most((t) => t.goodput) * 1.05 || 1,
    delay: most((t) => (t.delay ?? []).map(([, ms]) => ms)) * 1.1,
    step: most((t) => [t.step]),
  };
}

const left = 40; // of all axes
const right = 10;
const top = 16; // for the handovers' names

/** Lane is a part of the drawing with an axis of its own. */
interface Lane {
  title: string;
  y: number; // of its lower end
  height: number;
  end: number; // of the axis
}

/** lanesOf lays the lanes out, one below the other. */
function lanesOf(scale: Scale): { buffer: Lane | null; goodput: Lane; delay: Lane | null; strip: number; height: number } {
  let y = top;
  const lane = (title: string, height: number, end: number): Lane => {
    y += 19 + height;
    return { title, y, height, end };
  };
  const buffer = scale.buffer > 0 ? lane("Buffer (s)", 92, scale.buffer) : null;
  const strip = y + 3;
  if (buffer) y += 3 + stripHeight;
  const goodput = lane("Goodput (Mbit/s)", 58, scale.goodput);
  const delay = scale.delay > 0 ? lane("Link delay (ms)", 40, scale.delay) : null;
  return { buffer, goodput, delay, strip, height: y + 20 };
}

const stripHeight = 12;
const shares = { hd: 1 / 3, fhd: 2 / 3, qhd: 1 };

/** kindOf returns what decides the colour of a span: the resolution that is played, or the state. */
const kindOf = (s: Span): string => (s.state === "playing" ? s.shown ?? "playing" : s.state);

function drawing({ cell, load, timeline: t }: Shown, scale: Scale, width: number): SVGElement {
  const { buffer, goodput, delay, strip, height } = lanesOf(scale);
  const x = (ms: number): number => left + ((width - left - right) * ms) / scale.end;
  const y = (lane: Lane, value: number): number => lane.y - (lane.height * value) / lane.end;
  const points = (lane: Lane, line: Point[]): string => line.map(([ms, v]) => `${n(x(ms))} ${n(y(lane, v))}`).join("L");
  const bottom = height - 20;
  const lanes = [buffer, goodput, delay].filter((lane) => lane !== null);

  const bufferMarks = buffer === null ? [] : (t.spans ?? []).flatMap((s) => {
    const kind = kindOf(s);
    const height = stripHeight * (s.shown ? shares[s.shown] : 1);
    const band = s.state === "stalled" ? [svg("rect", { class: "band stalled", x: n(x(s.from)), width: wide(s.from, s.to), y: buffer.y - buffer.height, height: buffer.height })] : [];
    return [
      ...band,
      svg("path", { class: kind, d: `M${n(x(s.from))} ${buffer.y}L${points(buffer, cut(t.buffer ?? [], s.from, s.to))}L${n(x(s.to))} ${buffer.y}Z` }),
      s.state === "playing" || s.state === "stalled"
        ? svg("rect", { class: kind, x: n(x(s.from)), width: wide(s.from, s.to), y: n(strip + stripHeight - height), height: n(height) })
        : svg("rect", { class: kind, x: n(x(s.from)), width: wide(s.from, s.to), y: strip + stripHeight / 2 - 1, height: 2 }),
    ];
  });
  function wide(from: number, to: number): number {
    return n(Math.max(0.6, x(to) - x(from)));
  }
  const seeks = buffer === null ? [] : (t.seeks ?? []).flatMap((s) => [
    svg("line", { class: "seek", x1: n(x(s.at)), x2: n(x(s.at)), y1: buffer.y - buffer.height, y2: strip + stripHeight }),
    svg("path", { class: "seek", d: `M${n(x(s.at) - 3.5)} ${buffer.y - buffer.height - 5}h7l-3.5 6Z` }),
  ]);
  let free = 0; // from where on there is room for a handover's name
  const moves = outages(t).flatMap((o) => {
    const label = `${o.access}${o.recovered ? ` ${duration(o.to - o.from)}` : ", not recovered"}`;
    const long = label.length * 5.6;
    const from = x(o.from) + 3 + long > width ? x(o.from) - 3 - long : x(o.from) + 3;
    const named = from >= free;
    if (named) free = from + long + 6;
    return [
      svg("rect", { class: "outage", x: n(x(o.from)), width: wide(o.from, o.to), y: goodput.y - goodput.height, height: goodput.height }),
      svg("line", { class: "handover", x1: n(x(o.from)), x2: n(x(o.from)), y1: named ? 2 : top, y2: bottom }),
      named ? svg("text", { x: n(from), y: 11 }, label) : null,
    ].filter((e) => e !== null);
  });
  const rest = svg("line", { class: "pointer", visibility: "hidden", y1: top, y2: bottom });
  const picture = svg("svg", { class: "timeline", viewBox: `0 0 ${n(width)} ${height}`, role: "img", "aria-label": describe(cell, load, t) },
    ...lanes.flatMap((lane) => grid(lane, width)),
    ...ticks(scale.end, width < 500 ? 5 : 8).map((ms) => svg("text", { x: n(x(ms)), y: height - 5, "text-anchor": "middle" }, `${fixed(ms / 1000, scale.end < 5000 ? 1 : 0)}${ms === 0 ? " s" : ""}`)),
    ...bufferMarks,
    svg("path", { class: "goodput", d: stretches(t).map((s) => `M${n(x(s.from))} ${goodput.y}V${n(y(goodput, s.rate))}H${n(Math.max(x(s.from) + 0.6, x(s.to) - 0.7))}V${goodput.y}Z`).join("") }),
    delay === null ? null : svg("path", { class: "delay", d: (t.delay ?? []).map(([ms, v], i) => `${i === 0 ? "M" : "H"}${n(x(ms))}${i === 0 ? " " : "V"}${n(y(delay, v))}`).join("") + `H${n(x(t.duration))}` }),
    ...moves,
    svg("line", { class: "end", x1: n(x(t.duration)), x2: n(x(t.duration)), y1: top, y2: bottom }),
    ...lanes.map((lane) => svg("text", { class: "title", x: left, y: lane.y - lane.height - 5 }, lane.title)),
    ...seeks,
    rest);
  picture.addEventListener("pointermove", (event) => {
    const area = picture.getBoundingClientRect();
    const ms = (((event.clientX - area.left) / area.width) * width - left) / ((width - left - right) / scale.end);
    if (ms < 0 || ms > t.duration) {
      hide();
      return;
    }
    rest.setAttribute("x1", String(n(x(ms))));
    rest.setAttribute("x2", String(n(x(ms))));
    rest.setAttribute("visibility", "visible");
    tooltip.say(factsAt(t, ms), event);
  });
  const hide = (): void => {
    rest.setAttribute("visibility", "hidden");
    tooltip.hide();
  };
  picture.addEventListener("pointerleave", hide);
  return picture;
}

function grid(lane: Lane, width: number): SVGElement[] {
  return ticks(lane.end, lane.height > 80 ? 4 : 2).flatMap((v) => {
    const y = n(lane.y - (lane.height * v) / lane.end);
    return [
      svg("line", { class: v === 0 ? "base" : "grid", x1: left, x2: n(width - right), y1: y, y2: y }),
      svg("text", { x: left - 5, y: y + 3.5, "text-anchor": "end" }, fixed(v, v < 1 && v > 0 ? 1 : 0)),
    ];
  });
}

const n = (value: number): number => Math.round(value * 100) / 100;

const names: Record<string, string> = {
  hd: "plays HD", fhd: "plays FHD", qhd: "plays QHD", playing: "plays", stalled: "stalled", seeking: "waits after a seek", starting: "waits for the start", ended: "at the end of the video",
};

/** factsAt returns all that is known of a moment. */
function factsAt(t: Timeline, ms: number): [name: string, value: string][] {
  const span = spanAt(t.spans ?? [], ms);
  const rate = stretches(t).find((s) => s.from <= ms && ms <= s.to)?.rate ?? 0;
  const delay = stepAt(t.delay ?? [], ms);
  const outage = outages(t).find((o) => o.from <= ms && ms < o.to);
  const access = t.handovers?.findLast((h) => h.at <= ms)?.access;
  return [
    ["at", `${fixed(ms / 1000, 2)} s`],
    ...(span === undefined ? [] : [["viewer", names[kindOf(span)] ?? ""], ["buffer", `${fixed(valueAt(t.buffer ?? [], ms), 1)} s`]] as [string, string][]),
    ["goodput", `${fixed(rate, 1)} Mbit/s`],
    ...(delay === undefined ? [] : [["link delay", `${fixed(delay, 1)} ms`]] as [string, string][]),
    ...(access === undefined ? [] : [["access link", access + (outage === undefined ? "" : ", no data over it yet")]] as [string, string][]),
  ];
}

function describe(cell: Cell, load: Load, t: Timeline): string {
  const spent = (state: Span["state"]): number => (t.spans ?? []).filter((s) => s.state === state).reduce((sum, s) => sum + s.to - s.from, 0);
  const viewing = t.spans === undefined ? "" : ` Played for ${duration(spent("playing"))}, stalled for ${duration(spent("stalled"))}, ${t.seeks?.length ?? 0} seeks.`;
  return `Timeline of load ${load.id}, ${cell.label}: ${duration(t.duration)}.${viewing} ${t.handovers?.length ?? 0} handovers.${t.failure === undefined ? "" : ` It failed: ${t.failure}.`}`;
}

function legend(all: Shown[], video: boolean): HTMLElement {
  const kinds = new Set(all.flatMap((s) => (s.timeline.spans ?? []).map(kindOf)));
  const box = (...children: SVGElement[]): SVGElement => svg("svg", { viewBox: "0 0 20 12", width: 20, height: 12, "aria-hidden": "true", class: "timeline" }, ...children);
  const bar = (kind: string, height: number): SVGElement => box(svg("rect", { class: kind, x: 0, width: 20, y: 12 - height, height }));
  const line = (kind: string): SVGElement => box(svg("line", { class: kind, x1: 10, x2: 10, y1: 0, y2: 12 }));
  const items: [boolean, () => SVGElement, string][] = [
    [kinds.has("hd"), () => bar("hd", 4), "HD"],
    [kinds.has("fhd"), () => bar("fhd", 8), "FHD"],
    [kinds.has("qhd"), () => bar("qhd", 12), "QHD"],
    [kinds.has("stalled"), () => bar("stalled", 12), "stalled"],
    [kinds.has("starting") || kinds.has("seeking"), () => box(svg("rect", { class: "seeking", x: 0, width: 20, y: 5, height: 2 })), "waits at the start or after a seek"],
    [video && all.some((s) => s.timeline.seeks !== undefined), () => box(svg("path", { class: "seek", d: "M6 3h8l-4 7Z" })), "seek"],
    [true, () => bar("goodput", 9), "goodput"],
    [all.some((s) => s.timeline.delay !== undefined), () => box(svg("path", { class: "delay", d: "M0 9H7V3H14V6H20" })), "link delay"],
    [all.some((s) => s.timeline.handovers !== undefined), () => line("handover"), "handover"],
    [all.some((s) => s.timeline.handovers !== undefined), () => bar("outage", 12), "until data arrived again"],
  ];
  return el("ul", { class: "legend", "aria-label": "Marks" }, ...items.filter(([used]) => used).map(([, draw, name]) => el("li", {}, draw(), name)));
}

/** handovers lists what the pictures show of handovers in figures. */
function handovers(all: Shown[]): HTMLElement | null {
  const some = all.filter((s) => s.timeline.handovers !== undefined);
  if (some.length === 0) return null;
  const after = (from: number, to: number | undefined): string => (to === undefined ? "–" : fixed(to - from, 1));
  return el("details", {}, el("summary", {}, "Handovers in figures"),
    scrolling("Handovers in figures", el("table", {},
      el("caption", {}, el("span", {}, "Handovers of the loads above: when, to which access link, and how long after it (ms) there was a session at the new address and data arrived again. With several addresses at once there is no moment at which a session is ready.")),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Cell"), el("th", { scope: "col", class: "number" }, "At (s)"), el("th", { scope: "col" }, "To"), ...["Session (ms)", "Data (ms)"].map((h) => el("th", { scope: "col", class: "number" }, h)))),
      ...some.map(({ cell, timeline }) => el("tbody", {}, ...(timeline.handovers ?? []).map((h, i, list) => el("tr", {},
        i > 0 ? null : el("th", { scope: "rowgroup", rowspan: list.length }, cell.label),
        el("td", { class: "number" }, fixed(h.at / 1000, 3)), el("td", {}, h.access),
        el("td", { class: "number" }, after(h.at, h.ready)), el("td", { class: "number" }, after(h.at, h.recovered)))))))));
}
