import { el, scrolling } from "../dom";
import { fixed, moment } from "../format";
import { ask, type Studies } from "./api";
import type { Context, Page } from "./page";
import { link } from "./route";

/** studiesPage lists the studies that can be started: the files of the folder, and the built-in ones. */
export async function studiesPage(context: Context): Promise<Page> {
  const box = el("div");
  const fill = async (): Promise<void> => {
    const studies = await ask<Studies>("/api/studies", { signal: context.signal });
    box.replaceChildren(files(studies), create(studies), el("h2", {}, "Built-in studies"), builtin(studies));
  };
  await fill();
  context.live.on("study", () => void fill().catch(() => undefined), context.signal);
  return { title: "Studies", trail: [], body: [box] };
}

function files({ folder, files }: Studies): HTMLElement {
  return el("section", {}, el("h2", {}, "Study files"), el("p", { class: "facts" }, "In the folder ", el("code", {}, folder), "."),
    files.length === 0 ? el("p", {}, "There is none yet.") : scrolling("Study files", el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "File"), el("th", { scope: "col" }, "Changed"), el("th", { scope: "col", class: "number" }, "Size (kB)"))),
      el("tbody", {}, ...files.map((f) => el("tr", {}, el("th", { scope: "row" }, el("a", { href: link(["studies", "files", f.name]) }, f.name)), el("td", {}, moment(f.modified)), el("td", { class: "number" }, fixed(f.octets / 1000, 1))))))));
}

/** create opens the editor with a new file. */
function create({ files }: Studies): HTMLElement {
  const name = el("input", { type: "text", size: 24, required: true, pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*", placeholder: "my-study", title: "Letters, digits, '.', '_' and '-'" });
  return el("form", { class: "screen", onsubmit: (event) => {
    event.preventDefault();
    const file = /\.ya?ml$/.test(name.value) ? name.value : `${name.value}.yaml`;
    name.setCustomValidity(files.some((f) => f.name === file) ? "There is a file of this name." : "");
    if (name.reportValidity()) location.hash = link(["studies", "files", file]);
  }, oninput: () => name.setCustomValidity("") }, el("label", {}, "New study file ", name), " ", el("button", { type: "submit", class: "do" }, "Write it"));
}

const builtin = ({ builtin }: Studies): HTMLElement => scrolling("Built-in studies", el("table", {},
  el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Study"), el("th", { scope: "col" }, "What it measures"))),
  el("tbody", {}, ...builtin.map((s) => el("tr", {}, el("th", { scope: "row" }, el("a", { href: link(["studies", "builtin", s.name]) }, s.name)), el("td", {}, s.title ?? "", s.description === undefined ? null : el("small", { class: "why" }, s.description)))))));
