/**
 * Keeps an empty partition of the log ready, and reports how many there are. Every process does so. Thus it is done as
 * long as anything runs, and whoever appends does not depend on another app.
 */
import { emptyLogPartitions, prepareLogPartitions } from '@pis/event-store';
import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { readForScrape } from './counted-gauges.js';
import type { Logger } from './logging.js';
import { Repeating } from './repeating.js';

export interface LogPartitionsOptions {
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly metrics: Registry;
  /** Whether the log is in this database. */
  readonly isUsed: boolean;
  readonly limits?: LogPartitionsLimits;
}

export interface LogPartitionsLimits {
  readonly everyMs: number;
  /** After a failure. */
  readonly againMs: number;
  /** How old the number of a scrape may be. */
  readonly freshForMs: number;
}

/** 50,000,000 events take many hours on the fastest machine. */
const limitsDefault: LogPartitionsLimits = {
  everyMs: 600_000,
  againMs: 60_000,
  freshForMs: 60_000,
};

export class LogPartitions {
  private readonly repeating: Repeating;

  constructor(private readonly options: LogPartitionsOptions) {
    const { pool, logger, metrics, isUsed, limits = limitsDefault } = options;
    this.repeating = new Repeating({
      round: async () => {
        await prepareLogPartitions(pool);
        return limits.everyMs;
      },
      failed: (err) => {
        logger.warn({ err }, 'the next partition of the log was not prepared');
        return limits.againMs;
      },
    });
    if (!isUsed) return;
    const read = readForScrape(() => emptyLogPartitions(pool), limits.freshForMs);
    new Gauge({
      name: 'pis_log_empty_partitions',
      help: 'Empty partitions of the log behind the one in use',
      registers: [metrics],
      async collect() {
        const empty = await read();
        // /health/ready names the database. The gauge keeps its last value.
        if (empty !== null) this.set(empty);
      },
    });
  }

  start(): void {
    if (this.options.isUsed) this.repeating.start();
  }

  async stop(): Promise<void> {
    await this.repeating.stop();
  }
}
