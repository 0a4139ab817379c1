/** Nearest-rank quantile of sorted values; null when there are none. */
export function quantile(sorted, q) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? null;
}

export function median(values) {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}
