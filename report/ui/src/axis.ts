// Axes of charts whose values are far apart, or close together.

/** wide is the ratio of the highest to the lowest value above which an axis is logarithmic. */
const wide = 30;

/** needsLog says whether a linear axis from zero would flatten the low values. */
export function needsLog(values: number[]): boolean {
  const above = values.filter((v) => v > 0);
  return above.length === values.length && above.length > 0 && Math.max(...above) > wide * Math.min(...above);
}

/** isGeometric says whether rising values need a logarithmic axis: they span decades and most of them are low, like doublings. */
export function isGeometric(rising: number[]): boolean {
  const middle = rising[Math.floor(rising.length / 2)] ?? 0;
  return needsLog(rising) && middle <= (rising.at(-1) ?? 0) / 8;
}

/** logTicks returns round values between two others: 1, 2 and 5 of each decade, or 1 alone if these would be too many. */
export function logTicks(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const result: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const digit of decades > 2.5 ? [1] : [1, 2, 5]) {
      const value = Number(`${digit}e${power}`);
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) result.push(value);
    }
  }
  return result;
}

/** stepDecimals is how many decimals tell the ticks of an axis apart, if there are about so many between two values. */
export function stepDecimals(low: number, high: number, ticks: number): number {
  return high > low ? Math.max(0, Math.ceil(-Math.log10((high - low) / ticks))) : 0;
}

/** spaced picks rising values that lie at least a gap apart, the first and the last among them if possible. */
export function spaced(values: number[], gap: number): number[] {
  const last = values.at(-1);
  if (last === undefined) return [];
  const result: number[] = [];
  for (const v of values.slice(0, -1)) {
    const before = result.at(-1);
    if ((before === undefined || v - before >= gap) && last - v >= gap) result.push(v);
  }
  return [...result, last];
}

/** short leaves out the beginning that all names share, up to a hyphen. */
export function short(names: string[]): string[] {
  const [first = "", ...others] = names;
  const shared = first.slice(0, first.lastIndexOf("-") + 1);
  return others.length > 0 && others.every((n) => n.startsWith(shared)) ? names.map((n) => n.slice(shared.length)) : names;
}
