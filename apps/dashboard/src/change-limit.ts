/**
 * Limits the changes of users, each of which adds events to a stream that is kept forever. Counts live in this
 * process. Disabling is not limited: it adds an event only to an enabled user, and it must always work.
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
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** @param id an organization, or a user for the user's own changes. @throws RateLimited */
  take(id: string): void {
    if (!this.isOn) return;
    const known = this.counts.get(id);
    const nowMs = this.clock();
    const isKnown = known !== undefined && known.endsAtMs > nowMs;
    const count = isKnown ? known : { changes: 0, endsAtMs: nowMs + windowMs };
    if (!isKnown) this.counts.set(id, count);
    if (count.changes >= changesPerHourMax)
      throw new RateLimited({
        remaining: 0,
        waitSeconds: Math.max(1, Math.ceil((count.endsAtMs - nowMs) / 1_000)),
      });
    count.changes += 1;
  }
}
