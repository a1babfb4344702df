// The buttons with which pictures and tables are taken away.

import { el } from "../dom";
import { csv, fileName } from "./csv";
import { button, sentence } from "./page";
import { cells, pngFile, save, svgFile } from "./take";

/** pictures and tables are what gets buttons; the small swatches of legends do not. */
const pictures = ".chart > svg, figure > svg, .scroll > svg";
const tables = ".scroll > table:not(.requests)";

/** withTools gives all pictures and tables of a page their buttons, also those that are drawn later, until the signal is aborted. */
export function withTools(page: HTMLElement, title: () => string, signal: AbortSignal): void {
  const equip = (): void => {
    for (const picture of page.querySelectorAll<SVGSVGElement>(pictures)) if (picture.getBoundingClientRect().width >= 120) beside(picture, pictureTools(picture, title));
    for (const table of page.querySelectorAll<HTMLTableElement>(tables)) beside(table.parentElement ?? table, tableTools(table, title));
  };
  const watcher = new MutationObserver(equip);
  watcher.observe(page, { childList: true, subtree: true });
  signal.addEventListener("abort", () => watcher.disconnect());
  equip();
}

/** beside puts tools behind an element, once. */
function beside(element: Element, tools: HTMLElement): void {
  if (element.nextElementSibling?.classList.contains("tools") !== true) element.after(tools);
}

function pictureTools(picture: SVGSVGElement, title: () => string): HTMLElement {
  const about = (): string => `${title()} ${picture.closest("figure")?.querySelector("figcaption")?.textContent.slice(0, 60) ?? headingBefore(picture)}`;
  return el("div", { class: "tools screen" },
    button("SVG", () => save(fileName(about(), "svg"), svgFile(picture)), { title: "Save this picture as SVG", "aria-label": "Save this picture as SVG" }),
    button("PNG", async () => {
      try {
        save(fileName(about(), "png"), await pngFile(picture));
      } catch (error) {
        alert(sentence(error));
      }
    }, { title: "Save this picture as PNG", "aria-label": "Save this picture as PNG" }));
}

function tableTools(table: HTMLTableElement, title: () => string): HTMLElement {
  return csvTool(() => `${title()} ${table.parentElement?.getAttribute("aria-label") ?? ""}`, () => cells(table));
}

/** csvTool saves rows as CSV. */
export const csvTool = (name: () => string, rows: () => string[][]): HTMLElement => el("div", { class: "tools screen" },
  button("CSV", () => save(fileName(name(), "csv"), new Blob([csv(rows())], { type: "text/csv;charset=utf-8" })), { title: "Save this table as CSV", "aria-label": "Save this table as CSV" }));

/** headingBefore finds the heading under which an element stands. */
function headingBefore(element: Element): string {
  for (let here: Element | null = element; here !== null; here = here.parentElement) {
    for (let before = here.previousElementSibling; before !== null; before = before.previousElementSibling) {
      if (/^H[1-4]$/.test(before.tagName)) return before.textContent;
    }
  }
  return "";
}
