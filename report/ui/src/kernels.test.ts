import { expect, test } from "vitest";
import type { Cell } from "./data";
import { kernels } from "./kernels";

const environment = [{ name: "kernel", value: "6.12" }, { name: "virtual_kernel", value: "7.3" }, { name: "virtual_kernel_hash", value: "aa" }];
const on = (...clocks: Cell["clock"][]): string[] => kernels({ cells: clocks.map((clock) => ({ clock }) as Cell), environment });

test("a run names the kernel that its loads ran on", () => {
  expect(on("real", "real")).toEqual(["6.12"]);
  expect(on("virtual")).toEqual(["7.3"]);
  expect(on("virtual", "real")).toEqual(["6.12 (real clock)", "7.3 (virtual clock)"]);
});
