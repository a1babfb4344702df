/** Far is a load whose value lies far from the others of its cell, and on which side. */
export type Far = "low" | "high" | null;

/**
 * outliers says of each value whether it lies more than 1.5 times the interquartile range below the lower or above the upper quartile (Tukey 1977).
 * Fewer than four values have no outliers. Quartiles are interpolated linearly.
 */
export function outliers(values: number[]): Far[] {
  if (values.length < 4) return values.map(() => null);
  const sorted = [...values].sort((a, b) => a - b);
  const [lower, upper] = [quantile(sorted, 0.25), quantile(sorted, 0.75)];
  const reach = 1.5 * (upper - lower);
  return values.map((v) => (v < lower - reach ? "low" : v > upper + reach ? "high" : null));
}

function quantile(sorted: number[], share: number): number {
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)] ?? 0;
  return below + (place % 1) * ((sorted[Math.ceil(place)] ?? below) - below);
}
