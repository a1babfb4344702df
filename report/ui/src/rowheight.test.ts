import { expect, test } from "vitest";
import { rowHeight } from "./layout";

test.each([[1, 9], [30, 9], [100, 3], [197, 1.6], [560, 1.6], [5000, 0.18]])("%d requests have rows of height %d", (requests, want) => expect(rowHeight(requests)).toBeCloseTo(want, 3));
