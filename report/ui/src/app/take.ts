// Taking away what is shown: pictures as SVG and PNG, tables as CSV.

import { el } from "../dom";

/** The properties that styles give to the shapes and words of a picture; a file of its own needs them on each element. */
const looks = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "paint-order",
  "font-family", "font-size", "font-weight", "font-variant-numeric", "text-anchor", "visibility", "vector-effect", "display",
] as const;

/** standalone copies a picture, with all that styles give it, on the page's background. */
export function standalone(picture: SVGSVGElement): SVGSVGElement {
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const { width, height } = picture.getBoundingClientRect();
  const originals = [picture, ...picture.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const original = originals[i];
    if (original === undefined) return;
    const style = getComputedStyle(original);
    element.removeAttribute("style");
    element.removeAttribute("class");
    for (const name of looks) {
      const value = style.getPropertyValue(name);
      if (value !== "") element.setAttribute(name, value);
    }
  });
  for (const sheet of copy.querySelectorAll("style")) sheet.remove();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(Math.round(width)));
  copy.setAttribute("height", String(Math.round(height)));
  if (!copy.hasAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${Math.round(width)} ${Math.round(height)}`);
  const [x = 0, y = 0, w = width, h = height] = (copy.getAttribute("viewBox") ?? "").split(/[ ,]+/).map(Number);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ x, y, width: w, height: h, fill: getComputedStyle(document.body).backgroundColor })) paper.setAttribute(name, String(value));
  copy.prepend(paper);
  return copy;
}

export const svgFile = (picture: SVGSVGElement): Blob => new Blob([new XMLSerializer().serializeToString(standalone(picture))], { type: "image/svg+xml" });

/** pngFile draws a picture at twice its size. */
export async function pngFile(picture: SVGSVGElement): Promise<Blob> {
  const address = URL.createObjectURL(svgFile(picture));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.width;
    canvas.height = 2 * image.height;
    const pen = canvas.getContext("2d");
    if (pen === null) throw new Error("draw the picture: this browser has no canvas");
    pen.scale(2, 2);
    pen.drawImage(image, 0, 0);
    return await new Promise((done, fail) => canvas.toBlob((blob) => (blob === null ? fail(new Error("draw the picture: it is too large for this browser")) : done(blob)), "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** cells reads a table as it is shown; what spans several columns or rows is repeated in each. */
export function cells(table: HTMLTableElement): string[][] {
  const grid: string[][] = [];
  [...table.rows].forEach((row, r) => {
    let column = 0;
    for (const cell of row.cells) {
      while (grid[r]?.[column] !== undefined) column++;
      const text = textOf(cell);
      for (let down = 0; down < cell.rowSpan; down++) {
        const line = (grid[r + down] ??= []);
        for (let across = 0; across < cell.colSpan; across++) line[column + across] = text;
      }
    }
  });
  return grid.map((line) => Array.from(line, (text) => text ?? ""));
}

/** textOf sets the parts of a cell apart by a space, as the page does by lines. */
function textOf(cell: Element): string {
  const parts: string[] = [];
  const walk = (node: Node): void => {
    if (node instanceof Text) parts.push(node.data);
    else if (!(node instanceof SVGElement)) for (const child of node.childNodes) walk(child);
  };
  walk(cell);
  return parts.map((p) => p.trim()).filter((p) => p !== "").join(" ");
}

/** save hands a file to the reader. */
export function save(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const a = el("a", { href: address, download: name });
  document.body.append(a);
  a.click();
  a.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // the browser must have begun to read it
}
