// Colours of ratios: blue below 1, orange above, which the colour-blind can tell apart (Okabe and Ito).

type Colour = readonly [red: number, green: number, blue: number];

const [middle, below, above]: [Colour, Colour, Colour] = [[247, 247, 247], [0, 84, 147], [196, 78, 0]];

/** strongest is the ratio, or its inverse, from which a colour is at its strongest. */
const strongest = 4;

/** shade returns the colour of a ratio above 0, and that of letters on it. Equal factors up and down are equally strong. */
export function shade(ratio: number): { fill: string; ink: string } {
  const strength = Math.min(1, Math.abs(Math.log(ratio)) / Math.log(strongest));
  const end = ratio < 1 ? below : above;
  const mixed = middle.map((m, i) => Math.round(m + ((end[i] ?? m) - m) * strength));
  return { fill: `rgb(${mixed.join(" ")})`, ink: luminance(mixed) < 0.18 ? "white" : "black" };
}

/** luminance is that of WCAG 2: below 0.18, white letters have more contrast than black ones. */
export function luminance(colour: readonly number[]): number {
  const [red = 0, green = 0, blue = 0] = colour.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** standing says on which side of 1 a ratio lies for certain. */
export function standing(s: { low: number; high: number; interval: boolean }): "below" | "above" | "undecided" {
  if (!s.interval) return "undecided";
  return s.high < 1 ? "below" : s.low > 1 ? "above" : "undecided";
}
