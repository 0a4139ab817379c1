/**
 * Keeps the archive of bank files as small as it may be. Once a day, and page by page while there is more: what may
 * speak of anybody is destroyed after half a year, files are deleted after the retention period, and the keys of single
 * files after their files. Several executors may do this at once.
 */
import { blankUnmatched, forgetArchived, forgetFileKeys } from '@pis/bank-rails/connections';
import type { Keyring } from '@pis/keyring';
import { type Logger, Repeating } from '@pis/service-kit';
import type pg from 'pg';

export interface ArchiveUpkeepOptions {
  readonly pool: pg.Pool;
  readonly keyring: Pick<Keyring, 'destroy'>;
  /** PIS_RETENTION_YEARS. */
  readonly retentionYears: number;
  readonly logger: Logger;
}

const dayMs = 24 * 3_600_000;
const everyMs = dayMs;
/** Files of one round: about a tenth of a second of work. */
const batchMax = 1_000;
/** The pause before the next round, while there is more. */
const pauseMs = 100;
const retryMs = 60_000;
/** Also without a retention period: for so long a bank may return a transfer, and staff look into it. */
const keptAtLeastDays = 400;

export class ArchiveUpkeep {
  private readonly repeating: Repeating;
  /** The page of the keys of files that is next. */
  private keysAfter = '';

  constructor(private readonly options: ArchiveUpkeepOptions) {
    this.repeating = new Repeating({
      round: () => this.round(),
      failed(error) {
        options.logger.warn({ err: error }, 'old bank files could not be deleted yet');
        return retryMs;
      },
    });
  }

  start(): void {
    this.repeating.start();
  }

  async stop(): Promise<void> {
    await this.repeating.stop();
  }

  /** @returns milliseconds until the next round */
  async round(): Promise<number> {
    const { pool, keyring, logger } = this.options;
    const ends = {
      pool,
      destroyKeys: (owners: Parameters<Keyring['destroy']>[0]) => keyring.destroy(owners),
    };
    const blanked = await blankUnmatched(ends, batchMax);
    const deleted = await forgetArchived(ends, this.keptSince(), batchMax);
    if (blanked + deleted > 0) logger.info({ blanked, deleted }, 'old bank files have ended');
    const nextKeys = await forgetFileKeys(ends, this.keysAfter, batchMax);
    this.keysAfter = nextKeys ?? '';
    const hasMore = blanked === batchMax || deleted === batchMax || nextKeys !== null;
    return hasMore ? pauseMs : everyMs;
  }

  private keptSince(): Date {
    const since = new Date();
    since.setUTCFullYear(since.getUTCFullYear() - this.options.retentionYears);
    return new Date(Math.min(since.getTime(), Date.now() - keptAtLeastDays * dayMs));
  }
}
