/**
 * Deletes what the bank has forgotten, once a day and some rows at a time: transfers with their executions, reports
 * that were published, and the digests of files. It is kept for a month longer, so that a transfer that was executed
 * twice can be found in the books.
 */
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { type Logger, Repeating } from '@pis/service-kit';
import type pg from 'pg';

export interface BooksUpkeepOptions {
  readonly pool: pg.Pool;
  /** Of the bank's terms. */
  readonly referenceMemoryMs: number;
  readonly logger: Logger;
}

const dayMs = 24 * 3_600_000;
const keptLongerMs = 30 * dayMs;
/** Rows of one table that one statement deletes. */
const batchMax = 5_000;
/** The pause before the next round, while there is more. */
const pauseMs = 200;
const retryMs = 60_000;

export class BooksUpkeep implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly repeating: Repeating;

  constructor(private readonly options: BooksUpkeepOptions) {
    this.repeating = new Repeating({
      round: () => this.round(),
      failed(error) {
        options.logger.warn({ err: error }, 'old transfers could not be deleted yet');
        return retryMs;
      },
    });
  }

  onApplicationBootstrap(): void {
    this.repeating.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.repeating.stop();
  }

  /** @returns milliseconds until the next round */
  async round(): Promise<number> {
    const { pool, referenceMemoryMs } = this.options;
    const values = [referenceMemoryMs + keptLongerMs, batchMax];
    const counts: (number | null)[] = [];
    for (const text of [reportsSql, transfersSql, filesSql])
      counts.push((await pool.query(text, values)).rowCount);
    return counts.includes(batchMax) ? pauseMs : dayMs;
  }
}

const isOld = (column: string) => `${column} < now() - $1::float8 * interval '1 millisecond'`;

/** The last number stays: the next one follows it. */
const reportsSql = `
  DELETE FROM bank_notifications WHERE id IN (
    SELECT id FROM bank_notifications
     WHERE ${isOld('due_at')} AND sequence < (SELECT max(sequence) FROM bank_notifications)
     LIMIT $2)`;

const transfersSql = `
  WITH old AS (
    SELECT reference FROM bank_transfers WHERE ${isOld('submitted_at')} LIMIT $2
       FOR UPDATE SKIP LOCKED
  ), ended AS (
    DELETE FROM bank_executions e USING old WHERE e.reference = old.reference
  )
  DELETE FROM bank_transfers t USING old WHERE t.reference = old.reference`;

const filesSql = `
  DELETE FROM bank_files_received WHERE sha256 IN (
    SELECT sha256 FROM bank_files_received WHERE ${isOld('received_at')} LIMIT $2)`;
