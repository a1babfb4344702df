import { at, type Data, type Fact } from "./data";
import { el, scrolling } from "./dom";
import { counted, fixed } from "./format";
import { clockName, networkName } from "./tables";
import { workloadOf } from "./workload";

/** appendix defines what the figures mean and how to measure them again. */
export function appendix(data: Data): HTMLElement {
  const left = data.loads.filter((l) => l.validity !== "valid");
  return el("section", { class: "appendix", id: "appendix" },
    el("h2", {}, "Appendix"),
    ...chapters(data, left.length === 0 ? el("p", {}, "None.") : leftOut(data, left)),
    el("h3", {}, "Study file"),
    scrolling("Study file", el("pre", {}, data.studyText)));
}

/** chapters are the parts of the appendix but for the study file; left shows the loads that do not count. */
export function chapters(data: Data, left: HTMLElement): HTMLElement[] {
  return [
    el("h3", {}, "Metrics"),
    el("dl", { class: "terms" }, ...data.metrics.flatMap((m) => [el("dt", {}, m.title === m.unit ? m.title : `${m.title} (${m.unit})`), el("dd", {}, m.definition)])),
    el("h3", {}, "Networks"),
    el("p", {}, "Delay is one-way and given per direction; a round trip takes both. Rates count bits at the IP layer, 1 kbit = 1000 bit."),
    ...networks(data),
    el("h3", {}, "How to read the intervals"),
    el("p", {}, `The 95 % interval of a median lies between two of the measured values, chosen by the binomial distribution; it assumes nothing about how ${workloadOf(data).times} are distributed, but needs at least six values. With fewer, the smallest and largest value are shown and called a range.`),
    el("p", {}, "The difference of two medians has a 95 % interval from a seeded bootstrap. A difference is called clear if its interval excludes zero. Each pair is judged on its own: among many comparisons, about one in twenty pairs that do not differ looks clear, and the lowest of several medians tends to be a lucky one."),
    el("h3", { id: "clock" }, "What the clock means"),
    ...clockMeans(data).map((text) => el("p", {}, text)),
    ...meanings("What was streamed", data.streams?.media),
    ...meanings("What the transports are", data.streams?.transports),
    ...meanings("What the players do", data.streams?.players),
    ...meanings("What a visit is", data.visits),
    ...meanings("What a strategy is", data.strategies),
    ...meanings("Which servers these are", data.servers),
    ...(data.dropped ? [el("p", {}, data.dropped)] : []),
    ...(data.mediansOnly ? [el("p", {}, "This run has too many requests for one file: only the median load of each cell has a waterfall here" + (data.omitted === undefined ? "" : `, and ${counted(data.omitted, "cell")} not even that`) + ". The store has them all.")] : []),
    el("h3", { id: "checks" }, "Checks made on every load"),
    el("p", {}, "A load that broke a rule is kept and marked invalid; it counts in no median. A late load is repeated."),
    checks(data),
    el("h3", {}, "Loads that do not count"),
    left,
    el("h3", {}, "Environment"),
    pairs(data.environment),
  ];
}

/** networks describes each network; a study of streams may have hundreds that differ in one number. */
function networks(data: Data): HTMLElement[] {
  const all = data.networks.map((n) => el("div", { class: "network" },
    el("h4", {}, n.name, n.title === undefined ? null : el("small", {}, n.title)),
    pairs(n.facts),
    n.note ? el("p", {}, n.note) : null,
    n.source ? el("p", { class: "source" }, `Source: ${n.source}`) : null));
  return !workloadOf(data).foldedNetworks ? all : [el("details", { class: "folded" }, el("summary", {}, counted(all.length, "network")), ...all)];
}

/** meanings explains the values of an axis, if the study uses it. */
function meanings(title: string, facts: Fact[] | undefined): HTMLElement[] {
  return facts === undefined ? [] : [el("h3", {}, title), pairs(facts)];
}

function clockMeans(data: Data): string[] {
  const real = "On the real clock the processor's work is part of every figure, as it is on a real phone and a real server, but it is the work of the machine that measured.";
  if (data.cells.length > 0 && data.cells.every((c) => c.clock === "live")) {
    return ["All loads ran on the live clock: the pages are those of real sites, loaded over the network of the machine that measured. What sites, network and resolvers do changes from load to load, so these figures describe that place and that time. "
      + "Only the client's end is known, so there is no critical path."];
  }
  if (data.clockNote === undefined) return [`All loads ran on the real clock. ${real}`];
  return [
    "On the virtual clock the same programs and the same Linux protocols run in a kernel that does not wait: whenever everything is idle, its clock jumps to the next event. "
      + "Delays, rates, queues, losses and timers take the time they take on the real clock; computing takes none. "
      + "So these figures may be compared with each other, and they are what a machine of unlimited speed would see. They say nothing about how much processor time a protocol takes.",
    real + " Cells on different clocks are therefore never ranked against each other here.",
    ...(data.clocks ? [] : ["A study with clock: [real, virtual] loads every cell on both and shows how much of a load the processor takes."]),
  ];
}

function pairs(facts: Fact[]): HTMLElement {
  return el("dl", { class: "pairs" }, ...facts.flatMap((f) => [el("dt", {}, f.name), el("dd", {}, f.value)]));
}

function checks(data: Data): HTMLElement {
  return scrolling("Checks", el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Rule"), el("th", { scope: "col", class: "number" }, "Loads that broke it"))),
    el("tbody", {}, ...data.checks.map((c) => el("tr", {}, el("td", {}, c.title), el("td", { class: "number" }, fixed(c.broken, 0)))))));
}

function leftOut(data: Data, loads: Data["loads"]): HTMLElement {
  return scrolling("Loads that do not count",
    el("table", {},
      el("caption", {}, el("span", {}, "Kept in the store, left out of every median")),
      el("thead", {}, el("tr", {}, ...["Load", "Cell", "Verdict", "Why"].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, ...loads.map((l) => {
        const cell = at(data.cells, l.cell);
        return el("tr", {}, el("th", { scope: "row" }, l.id), el("td", {}, `${[cell.site, networkName(data, cell.network), cell.shared, clockName(data, cell), cell.label].filter(Boolean).join(", ")}`), el("td", {}, l.validity), el("td", {}, l.reason ?? ""));
      }))));
}
