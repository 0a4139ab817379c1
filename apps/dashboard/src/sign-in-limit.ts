/**
 * Limits the sign-ins of one network. A lock protects one account; this stops somebody who tries many: guessing
 * one password for everybody, or locking everybody out. Counts live in this process and are forgotten first
 * for those who were not seen for the longest time.
 */
import { BoundedMap, networkOf, RateLimited } from '@pis/http-api';

/** So an address can lock ten accounts at most in a window. */
export const failuresPerNetworkMax = 50;
const windowMs = 15 * 60_000;
/** A network's share of the queue for hashing. */
const atOncePerNetworkMax = 8;
const networksMax = 10_000;

interface Count {
  failures: number;
  underWay: number;
  readonly endsAtMs: number;
}

export class SignInLimit {
  private readonly counts = new BoundedMap<string, Count>(networksMax);

  /** @param clock milliseconds, monotonic; injected by tests */
  constructor(
    private readonly isOn: boolean,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /**
   * Runs an attempt. An attempt that throws was not judged, so it is no failure.
   * @throws RateLimited
   */
  async attempt<Result>(
    address: string,
    work: () => Promise<Result>,
    isFailure: (result: Result) => boolean,
  ): Promise<Result> {
    if (!this.isOn) return work();
    const count = this.countOf(networkOf(address));
    if (count.failures >= failuresPerNetworkMax) throw this.refusal(count.endsAtMs - this.clock());
    if (count.underWay >= atOncePerNetworkMax) throw this.refusal(0);
    // Before the result is known: many at the same time must not all pass.
    count.failures += 1;
    count.underWay += 1;
    let hasFailed = false;
    try {
      const result = await work();
      hasFailed = isFailure(result);
      return result;
    } finally {
      if (!hasFailed) count.failures -= 1;
      count.underWay -= 1;
    }
  }

  private countOf(network: string): Count {
    const known = this.counts.get(network);
    if (known !== undefined && (known.endsAtMs > this.clock() || known.underWay > 0)) return known;
    const count = { failures: 0, underWay: 0, endsAtMs: this.clock() + windowMs };
    this.counts.set(network, count);
    return count;
  }

  private refusal(waitMs: number): RateLimited {
    const waitSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
    return new RateLimited({ remaining: 0, waitSeconds });
  }
}
