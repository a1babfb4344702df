import type { Data, Fact } from "./data";

/** kernels names the kernels of a run: the one that loads ran on first. On the virtual clock that is the guests', and the machine's only carried them. */
export function kernels(data: Pick<Data, "cells" | "environment">): Fact[] {
  const version = (name: string): string | undefined => data.environment.find((f) => f.name.toLowerCase() === name)?.value;
  const virtual = data.cells.some((c) => c.clock === "virtual");
  const guests = virtual ? version("virtual_kernel") : undefined;
  const machine = version("kernel");
  const facts = guests === undefined ? [] : [{ name: "Kernel of the virtual clock", value: guests }];
  return machine === undefined ? facts : [...facts, { name: virtual ? "Kernel of the machine" : "Kernel", value: machine }];
}
