import { el } from "../dom";
import { counted, fixed, list } from "../format";
import { ask, Failure, type Checked, type Mistake, type State, type StudyText } from "./api";
import { markedLines, offsetOf } from "./mistakes";
import { button, sentence, type Context, type Page } from "./page";
import { link } from "./route";

/** pause is how long nobody must have typed before the text is checked, ms. */
const pause = 200;

/** begun is what a new study file holds. */
const begun = (name: string): string => `name: ${name.replace(/\.ya?ml$/, "")}
title: What this study asks
seed: 1
repeats: 6
matrix:
  sites: [world-flags]
  protocols: [h2, h3]
  networks: [lte, cable]
  loaders: [builtin]
`;

interface Source {
  text: string;
  tag: string; // of the file; empty for a new file
  file: string; // under which it is saved
  saved: boolean;
  builtin?: string;
}

/** editorPage shows a study's text, checks it as it is typed, saves it and runs it. */
export async function editorPage(context: Context, kind = "", name = ""): Promise<Page> {
  const source = await open(context, kind, name);
  return { title: kind === "files" ? name : `Study ${source.file.replace(/\.yaml$/, "")}`, trail: [{ name: "Studies", href: link(["studies"]) }], body: [editor(context, source)] };
}

async function open(context: Context, kind: string, name: string): Promise<Source> {
  const get = (path: string): Promise<StudyText> => ask<StudyText>(path, { signal: context.signal });
  switch (kind) {
    case "files":
      try {
        const { text, tag } = await get(`/api/studies/files/${encodeURIComponent(name)}`);
        return { text, tag: tag ?? "", file: name, saved: true };
      } catch (error) {
        if (error instanceof Failure && error.status === 404) return { text: begun(name), tag: "", file: name, saved: false };
        throw error;
      }
    case "builtin":
      return { text: (await get(`/api/studies/builtin/${encodeURIComponent(name)}`)).text, tag: "", file: `${name}.yaml`, saved: true, builtin: name };
    case "run": {
      const study = await get(`/api/runs/${encodeURIComponent(name)}/study`);
      return { text: study.text, tag: "", file: `${study.name}.yaml`, saved: false };
    }
    default:
      throw new Failure(404, `There are no studies of the kind ${kind}.`);
  }
}

function editor(context: Context, source: Source): HTMLElement {
  let { tag, saved } = source;
  let unchanged = source.text; // what the file or the built-in study holds
  const area = el("textarea", { spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "Study file", "aria-describedby": "mistakes" });
  const marks = el("pre", { class: "marks", "aria-hidden": "true" });
  const numbers = el("pre", { class: "numbers", "aria-hidden": "true" });
  const said = el("div", { id: "mistakes", class: "mistakes", role: "status" });
  const conflict = el("div", { role: "alert" });
  const file = el("input", { type: "text", value: source.file, size: 28, pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*\\.ya?ml", "aria-label": "File name" });
  const runs = el("div", { class: "runs-it" });
  let checking = new AbortController();
  let waiting = 0;

  const draw = (mistakes: Mistake[]): void => {
    const lines = markedLines(area.value, mistakes);
    area.rows = Math.max(12, lines.length + 1);
    marks.replaceChildren(...lines.flatMap((parts) => [...parts.map((p) => (p.wrong ? el("mark", {}, p.text) : p.text)), "\n"]));
    const wrong = new Set(mistakes.map((m) => m.line));
    numbers.replaceChildren(...lines.flatMap((_, i) => [el("span", { class: wrong.has(i + 1) ? "wrong" : "" }, String(i + 1)), "\n"]));
    area.setAttribute("aria-invalid", String(mistakes.length > 0));
  };
  const check = async (): Promise<void> => {
    checking.abort();
    checking = new AbortController();
    const { signal } = checking;
    try {
      const { errors, plan } = await ask<Checked>("/api/studies/check", { method: "POST", body: { name: file.value, text: area.value }, signal: AbortSignal.any([signal, context.signal]) });
      draw(errors);
      said.replaceChildren(errors.length > 0 ? mistakeList(errors) : el("p", { class: "good" }, plan === undefined ? "No mistakes." : planned(plan)));
      offer(errors.length === 0 ? plan : undefined);
    } catch (error) {
      if (!signal.aborted && !context.signal.aborted) said.replaceChildren(el("p", { class: "failure" }, sentence(error)));
    }
  };
  const mistakeList = (mistakes: Mistake[]): HTMLElement => el("ul", {}, ...mistakes.map((m) => el("li", {}, el("button", { type: "button", onclick: () => {
    const at = offsetOf(area.value, m);
    area.focus();
    area.setSelectionRange(at, at);
  } }, m.line > 0 ? `Line ${m.line}, column ${m.column}` : "The study"), `: ${m.message}`)));

  const save = async (over = tag): Promise<void> => {
    if (!file.reportValidity()) return;
    const text = area.value;
    try {
      const other = file.value !== source.file || source.builtin !== undefined;
      const written = await ask<{ tag: string }>(`/api/studies/files/${encodeURIComponent(file.value)}`, { method: "PUT", body: { text, tag: other ? "" : over } });
      conflict.replaceChildren();
      context.say(`${file.value} is saved.`);
      if (other) {
        location.hash = link(["studies", "files", file.value]);
        return;
      }
      tag = written.tag;
      unchanged = text;
      saved = true;
      await check();
    } catch (error) {
      if (error instanceof Failure && error.status === 409) differs(error.message, error.body as { tag: string; text: string });
      else context.say(sentence(error), true);
    }
  };
  /** differs lets the reader choose between what is shown and what the file holds now. */
  const differs = (message: string, now: { tag: string; text: string }): void => {
    conflict.replaceChildren(el("p", { class: "failure" }, message),
      button("Show what the file holds", () => {
        take(now);
      }),
      file.value === source.file && source.builtin === undefined ? button("Overwrite it with this text", () => save(now.tag)) : "");
  };
  const take = (now: { tag: string; text: string }): void => {
    ({ tag } = now);
    unchanged = area.value = now.text;
    saved = true;
    conflict.replaceChildren();
    draw([]);
    void check();
  };
  context.live.on("study", (data) => {
    const changed = data as { name: string; tag: string };
    if (source.builtin !== undefined || changed.name !== source.file || changed.tag === tag || changed.tag === "") return;
    void ask<StudyText>(`/api/studies/files/${encodeURIComponent(source.file)}`, { signal: context.signal }).then((now) => {
      const fresh = { tag: now.tag ?? "", text: now.text };
      if (fresh.tag === tag) return;
      if (area.value === unchanged) {
        take(fresh);
        context.say(`${source.file} was changed by another program; this is what it holds now.`);
      } else differs(`${source.file} was changed by another program.`, fresh);
    }, () => undefined);
  }, context.signal);

  /** offer puts the buttons that run the study, which must be as it is saved. */
  const offer = (plan: Checked["plan"]): void => {
    const ready = plan !== undefined && saved && area.value === unchanged;
    const clock = el("select", { "aria-label": "Clock" }, ...[["", "the study's clock"], ["virtual", "virtual clock"], ["real", "real clock"]].map(([value = "", words = ""]) => el("option", { value }, words)));
    const start = (quick: boolean): Promise<void> => run(context, { ...(source.builtin === undefined ? { file: source.file } : { builtin: source.builtin }), quick, ...(clock.value === "" ? {} : { clock: clock.value }) });
    const commands = plan?.commands ?? [];
    runs.replaceChildren(
      ...(commands.length === 0 ? [] : [el("p", { class: "failure" }, "Its servers run these commands on this machine: "), el("ul", {}, ...commands.map((c) => el("li", {}, el("code", {}, c))))]),
      button("Run it", () => start(false), { disabled: !ready }), " ", button(plan === undefined ? "Quick run" : `Quick run: ${counted(plan.quickLoads, "load")}`, () => start(true), { disabled: !ready }), " on ", clock,
      ready || plan === undefined ? "" : el("span", { class: "facts" }, " Save it first."));
  };

  area.value = source.text;
  area.addEventListener("input", () => {
    draw([]);
    clearTimeout(waiting);
    waiting = setTimeout(() => void check(), pause);
    offer(undefined);
  });
  area.addEventListener("scroll", () => {
    marks.scrollLeft = area.scrollLeft;
  });
  area.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "s" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      void save();
    }
  });
  addEventListener("beforeunload", (event) => {
    if (area.value !== unchanged) event.preventDefault();
  }, { signal: context.signal });
  draw([]);
  offer(undefined);
  void check();
  return el("div", { class: "writing" },
    conflict,
    el("div", { class: "editor" }, numbers, el("div", { class: "text" }, marks, area)),
    el("div", { class: "beside" },
      said,
      el("p", {}, el("label", {}, "Save as ", file), " ", button("Save", () => save())),
      runs));
}

const planned = (p: NonNullable<Checked["plan"]>): string => `No mistakes. ${counted(p.cells, "cell")}, ${counted(p.loads, "load")}, clock ${list(p.clocks)}; a quick run makes ${fixed(p.quickLoads, 0)}.`;

/** run starts a study, and goes to where it can be followed. */
async function run(context: Context, what: { file?: string; builtin?: string; quick: boolean; clock?: string }): Promise<void> {
  try {
    await ask("/api/run", { method: "POST", body: what });
    context.say("The run begins …");
    context.live.on("state", (data) => {
      const { running, last } = data as State;
      if (running?.run !== undefined) location.hash = link(["runs", running.run, "live"]);
      else if (running === undefined && last !== undefined && last.code !== 0) context.say(last.said, true);
    }, context.signal);
  } catch (error) {
    context.say(sentence(error), true);
  }
}
