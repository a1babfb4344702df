import { type Critical } from "./data";

/** Part is one kind's stretch of a bar, ms from the bar's start. */
export interface Part {
  kind: number;
  from: number;
  to: number;
}

/** parts lays the kinds of a critical path end to end; those that took no time are left out. */
export function parts(critical: Critical): Part[] {
  const result: Part[] = [];
  let from = 0;
  critical.kinds.forEach((ns, kind) => {
    const to = from + ns / 1e6;
    if (ns > 0) result.push({ kind, from, to });
    from = to;
  });
  return result;
}
