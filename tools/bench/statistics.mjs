/** Nearest-rank quantile of sorted values; null when there are none. */
export function quantile(sorted, q) {
  return sorted[Math.max(0, Math.ceil(sorted.length * q) - 1)] ?? null;
}

/** The mean of the two in the middle if their number is even. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2;
}

/** Of measurements that were repeated: how far they lie apart says how far the median can be trusted. */
export function spread(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** p50 and p99 of latencies in ms, in any order. */
export function quantilesOf(latencies) {
  const sorted = latencies.toSorted((a, b) => a - b);
  return { p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) };
}
