import type { Data } from "./data";

/** kernels names the kernels that loads ran on: the machine's on the real clock, the guests' on the virtual clock. */
export function kernels(data: Pick<Data, "cells" | "environment">): string[] {
  const named = { real: "kernel", virtual: "virtual_kernel" };
  const used = (["real", "virtual"] as const).filter((clock) => data.cells.some((c) => c.clock === clock));
  return used.flatMap((clock) => data.environment.filter((f) => f.name.toLowerCase() === named[clock]).map((f) => (used.length === 1 ? f.value : `${f.value} (${clock} clock)`)));
}
