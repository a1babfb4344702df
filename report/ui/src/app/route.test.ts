import { expect, test } from "vitest";
import { link, parseRoute } from "./route";

test.each([
  ["", [], {}],
  ["#/", [], {}],
  ["#/run/1/cell/3?metric=onload", ["run", "1", "cell", "3"], { metric: "onload" }],
  ["#/file/a%2Fb%3Fc.yaml?x=1%262&y=%3F", ["file", "a/b?c.yaml"], { x: "1&2", y: "?" }],
  ["#/load/%zz", ["load", "%zz"], {}],
])("the address %s", (hash, path, query) => expect(parseRoute(hash)).toEqual({ path, query }));

test.each([["a b", "x&y=z"], ["a/b", "#?"], ["ä%", "%"]])("an address with %s and %s leads back to itself", (name, value) => {
  expect(parseRoute(link(["file", name], { value, empty: "", none: undefined }))).toEqual({ path: ["file", name], query: { value } });
});
