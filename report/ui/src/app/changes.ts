import { endOf, type Request } from "../data";

/** Change is how a resource fared in two loads, ms; what only one of them has is null in the other. */
export interface Change {
  url: string;
  only: "a" | "b" | null;
  endA: number | null;
  endB: number | null;
  later: number | null; // endB - endA
  asked: number | null; // of its start
  took: number | null; // of its duration
  bytes: number | null;
  priority: [string, string] | null; // where it differs
  protocol: [string, string] | null;
}

/** changes pairs the requests of two loads by URL, the n-th for a URL with the n-th; the largest differences come first, then what only one load has. */
export function changes(a: Request[], b: Request[]): Change[] {
  const others = new Map<string, Request[]>();
  for (const r of b) others.set(r.url, [...(others.get(r.url) ?? []), r]);
  const result = a.map((left): Change => {
    const right = others.get(left.url)?.shift();
    return right === undefined ? alone(left, "a") : {
      url: left.url, only: null, endA: endOf(left), endB: endOf(right),
      later: endOf(right) - endOf(left), asked: right.start - left.start, took: endOf(right) - right.start - (endOf(left) - left.start),
      bytes: left.bytes < 0 || right.bytes < 0 ? null : right.bytes - left.bytes,
      priority: left.priority === right.priority ? null : [left.priority, right.priority],
      protocol: left.protocol === right.protocol ? null : [left.protocol, right.protocol],
    };
  });
  for (const left of others.values()) result.push(...left.map((r) => alone(r, "b")));
  return result.sort((x, y) => Math.abs(y.later ?? 0) - Math.abs(x.later ?? 0));
}

function alone(r: Request, only: "a" | "b"): Change {
  return { url: r.url, only, endA: only === "a" ? endOf(r) : null, endB: only === "b" ? endOf(r) : null, later: null, asked: null, took: null, bytes: null, priority: null, protocol: null };
}
