/**
 * How often a key may ask and an address may fail to authenticate: a token bucket each, in this
 * process, so that a verdict costs no wait. What is forgotten, when there are too many to remember,
 * starts again with a full one.
 *
 * With a tally the gateways share their limits: each tells what it has let through, an eighth of a
 * burst at a time, and takes from its own bucket what the others have. A bucket may so fall below
 * zero: together they let through too much by what they have not told each other yet, and then make up
 * for it. The less of a key's requests come to a gateway the sooner it tells of them: with equal
 * batches the untold of twenty gateways would be a burst and more, again and again.
 */
import { BoundedMap } from './bounded-map.js';
import { ApiError } from './errors.js';
import type { Counted, RateLimitTally } from './rate-limit-tally.js';

export interface RateLimitOptions {
  /** 0: no limit. */
  readonly perSecond: number;
  /** Absent: the limit is this process's alone. */
  readonly tally?: RateLimitTally;
  /** Milliseconds, monotonic; injected by tests. */
  readonly clock?: () => number;
}

/** What is left after a request. */
export interface Quota {
  readonly remaining: number;
  /** Until more is available; at least 1. */
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
  /** Gained since the others were last heard of, but lost because the bucket was full. */
  spilled: number;
  /** Taken and not told yet. */
  untold: number;
  isTelling: boolean;
  /** The total that was last heard; null before the first. */
  heard: number | null;
  /** So many are told at a time. */
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

  /** As much may be asked in so many seconds, again and again; null: as much as you like. */
  get policy(): { readonly requests: number; readonly seconds: number } | null {
    return this.perSecond === 0 ? null : { requests: this.burst, seconds: burstFactor };
  }

  /** Counts one; null without a limit. @throws RateLimited */
  take(id: string): Quota | null {
    if (this.perSecond === 0) return null;
    const bucket = this.filled(id);
    if (bucket.tokens < 1) throw new RateLimited(this.quotaOf(bucket));
    bucket.tokens -= 1;
    if (this.tally !== undefined) {
      bucket.untold += 1;
      if (bucket.untold >= bucket.batch) this.tell(id, bucket, this.tally);
    }
    return this.quotaOf(bucket);
  }

  /** What was taken a moment ago does not count after all. */
  giveBack(id: string): void {
    if (this.perSecond === 0) return;
    const bucket = this.filled(id);
    bucket.tokens = Math.min(this.burst, bucket.tokens + 1);
    // Below zero when it was told already: the next ones are then not.
    if (this.tally !== undefined) bucket.untold -= 1;
  }

  private filled(id: string): Bucket {
    const nowMs = this.clock();
    const bucket = this.buckets.get(id);
    if (bucket !== undefined) return this.fill(bucket, nowMs);
    const full = {
      tokens: this.burst,
      filledAtMs: nowMs,
      spilled: 0,
      untold: 0,
      isTelling: false,
      heard: null,
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

  /** One batch of a bucket at a time; what comes in between goes with the next. */
  private tell(id: string, bucket: Bucket, tally: RateLimitTally): void {
    if (bucket.isTelling || !tally.isFree()) return;
    // After an outage the untold may be many: what is older than a burst has been refilled since.
    const count = Math.min(bucket.untold, this.burst);
    bucket.untold = 0;
    bucket.isTelling = true;
    void tally.add(id, count).then((counted) => {
      bucket.isTelling = false;
      if (counted === null) bucket.untold += count;
      else this.hear(bucket, count, counted);
    });
  }

  private hear(bucket: Bucket, told: number, { total, windowAgeMs }: Counted): void {
    this.fill(bucket, this.clock());
    const byOthers = total - told;
    // A total below the last one belongs to a new window, which began at zero.
    const heard = bucket.heard !== null && byOthers >= bucket.heard ? bucket.heard : 0;
    // Who hears the first time knows of the whole window, and of what could be asked in it.
    if (bucket.heard === null) bucket.spilled += (windowAgeMs / 1_000) * this.perSecond;
    const sinceByOthers = Math.max(0, byOthers - heard);
    const share = told / (told + sinceByOthers);
    // Of two alike each has the whole batch, of twenty a tenth.
    bucket.batch = Math.max(1, Math.floor(this.batchMax * Math.min(1, 2 * share)));
    const used = Math.max(0, sinceByOthers - bucket.spilled);
    bucket.tokens = Math.max(-this.burst, bucket.tokens - used);
    bucket.spilled = 0;
    bucket.heard = total;
  }
}
