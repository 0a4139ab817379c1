/** Gauges of what tables hold: the same in every process that shares them, so take max over them, never sum. */
import { setTimeout as delay } from 'node:timers/promises';
import { Gauge, Registry as MetricsRegistry } from 'prom-client';

export { MetricsRegistry };

export interface CountedGauge<Counts> {
  readonly name: string;
  readonly help: string;
  /** The label that tells the values apart. */
  readonly label: string;
  /** Each value of the label, and its number. */
  readonly numbers: Readonly<Record<string, (counts: Counts) => number>>;
}

/** How old the numbers may be: scrapes in quick succession count once. */
const freshForMs = 10_000;
/** Less than a scrape may take, or all other metrics of the process were missing, too. */
const waitMaxMs = 2_000;

/**
 * What is read for a scrape. A scrape must neither fail with the database nor hang with it, nor burden it:
 * what was read serves for `freshForMs`, one reading is under way at a time, and the answer is null when
 * it fails or is late.
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

/** Registers the gauges. All are NaN while the numbers are not known. */
export function countedGauges<Counts>(
  registry: MetricsRegistry,
  read: () => Promise<Counts>,
  gauges: readonly CountedGauge<Counts>[],
): void {
  const counts = readForScrape(read, freshForMs);
  for (const { name, help, label, numbers } of gauges)
    new Gauge({
      name,
      help: `${help}; NaN while the database is away`,
      labelNames: [label],
      registers: [registry],
      async collect() {
        const current = await counts();
        for (const [value, numberOf] of Object.entries(numbers))
          this.set({ [label]: value }, current === null ? Number.NaN : numberOf(current));
      },
    });
}
