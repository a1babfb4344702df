import type { Mistake } from "./api";

/** Part is a piece of a line, marked where something is wrong. */
export interface Part {
  text: string;
  wrong: boolean;
}

/** markedLines cuts a text into lines, and each line where a word begins or ends that a mistake points to. A mistake behind a line's end marks its last character. */
export function markedLines(text: string, mistakes: Mistake[]): Part[][] {
  return text.split("\n").map((line, i) => {
    const letters = [...line];
    const wrong = letters.map(() => false);
    for (const m of mistakes) {
      if (m.line !== i + 1) continue;
      const from = Math.max(0, Math.min(m.column - 1, letters.length - 1));
      for (let at = from; at < letters.length && (at === from || !/[\s,\]}]/.test(letters[at] ?? "")); at++) wrong[at] = true;
    }
    const parts: Part[] = [];
    letters.forEach((letter, at) => {
      const last = parts.at(-1);
      const is = wrong[at] === true;
      if (last === undefined || last.wrong !== is) parts.push({ text: letter, wrong: is });
      else last.text += letter;
    });
    return parts;
  });
}

/** offsetOf returns where in a text a mistake is, in the units of a text field's selection. */
export function offsetOf(text: string, { line, column }: Mistake): number {
  const lines = text.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0);
  const here = [...(lines[line - 1] ?? "")].slice(0, Math.max(0, column - 1)).join("");
  return Math.min(text.length, before + here.length);
}
