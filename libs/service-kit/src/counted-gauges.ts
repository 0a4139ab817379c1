/** Gauges of table contents. Every process that shares the tables reports the same values: use max, not sum. */
import { setTimeout as delay } from 'node:timers/promises';
import { Gauge, Registry as MetricsRegistry } from 'prom-client';

export { MetricsRegistry };

export interface CountedGauge<Counts> {
  readonly name: string;
  readonly help: string;
  /** The label that distinguishes the values. */
  readonly label: string;
  /** The number for each value of the label. */
  readonly numbers: Readonly<Record<string, (counts: Counts) => number>>;
}

/** How old the numbers may be: scrapes in quick succession share one count. */
const freshForMs = 10_000;
/** Shorter than the time limit of a scrape. Otherwise all other metrics of the process would be missing too. */
const waitMaxMs = 2_000;

/**
 * A reading of the database for scrapes. A scrape must not fail, hang or load the database. Therefore a
 * reading serves for `freshForMs`, one runs at a time, and the result is null if it fails or is late.
 */
export function readForScrape<Value>(
  read: () => Promise<Value>,
  freshForMs: number,
  lateAfterMs = waitMaxMs,
): () => Promise<Value | null> {
  let known: Promise<Value | null> | null = null;
  let readAtMs = 0;
  let isUnderWay = false;
  return () => {
    const isFresh = isUnderWay || performance.now() - readAtMs < freshForMs;
    if (known === null || !isFresh) {
      readAtMs = performance.now();
      isUnderWay = true;
      known = read()
        .catch(() => null)
        .finally(() => (isUnderWay = false));
    }
    return orNull(known, lateAfterMs);
  };
}

async function orNull<Value>(
  value: Promise<Value | null>,
  lateAfterMs: number,
): Promise<Value | null> {
  const answered = new AbortController();
  const { signal } = answered;
  const late = delay(lateAfterMs, null, { signal }).catch(() => null);
  try {
    return await Promise.race([value, late]);
  } finally {
    answered.abort();
  }
}

/** Registers the gauges. All are NaN while the numbers are unknown. */
export function countedGauges<Counts>(
  registry: MetricsRegistry,
  read: () => Promise<Counts>,
  gauges: readonly CountedGauge<Counts>[],
): void {
  const counts = readForScrape(read, freshForMs);
  for (const { name, help, label, numbers } of gauges)
    new Gauge({
      name,
      help: `${help}; NaN while the database is unavailable`,
      labelNames: [label],
      registers: [registry],
      async collect() {
        const current = await counts();
        for (const [value, numberOf] of Object.entries(numbers))
          this.set({ [label]: value }, current === null ? Number.NaN : numberOf(current));
      },
    });
}
