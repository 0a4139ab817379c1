/**
 * Limits what adds events that are kept forever: changes of users, new API keys, and the recorded actions of users.
 * Counts live in this process. Disabling is not limited: it adds an event only to an enabled user, and it must always work.
 */
import { BoundedMap, RateLimited } from '@pis/http-api';

export const changesPerHourMax = 60;
const windowMs = 3_600_000;
const countsMax = 10_000;

interface Count {
  changes: number;
  readonly endsAtMs: number;
}

export class ChangeLimit {
  private readonly counts = new BoundedMap<string, Count>(countsMax);

  /** @param clock milliseconds, monotonic; injected by tests */
  constructor(
    private readonly isOn: boolean,
    private readonly perHourMax: number = changesPerHourMax,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** @param id an organization, or a user for the user's own changes. @throws RateLimited */
  take(id: string): void {
    this.check(id);
    this.countOf(id).changes += 1;
  }

  /** Counts nothing. @throws RateLimited when no change is left */
  check(id: string): void {
    const { changes, endsAtMs } = this.countOf(id);
    if (!this.isOn || changes < this.perHourMax) return;
    const waitSeconds = Math.max(1, Math.ceil((endsAtMs - this.clock()) / 1_000));
    throw new RateLimited({ remaining: 0, waitSeconds });
  }

  private countOf(id: string): Count {
    const known = this.counts.get(id);
    const nowMs = this.clock();
    if (known !== undefined && known.endsAtMs > nowMs) return known;
    const count = { changes: 0, endsAtMs: nowMs + windowMs };
    this.counts.set(id, count);
    return count;
  }
}
