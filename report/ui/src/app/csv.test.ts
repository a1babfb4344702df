import { expect, test } from "vitest";
import { csv, fileName } from "./csv";

test("numbers are written so that programs read them", () => {
  expect(csv([["h3", "1\u202f234.5", "\u22125", "12 kB"]])).toBe("h3,1234.5,-5,12 kB\r\n");
});

test("words with commas, quotes and lines are quoted", () => {
  expect(csv([['a, "b"', "c"], ["d"]])).toBe('"a, ""b""",c\r\nd\r\n');
});

test.each(["=1+1", "+cmd", "-x", "@sum", "＝1"])("no spreadsheet takes %s for a formula", (words) => expect(csv([[words]])).toBe(`'${words}\r\n`));

test.each([
  ["Waterfall of load r1-0007-a1, h2", "svg", "waterfall-of-load-r1-0007-a1-h2.svg"],
  ["../../etc", "csv", "..-..-etc.csv"],
  ["🙂", "csv", "wiretime.csv"],
])("a file name of %s", (words, ending, name) => expect(fileName(words, ending)).toBe(name));
