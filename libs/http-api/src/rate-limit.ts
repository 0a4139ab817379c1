/**
 * Limits the requests of each key and the failed authentications of each address. Each has a token
 * bucket in this process, so a decision never waits. A bucket that was evicted because there were too
 * many starts full again.
 *
 * With a tally the gateways share their limits. Each publishes what it has allowed, an eighth of a burst
 * at a time, and takes what the others allowed from its own bucket. A bucket can therefore fall below
 * zero: the gateways together allow too much by what they have not published yet, and then make up for
 * it. The smaller a gateway's share of a key's traffic, the smaller its batches: with equal
 * batches the unpublished counts of twenty gateways would be a burst and more, again and again.
 */
import { BoundedMap } from './bounded-map.js';
import { ApiError } from './errors.js';
import type { Counted, RateLimitTally } from './rate-limit-tally.js';

export interface RateLimitOptions {
  /** 0 means no limit. */
  readonly perSecond: number;
  /** If absent, the limit applies to this process alone. */
  readonly tally?: RateLimitTally;
  /** Milliseconds, monotonic; injected by tests. */
  readonly clock?: () => number;
}

/** The rest of the limit after a request. */
export interface Quota {
  readonly remaining: number;
  /** Time until more is available, at least 1. */
  readonly waitSeconds: number;
}

/** The request does not count. */
export class RateLimited extends ApiError {
  constructor(readonly quota: Quota) {
    super('RATE_LIMITED', 'too many requests; retry shortly');
  }
}

interface Bucket {
  tokens: number;
  filledAtMs: number;
  /** Tokens lost to a full bucket since the last total was received. */
  spilled: number;
  /** Taken and not published yet. */
  unpublished: number;
  isPublishing: boolean;
  /** The total at the last publication, of all gateways; null before the first. */
  lastTotal: number | null;
  /** The number of requests in a batch. */
  batch: number;
}

const bucketsMax = 10_000;
const burstFactor = 2;
const batchesPerBurst = 8;

export class RateLimit {
  private readonly buckets = new BoundedMap<string, Bucket>(bucketsMax);
  private readonly perSecond: number;
  private readonly burst: number;
  private readonly batchMax: number;
  private readonly tally: RateLimitTally | undefined;
  private readonly clock: () => number;

  constructor({ perSecond, tally, clock = () => performance.now() }: RateLimitOptions) {
    this.perSecond = perSecond;
    this.burst = perSecond * burstFactor;
    this.batchMax = Math.max(1, Math.floor(this.burst / batchesPerBurst));
    this.tally = tally;
    this.clock = clock;
  }

  /** The sustained limit: so many requests in so many seconds. Null means no limit. */
  get policy(): { readonly requests: number; readonly seconds: number } | null {
    return this.perSecond === 0 ? null : { requests: this.burst, seconds: burstFactor };
  }

  /** Counts one request. Null without a limit. @throws RateLimited */
  take(id: string): Quota | null {
    if (this.perSecond === 0) return null;
    const bucket = this.filled(id);
    if (bucket.tokens < 1) throw new RateLimited(this.quotaOf(bucket));
    bucket.tokens -= 1;
    if (this.tally !== undefined) {
      bucket.unpublished += 1;
      if (bucket.unpublished >= bucket.batch) this.publish(id, bucket, this.tally);
    }
    return this.quotaOf(bucket);
  }

  /** Returns a token: the request does not count. */
  giveBack(id: string): void {
    if (this.perSecond === 0) return;
    const bucket = this.filled(id);
    bucket.tokens = Math.min(this.burst, bucket.tokens + 1);
    // Below zero if it was published already. The next request makes up for it.
    if (this.tally !== undefined) bucket.unpublished -= 1;
  }

  private filled(id: string): Bucket {
    const nowMs = this.clock();
    const bucket = this.buckets.get(id);
    if (bucket !== undefined) return this.fill(bucket, nowMs);
    const full = {
      tokens: this.burst,
      filledAtMs: nowMs,
      spilled: 0,
      unpublished: 0,
      isPublishing: false,
      lastTotal: null,
      batch: this.batchMax,
    };
    this.buckets.set(id, full);
    return full;
  }

  private fill(bucket: Bucket, nowMs: number): Bucket {
    const tokens = bucket.tokens + ((nowMs - bucket.filledAtMs) / 1_000) * this.perSecond;
    bucket.tokens = Math.min(this.burst, tokens);
    bucket.spilled += tokens - bucket.tokens;
    bucket.filledAtMs = nowMs;
    return bucket;
  }

  private quotaOf({ tokens }: Bucket): Quota {
    const waitSeconds = Math.max(1, Math.ceil((1 - tokens) / this.perSecond));
    return { remaining: Math.max(0, Math.floor(tokens)), waitSeconds };
  }

  /** Publishes one batch of a bucket at a time. Requests in the meantime go with the next batch. */
  private publish(id: string, bucket: Bucket, tally: RateLimitTally): void {
    if (bucket.isPublishing || !tally.isFree()) return;
    // After an outage more than a burst may be unpublished. The bucket has been refilled since for the excess.
    const count = Math.min(bucket.unpublished, this.burst);
    bucket.unpublished = 0;
    bucket.isPublishing = true;
    void tally.add(id, count).then((counted) => {
      bucket.isPublishing = false;
      if (counted === null) bucket.unpublished += count;
      else this.receive(bucket, count, counted);
    });
  }

  private receive(bucket: Bucket, published: number, { total, windowAgeMs }: Counted): void {
    this.fill(bucket, this.clock());
    const byOthers = total - published;
    // A total below the last one belongs to a new window, which started at zero.
    const before = bucket.lastTotal !== null && byOthers >= bucket.lastTotal ? bucket.lastTotal : 0;
    // The first total covers the whole window, so count what this bucket could have allowed in all of it.
    if (bucket.lastTotal === null) bucket.spilled += (windowAgeMs / 1_000) * this.perSecond;
    const sinceByOthers = Math.max(0, byOthers - before);
    const share = published / (published + sinceByOthers);
    // Two gateways with equal traffic publish whole batches; of twenty, each publishes a tenth.
    bucket.batch = Math.max(1, Math.floor(this.batchMax * Math.min(1, 2 * share)));
    const used = Math.max(0, sinceByOthers - bucket.spilled);
    bucket.tokens = Math.max(-this.burst, bucket.tokens - used);
    bucket.spilled = 0;
    bucket.lastTotal = total;
  }
}
