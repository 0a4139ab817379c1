/** Reports the quarantine: a gauge, and one log line for each stream that is held back. */
import type { UnreadableEvent } from '@pis/event-store';
import { countQuarantine } from '@pis/read-models';
import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { readForScrape } from './counted-gauges.js';
import type { Logger } from './logging.js';

/** Limit of the count, so that the query stays quick. */
const streamsMax = 10_000;

/** The same value in every process of a system, because all count the same table. */
export function quarantineGauge(registry: Registry, pool: pg.Pool, logger: Logger): void {
  const read = readForScrape(async () => {
    try {
      return await countQuarantine(pool, streamsMax);
    } catch (err) {
      logger.debug({ err }, 'the quarantine was not counted');
      throw err;
    }
  }, 0);
  new Gauge({
    name: 'pis_quarantined_streams',
    help: 'Streams held back because of an event that cannot be read or passed on, by reader, counted up to 10000',
    labelNames: ['reader'],
    registers: [registry],
    async collect() {
      const counts = await read();
      // /health/ready names the database. The gauge keeps its last value.
      if (counts === null) return;
      this.reset();
      for (const { reader, streams } of counts) this.set({ reader }, streams);
    },
  });
}

export function heldLogger(logger: Logger): (reader: string, cause: UnreadableEvent) => void {
  return (reader, { event, reason }) => {
    const { streamId, id: eventId, type, position } = event;
    logger.error(
      { reader, streamId, eventId, type, position, reason },
      'stream quarantined: one of its events cannot be read or passed on',
    );
  };
}
