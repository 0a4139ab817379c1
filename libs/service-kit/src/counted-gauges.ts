/** Gauges of what tables hold: the same in every process that shares them, so take max over them, never sum. */
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

/** Registers the gauges. All are NaN while `read` fails: a scrape must not fail with the database. */
export function countedGauges<Counts>(
  registry: MetricsRegistry,
  read: () => Promise<Counts>,
  gauges: readonly CountedGauge<Counts>[],
): void {
  let known: Promise<Counts | null> | null = null;
  let readAtMs = 0;
  const counts = () => {
    if (known === null || performance.now() - readAtMs > freshForMs) {
      readAtMs = performance.now();
      known = read().catch(() => null);
    }
    return known;
  };
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
