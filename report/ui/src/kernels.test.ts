import { expect, test } from "vitest";
import type { Cell } from "./data";
import { kernels } from "./kernels";

const environment = [{ name: "kernel", value: "6.12" }, { name: "virtual_kernel", value: "7.3" }, { name: "virtual_kernel_hash", value: "aa" }];
const on = (...clocks: Cell["clock"][]): string[] => kernels({ cells: clocks.map((clock) => ({ clock }) as Cell), environment }).map((f) => `${f.name} ${f.value}`);

test("a run names the kernel that its loads ran on first", () => {
  expect(on("real", "real")).toEqual(["Kernel 6.12"]);
  expect(on("virtual")).toEqual(["Kernel of the virtual clock 7.3", "Kernel of the machine 6.12"]);
  expect(on("virtual", "real")).toEqual(["Kernel of the virtual clock 7.3", "Kernel of the machine 6.12"]);
});

test("a run without an environment names none", () => expect(kernels({ cells: [], environment: [] })).toEqual([]));
