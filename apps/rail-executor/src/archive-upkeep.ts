/**
 * Keeps the archive of bank files as small as it may be. Once a day, and page by page while there is more: what may
 * speak of anybody is destroyed after half a year, the keys of single files end after their files, and files are
 * deleted after the retention periods of the organizations whose payments they name. Several executors may do this at
 * once.
 *
 * What always holds: a page of files is deleted only by periods that were read after the list of organizations had
 * come to the end of the log. While it lags behind, or an organization is in quarantine, files wait.
 */
import {
  type ArchiveEnds,
  blankUnmatched,
  type FileCursor,
  forgetArchived,
  forgetFileKeys,
} from '@pis/bank-rails/connections';
import type { EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import { retentionPeriods, RetentionUnknown } from '@pis/read-models';
import { type Logger, Repeating } from '@pis/service-kit';
import type pg from 'pg';

export interface ArchiveUpkeepOptions {
  readonly pool: pg.Pool;
  readonly store: EventStore;
  readonly keyring: Pick<Keyring, 'destroy'>;
  /** PIS_RETENTION_YEARS: of organizations that have no period of their own. */
  readonly defaultRetentionYears: number;
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
  /** The page of the files that is next. */
  private filesAfter: FileCursor | null = null;

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

  /** One page of each. @returns milliseconds until the next round */
  async round(): Promise<number> {
    const { pool, keyring, logger } = this.options;
    const ends = {
      pool,
      destroyKeys: (owners: Parameters<Keyring['destroy']>[0]) => keyring.destroy(owners),
    };
    const blanked = await blankUnmatched(ends, batchMax);
    const nextKeys = await forgetFileKeys(ends, this.keysAfter, batchMax);
    this.keysAfter = nextKeys ?? '';
    const deleted = await this.deletePage(ends);
    if (blanked + (deleted ?? 0) > 0)
      logger.info({ blanked, deleted: deleted ?? 0 }, 'old bank files have ended');
    if (deleted === null) return retryMs;
    const hasMore = blanked === batchMax || nextKeys !== null || this.filesAfter !== null;
    return hasMore ? pauseMs : everyMs;
  }

  /** @returns how many files; null when the retention periods are not known now */
  private async deletePage(ends: ArchiveEnds): Promise<number | null> {
    const { defaultRetentionYears, logger } = this.options;
    try {
      const periods = await retentionPeriods(this.options, defaultRetentionYears);
      const files = { ...periods, before: new Date(Date.now() - keptAtLeastDays * dayMs) };
      const page = { after: this.filesAfter, max: batchMax };
      const { forgotten, next } = await forgetArchived(ends, files, page);
      this.filesAfter = next;
      return forgotten;
    } catch (error) {
      if (!(error instanceof RetentionUnknown)) throw error;
      logger.info({ reason: error.message }, 'old bank files wait');
      return null;
    }
  }
}
