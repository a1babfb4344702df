import { expect, test } from "vitest";
import { markedLines, offsetOf } from "./mistakes";

const at = (line: number, column: number): { line: number; column: number; message: string } => ({ line, column, message: "" });
const shown = (text: string, ...mistakes: ReturnType<typeof at>[]): string => markedLines(text, mistakes).map((line) => line.map((p) => (p.wrong ? `«${p.text}»` : p.text)).join("")).join("\n");

test.each([
  ["the word that a mistake points to", "a: [h2, htp3]\nb: 1", [at(1, 9)], "a: [h2, «htp3»]\nb: 1"],
  ["one letter of a space", "a:  b", [at(1, 3)], "a:« » b"],
  ["the last letter if the mistake is behind the line", "abc\n", [at(1, 9)], "ab«c»\n"],
  ["nothing in an empty line", "\nabc", [at(1, 1)], "\nabc"],
  ["characters, not units of UTF-16", "t: 🙂🙂 xyz", [at(1, 7)], "t: 🙂🙂 «xyz»"],
  ["two in one line", "ab cd", [at(1, 1), at(1, 4)], "«ab» «cd»"],
  ["nothing for a line that is not there", "ab", [at(7, 1)], "ab"],
])("marks %s", (_, text, mistakes, want) => expect(shown(text, ...mistakes)).toBe(want));

test("a mistake leads to its place in the text field", () => {
  expect(offsetOf("ab\ncd\n", at(2, 2))).toBe(4);
  expect(offsetOf("t: 🙂 x", at(1, 6))).toBe(6);
  expect(offsetOf("ab", at(9, 9))).toBe(2);
});
