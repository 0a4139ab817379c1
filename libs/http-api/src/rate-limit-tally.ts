/**
 * Counts in PostgreSQL what all gateways together have allowed, with rate-limiter-flexible. Gateways
 * publish their counts in batches in the background, so no request waits. While PostgreSQL is
 * unavailable nothing is counted, each gateway limits on its own, and logs this once.
 */
import type { Logger } from '@pis/service-kit';
import { RateLimiterPostgres } from 'rate-limiter-flexible';

export interface Counted {
  /** The count of all gateways in the current window, including this batch. */
  readonly total: number;
  readonly windowAgeMs: number;
}

export interface RateLimitTally {
  /** If false, do not publish now. */
  isFree(): boolean;
  /** Null if the batch was not counted. Publish it with the next one. */
  add(id: string, count: number): Promise<Counted | null>;
}

/** Long, because counts at the end of a window are lost. Short enough that the count fits its integer. */
const windowSeconds = 60;
/** At most this many of the ten connections, which lists and health checks also use. */
const inFlightMax = 4;
const pauseAfterFailureMs = 1_000;
const table = 'rate_limits';

export function postgresTally(options: {
  /** A pool of `pg`. */
  readonly pool: object;
  /** The kind of IDs: keys or addresses. */
  readonly kind: string;
  readonly logger: Logger;
}): RateLimitTally {
  const limiter = new RateLimiterPostgres({
    storeClient: options.pool,
    storeType: 'pool',
    tableName: table,
    tableCreated: true,
    keyPrefix: options.kind,
    // Only its counter is used: penalty() counts and never refuses.
    points: 1,
    duration: windowSeconds,
  });
  const outage = noticeOnce(options.logger, options.kind);
  let inFlight = 0;
  let pausedUntilMs = 0;
  return {
    isFree: () => inFlight < inFlightMax && performance.now() >= pausedUntilMs,
    add: async (id, count) => {
      inFlight += 1;
      try {
        const { consumedPoints, msBeforeNext } = await limiter.penalty(id, count);
        outage.over();
        // A window ends by the clock of the gateway that began it, which may differ from ours.
        const ageMs = windowSeconds * 1_000 - msBeforeNext;
        return { total: consumedPoints, windowAgeMs: Math.max(0, ageMs) };
      } catch (error) {
        pausedUntilMs = performance.now() + pauseAfterFailureMs;
        outage.begins(error);
        return null;
      } finally {
        inFlight -= 1;
      }
    },
  };
}

function noticeOnce(logger: Logger, kind: string) {
  let isAway = false;
  return {
    begins: (error: unknown) => {
      if (!isAway)
        logger.warn({ err: error, kind }, 'rate limits are of this process alone for now');
      isAway = true;
    },
    over: () => {
      if (isAway) logger.info({ kind }, 'rate limits are shared again');
      isAway = false;
    },
  };
}
