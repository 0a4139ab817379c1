/** Erasures that do not come to their end by themselves. */
import { countUnfinishedErasures } from '@pis/read-models';
import { countedGauges, type MetricsRegistry } from '@pis/service-kit';
import type pg from 'pg';

/** An erasure usually takes ten seconds. */
const olderThanMs = 15 * 60_000;
/** The highest count. A larger number is reported as this one. */
const countMax = 10_000;

export function erasureGauge(registry: MetricsRegistry, pool: pg.Pool): void {
  countedGauges(registry, () => countUnfinishedErasures(pool, { olderThanMs, max: countMax }), [
    {
      name: 'pis_unfinished_erasures',
      help: 'Contacts and originators whose erasure began more than 15 minutes ago and has not ended, by phase, counted up to 10000',
      label: 'phase',
      numbers: {
        requested: ({ requested }) => requested,
        confirmed: ({ confirmed }) => confirmed,
        rewriting: ({ rewriting }) => rewriting,
      },
    },
  ]);
}
