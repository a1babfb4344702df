// Numbers and words for people: thousands are set apart by a narrow space, the
// minus is a minus, a unit follows a no-break space.

const gap = "\u202f";
const space = "\u00a0";

/** fixed writes a number with a number of decimals. */
export function fixed(value: number, decimals: number): string {
  const [whole = "", part] = Math.abs(value).toFixed(decimals).split(".");
  const zero = Number(value.toFixed(decimals)) === 0;
  const sign = value < 0 && !zero ? "\u2212" : "";
  return sign + whole.replace(/\B(?=(\d{3})+$)/g, gap) + (part === undefined ? "" : "." + part);
}

/** decimalsFor is how many decimals show three digits of the given size, two at most. */
export function decimalsFor(size: number): number {
  const magnitude = Math.abs(size);
  return magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2;
}

/** A Scale says how the values of a metric are written in one table row or chart. */
export interface Scale {
  unit: string;
  factor: number; // value / factor is shown
  decimals: number;
}

/** scaleFor chooses unit and decimals so that all the given values can be compared digit by digit. */
export function scaleFor(unit: string, values: number[]): Scale {
  const largest = Math.max(0, ...values.map(Math.abs));
  if (unit === "ms") return { unit, factor: 1, decimals: decimalsFor(largest) };
  if (unit === "B") return { unit: "kB", factor: 1000, decimals: decimalsFor(largest / 1000) };
  return { unit, factor: 1, decimals: largest >= 100 || values.every(Number.isInteger) ? 0 : 1 };
}

export const scaled = (value: number, scale: Scale): string => fixed(value / scale.factor, scale.decimals);

/** duration writes ms for running text: 12.3 ms, 870 ms, 1.27 s. */
export function duration(ms: number): string {
  return Math.abs(ms) < 1000 ? fixed(ms, decimalsFor(ms)) + space + "ms" : fixed(ms / 1000, Math.abs(ms) < 100_000 ? 2 : 0) + space + "s";
}

/** quantity writes a figure of any unit for running text. */
export function quantity(value: number, unit: string): string {
  if (unit === "ms") return duration(value);
  const scale = scaleFor(unit, [value]);
  return fixed(value / scale.factor, unit === "B" ? scale.decimals : decimalsFor(value)) + space + scale.unit;
}

/** roughly writes how long something takes as people say it: 12 s, 3 min, 2 h 5 min. */
export function roughly(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 100) return `${seconds}${space}s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes}${space}min` : `${Math.floor(minutes / 60)}${space}h ${minutes % 60}${space}min`;
}

/** share writes a ratio without its unit: one decimal below ten per cent, none above. */
export function share(ratio: number): string {
  return fixed(ratio * 100, Math.abs(ratio) < 0.0995 ? 1 : 0);
}

export const percent = (ratio: number): string => share(ratio) + space + "%";

/** behind writes by how much something is slower: "+12 %", or "×2.4" from twice on. */
export function behind(ratio: number): string {
  return ratio < 1 ? "+" + percent(ratio) : "×" + fixed(1 + ratio, 1);
}

/** counted writes a number of things: "1 load", "12 loads". */
export function counted(n: number, thing: string): string {
  return fixed(n, 0) + space + thing + (n === 1 ? "" : "s");
}

/** list joins words: "a, b and c". */
export function list(words: string[]): string {
  return words.length < 2 ? words.join("") : words.slice(0, -1).join(", ") + " and " + words.at(-1);
}

/** moment writes an RFC 3339 time as UTC to the minute. */
export function moment(time: string): string {
  return new Date(time).toISOString().slice(0, 16).replace("T", " ") + space + "UTC";
}

/** resourceName shortens a URL to what tells it apart in a list: its last part, its host for the root. */
export function resourceName(url: string): string {
  const address = url.replace(/^[A-Z]+ /, "");
  if (!URL.canParse(address)) return url;
  const { host, pathname, search } = new URL(address);
  const last = pathname.split("/").filter(Boolean).at(-1);
  return (last ?? host + "/") + search;
}
