/**
 * What all gateways together have let through, counted in PostgreSQL by rate-limiter-flexible. It is
 * told in batches and in the background: no request ever waits for it. While PostgreSQL is away
 * nothing is counted here, which is said once, and each gateway limits by itself.
 */
import type { Logger } from '@pis/service-kit';
import { RateLimiterPostgres } from 'rate-limiter-flexible';

export interface Counted {
  /** Of all gateways in the window under way, this batch included. */
  readonly total: number;
  readonly windowAgeMs: number;
}

export interface RateLimitTally {
  /** False: do not ask now. */
  isFree(): boolean;
  /** Null when it was not counted: the next batch may bring it again. */
  add(id: string, count: number): Promise<Counted | null>;
}

/** Long, since what others use in the moment a window ends goes unnoticed; short enough for its integer. */
const windowSeconds = 60;
/** Of the ten connections that lists and health checks use too. */
const inFlightMax = 4;
const pauseAfterFailureMs = 1_000;
const table = 'rate_limits';

export function postgresTally(options: {
  /** Of `pg`. */
  readonly pool: object;
  /** What the ids are: keys or addresses. */
  readonly kind: string;
  readonly logger: Logger;
}): RateLimitTally {
  const limiter = new RateLimiterPostgres({
    storeClient: options.pool,
    storeType: 'pool',
    tableName: table,
    tableCreated: true,
    keyPrefix: options.kind,
    // Its own verdict is not used: penalty() counts and refuses nobody.
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
        // Windows end by the clock of who began them, which need not be ours.
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
