/**
 * Compares this process's clock with PostgreSQL's. The times of events come from the clock of the process that appends them, so one
 * that is wrong puts payments into other days and months. It only tells people: two clocks do not show which of them is wrong. Executors
 * send nothing new when they differ by more than an hour, and dispatchers no webhooks by more than four minutes, see `requireAgreeingClocks`.
 */
import { clockDifferenceMs } from '@pis/postgres';
import type pg from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { readForScrape } from './counted-gauges.js';
import type { Logger } from './logging.js';

export interface ClockWatchOptions {
  readonly pool: pg.Pool;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  readonly metrics: Registry;
  /** Milliseconds since the epoch; this process's clock when absent. */
  readonly clock?: () => number;
}

/** Much more than clocks that are kept by NTP, and less than does harm. */
const differenceMaxMs = 60_000;
/** The comparison of a health check serves for the scrapes of this time. */
const freshForMs = 10_000;

export class ClockWatch {
  private differenceMs = Number.NaN;
  private comparedAtMs = -Infinity;
  private differs = false;

  constructor(private readonly options: ClockWatchOptions) {
    const isFresh = () => performance.now() - this.comparedAtMs < freshForMs;
    const compared = readForScrape(() => this.compare(), 0);
    const difference = () => this.differenceMs;
    new Gauge({
      name: 'pis_clock_difference_seconds',
      help: 'How far the clock of this process is ahead of that of PostgreSQL; negative when it is behind',
      registers: [options.metrics],
      async collect() {
        // /health/ready names the database. The gauge keeps its last value.
        if (!isFresh()) await compared();
        this.set(difference() / 1_000);
      },
    });
  }

  /** Logs each change between clocks that agree and clocks that differ. @throws connection errors of PostgreSQL */
  async compare(): Promise<void> {
    const { pool, logger, clock } = this.options;
    this.differenceMs = await clockDifferenceMs(pool, clock);
    this.comparedAtMs = performance.now();
    const differs = Math.abs(this.differenceMs) > differenceMaxMs;
    if (differs === this.differs) return;
    this.differs = differs;
    const differenceSeconds = Math.round(this.differenceMs / 1_000);
    const side = differenceSeconds > 0 ? 'ahead of' : 'behind';
    if (differs)
      logger.warn(
        { differenceSeconds },
        `the clock of this process is ${Math.abs(differenceSeconds)} s ${side} that of PostgreSQL: see PisClockDiffers in docs/runbooks/log.md`,
      );
    else logger.info({ differenceSeconds }, 'the clocks of this process and of PostgreSQL agree');
  }
}
