import type { Data } from "./data";
import { el } from "./dom";
import { counted } from "./format";
import { anchor, sectionName } from "./tables";

/** fewSections is the number of sections up to which the contents name them at once. */
const fewSections = 12;

/** contents lists the parts of the report. */
export function contents(data: Data, hasSeries: boolean): HTMLElement {
  const link = (id: string, text: string): HTMLElement => el("li", {}, el("a", { href: `#${id}` }, text));
  const sections = data.sections.map((s, i) => link(anchor(i), sectionName(data, s)));
  return el("nav", { class: "contents", "aria-label": "Contents" },
    el("ul", {},
      link("overview", "Overview"),
      hasSeries ? link("series", "Along numbers") : null,
      data.clocks === undefined ? null : link("clocks", "Two clocks"),
      data.printed === undefined ? null : link("published", "Published figures"),
      data.claims === undefined ? null : link("claims", "Claims"),
      link("sections", "Network by network"),
      link("appendix", "Appendix")),
    sections.length <= fewSections
      ? el("ul", { "aria-label": "Networks" }, ...sections)
      : el("details", {}, el("summary", {}, `All ${counted(sections.length, "section")}`), el("ul", { class: "columns", "aria-label": "Networks" }, ...sections)));
}
