import { at } from "../data";
import { el } from "../dom";
import { askData, type CellPage, type LoadPage } from "./api";
import { button, sentence, type Context } from "./page";
import { link } from "./route";
import { runData } from "./rundata";

/** compareWith puts a load beside another one: the median load of another cell of its section, or any load by its name. */
export function compareWith(context: Context, page: LoadPage): HTMLElement {
  const others = el("span");
  const name = el("input", { type: "text", placeholder: "r1-0000-a1", size: 14, pattern: "r[0-9]+-[0-9]+-a[0-9]+", "aria-label": "Another load" });
  const go = (id: string): void => {
    if (id !== "") location.hash = link(["compare", page.load.id, id]);
  };
  void runData(context, String(page.run)).then((data) => {
    const cells = (data.sections.find((s) => s.cells.includes(page.load.number))?.cells ?? []).filter((c) => c !== page.load.number && at(data.cells, c).valid > 0);
    others.replaceChildren(...cells.map((c) => button(at(data.cells, c).label, async () => {
      try {
        const { cells, loads } = await askData<CellPage>(`/api/runs/${page.run}/cells/${c}?light=1`, context.signal);
        const median = loads[at(cells, 0).medianLoad];
        if (median === undefined) context.say("No valid load of this cell left files.", true);
        else go(median.id);
      } catch (error) {
        context.say(sentence(error), true);
      }
    })));
  }, () => undefined); // without the other cells, a load can still be named
  return el("form", { class: "beside screen", onsubmit: (event) => {
    event.preventDefault();
    go(name.value.trim());
  } }, el("span", {}, "Compare with the median load of: "), others, el("label", {}, " or with load ", name), el("button", { type: "submit", class: "do" }, "Compare"));
}
