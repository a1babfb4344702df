import { type Overview } from "./data";
import { chooser, el, whenNear } from "./dom";
import { heatMap } from "./heatmap";
import { axesOf, compared, picturesOf, settle, type OverviewState, type PlaceSpot } from "./places";

export type { OverviewState } from "./places";

/** What surrounds an overview. */
export interface OverviewOptions {
  state?: Partial<OverviewState>; // what is shown first; what the overview does not have is ignored
  changed?: (state: OverviewState) => void; // is called after each change by the reader
  choose?: (place: number, label?: number) => void; // is called for the field that the reader clicks on
  colours?: string[]; // of the labels
}

export interface OverviewView {
  element: HTMLElement;
  show: (metric: string) => void;
}

/** palette is how many colours labels have of themselves. */
const palette = 8;

/** overviewView shows which label is best where, or all ratios to one label: heat maps over two axes, one for each combination of the others. It returns null if there is nothing to compare. */
export function overviewView(overview: Overview, options: OverviewOptions = {}): OverviewView | null {
  if (overview.labels.length < 2 || overview.metrics.length === 0) return null;
  const colours = options.colours ?? overview.labels.map((_, i) => `var(--p${i % palette})`);
  let state = settle(overview, options.state ?? {});
  const controls = el("div", { class: "controls" });
  const note = el("p", { class: "caption" });
  const charts = el("div");
  const change = (to: Partial<OverviewState>): void => {
    state = settle(overview, { ...state, ...to });
    draw();
    options.changed?.(state);
  };
  const axisSelect = (legend: string, id: "across" | "down"): HTMLElement | null => {
    const axes = axesOf(overview, state.against);
    if (axes.length < 2) return null;
    const other = id === "across" ? "down" : "across";
    const select = el("select", { onchange: () => change({ [id]: select.value, ...(select.value === state[other] ? { [other]: state[id] } : {}) }) },
      ...axes.map((a) => el("option", { value: a.id, selected: a.id === state[id] }, a.name)));
    return el("label", {}, `${legend} `, select);
  };
  const draw = (): void => {
    const focused = controls.contains(document.activeElement) ? document.activeElement?.closest("[data-control]")?.getAttribute("data-control") : null;
    const baselines = ["", ...overview.labels];
    controls.replaceChildren(...[
      ["metric", chooser("overview-metric", "Compare", overview.metrics, overview.metrics.find((m) => m.name === state.metric) ?? null, (m) => m.title, (m) => change({ metric: m.name }))],
      ["against", chooser("overview-against", "Show", baselines, state.against, (b) => (b === "" ? "which is best" : `ratio to ${b}`), (b) => change({ against: b }))],
      ["across", axisSelect("Across", "across")],
      ["down", axisSelect("Down", "down")],
    ].flatMap(([id, control]) => (control === null ? [] : [el("div", { "data-control": String(id) }, control as HTMLElement)])));
    if (focused) controls.querySelector<HTMLElement>(`[data-control="${focused}"] :is(input:checked, select)`)?.focus();
    const metric = overview.metrics.find((m) => m.name === state.metric);
    note.textContent = state.against === ""
      ? `Each field names the ${overview.compared} with the ${metric?.more ? "highest" : "lowest"} median, the next one with how far its median is from it, and the 95 % interval of that distance. In parentheses, in a dashed frame: not decided.`
      : `Each field has the ratio of two medians, with its 95 % interval: blue is better than ${state.against}, orange is worse. In parentheses, in a dashed frame: not decided, since the interval holds 1 or there are fewer than six loads on a side.`;
    const pictures = picturesOf(overview, state, colours);
    const many = pictures.length > 1;
    charts.className = many ? "panels" : "";
    charts.replaceChildren(...pictures.map((picture) => {
      const box = el("div", { class: "chart" });
      whenNear(box, () => {
        const columns = new Set(picture.spots.map((s) => s.x)).size;
        const width = Math.max(280, Math.min(box.clientWidth || 480, many ? 640 : 220 + 130 * columns));
        const name = [metric?.title ?? "", state.against === "" ? `best ${overview.compared}` : `ratio to ${state.against}`, picture.name].filter(Boolean).join(", ");
        const { choose } = options;
        box.replaceChildren(heatMap({ ...picture, name, width, choose: choose && ((spot) => choose((spot as PlaceSpot).place, (spot as PlaceSpot).label)) }));
      });
      return el("figure", {}, picture.name === "" ? null : el("figcaption", {}, el("b", {}, picture.name)), box);
    }));
    if (pictures.length === 0) charts.replaceChildren(el("p", {}, `No two cells at one place have valid loads with ${metric?.title ?? "this metric"}.`));
  };
  draw();
  return {
    element: el("div", { class: "overview" }, controls, note, charts),
    show: (metric) => {
      state = settle(overview, { ...state, metric });
      draw();
    },
  };
}

export { compared };
