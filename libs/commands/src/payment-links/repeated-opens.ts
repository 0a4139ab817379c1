/**
 * Counts opens that repeat one which is recorded already: the same row of the record (visit-rows.ts). They are
 * written together, at most `delayMs` after the first of them. So a reload costs no statement of its own.
 *
 * What always holds:
 * - the first open of a row is not counted here: it is durable before its page is answered;
 * - counts that could not be written are kept and written again. A process that is killed loses the counts of
 *   its last second, and no row. A count whose outcome is unknown may count twice.
 */
import type { LinkAccessLog, NewLinkAccess, RepeatedAccess } from './link-ports.js';

/** Rows that are known to be recorded. Beyond, the oldest are recorded again at their next open. */
const rowsMax = 10_000;
const repeatDelayMs = 1_000;

export class RepeatedOpens {
  /** In the order of their first open, by their ID. */
  private readonly recorded = new Map<string, NewLinkAccess>();
  private unwritten = new Map<string, RepeatedAccess>();
  private timer: NodeJS.Timeout | null = null;
  private isClosed = false;

  constructor(
    private readonly log: Pick<LinkAccessLog, 'recordRepeats'>,
    /** Counts were not written, and will be tried again. */
    private readonly onError: (error: unknown) => void,
    private readonly delayMs = repeatDelayMs,
  ) {}

  /** After the first open of a row was recorded. */
  add(access: NewLinkAccess): void {
    for (const oldest of this.recorded.keys()) {
      if (this.recorded.size < rowsMax) break;
      this.recorded.delete(oldest);
    }
    this.recorded.set(access.accessId, access);
  }

  /**
   * Whether the open was counted. If not, record it.
   * @param at ISO 8601
   */
  count(accessId: string, at: string): boolean {
    const access = this.recorded.get(accessId);
    if (access === undefined || this.isClosed || this.unwritten.size >= rowsMax) return false;
    this.note({ access, lastAt: at, count: 1 });
    this.timer ??= setTimeout(() => this.flush().catch(this.onError), this.delayMs);
    return true;
  }

  /** Writes what was counted. @throws StoreUnavailable; the counts are kept */
  async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const repeats = [...this.unwritten.values()];
    this.unwritten = new Map();
    if (repeats.length === 0) return;
    try {
      await this.log.recordRepeats(repeats);
    } catch (error) {
      for (const repeat of repeats) this.note(repeat);
      if (!this.isClosed)
        this.timer ??= setTimeout(() => this.flush().catch(this.onError), this.delayMs);
      throw error;
    }
  }

  /** Nothing is counted here any more. @throws StoreUnavailable */
  close(): Promise<void> {
    this.isClosed = true;
    return this.flush();
  }

  private note({ access, lastAt, count }: RepeatedAccess): void {
    const known = this.unwritten.get(access.accessId);
    const latest = known !== undefined && known.lastAt > lastAt ? known.lastAt : lastAt;
    const sum = (known?.count ?? 0) + count;
    this.unwritten.set(access.accessId, { access, lastAt: latest, count: sum });
  }
}
