/**
 * How often a key may ask and an address may fail to authenticate: a token bucket each, in this
 * process alone. What it forgets, when there are too many to remember, starts again with a full one.
 */
import { LRUCache } from 'lru-cache';
import { ApiError } from './errors.js';

export interface RateLimitOptions {
  /** 0: no limit. */
  readonly perSecond: number;
  /** Milliseconds, monotonic; injected by tests. */
  readonly clock?: () => number;
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
}

const bucketsMax = 10_000;
const burstFactor = 2;

export class RateLimit {
  private readonly buckets = new LRUCache<string, Bucket>({ max: bucketsMax });
  private readonly perSecond: number;
  private readonly burst: number;
  private readonly clock: () => number;

  constructor({ perSecond, clock = () => performance.now() }: RateLimitOptions) {
    this.perSecond = perSecond;
    this.burst = perSecond * burstFactor;
    this.clock = clock;
  }

  /** Counts one. @throws ApiError RATE_LIMITED, which does not count */
  take(id: string): void {
    if (this.perSecond === 0) return;
    const bucket = this.filled(id);
    if (bucket.tokens < 1) throw rateLimited();
    bucket.tokens -= 1;
  }

  /** Counts nothing. @throws ApiError RATE_LIMITED when take would */
  check(id: string): void {
    if (this.perSecond > 0 && this.filled(id).tokens < 1) throw rateLimited();
  }

  private filled(id: string): Bucket {
    const nowMs = this.clock();
    const bucket = this.buckets.get(id);
    if (bucket === undefined) {
      const full = { tokens: this.burst, filledAtMs: nowMs };
      this.buckets.set(id, full);
      return full;
    }
    const gained = ((nowMs - bucket.filledAtMs) / 1_000) * this.perSecond;
    bucket.tokens = Math.min(this.burst, bucket.tokens + gained);
    bucket.filledAtMs = nowMs;
    return bucket;
  }
}

/** At one a second or more, the next token is there within the second that Retry-After names. */
function rateLimited(): ApiError {
  return new ApiError('RATE_LIMITED', 'too many requests; retry shortly');
}
