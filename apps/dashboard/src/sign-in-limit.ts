/**
 * Limits the sign-ins of one network. A lock protects one account; this stops somebody who tries many: guessing
 * one password for everybody, or locking everybody out. Counts live in this process and are forgotten first
 * for those who were not seen for the longest time.
 */
import { BoundedMap, networkOf, RateLimited, siteOf } from '@pis/http-api';

/** So a network can lock ten accounts at most in a window. */
export const failuresPerNetworkMax = 50;
const windowMs = 15 * 60_000;
/** A network's share of the queue for hashing. */
const atOncePerNetworkMax = 8;
/** Of an IPv6 site (/48), which has 65,536 networks: that many times the limits of one network. */
const networksPerSite = 2;
const networksMax = 10_000;

interface Count {
  failures: number;
  underWay: number;
  /** How many times the limits of one network it has. */
  readonly networks: number;
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
    const counts = [this.countOf(networkOf(address), 1)];
    const site = siteOf(address);
    if (site !== null) counts.push(this.countOf(site, networksPerSite));
    for (const count of counts) this.require(count);
    // Before the result is known: many at the same time must not all pass.
    for (const count of counts) {
      count.failures += 1;
      count.underWay += 1;
    }
    let hasFailed = false;
    try {
      const result = await work();
      hasFailed = isFailure(result);
      return result;
    } finally {
      for (const count of counts) {
        if (!hasFailed) count.failures -= 1;
        count.underWay -= 1;
      }
    }
  }

  /** @throws RateLimited */
  private require({ failures, underWay, networks, endsAtMs }: Count): void {
    if (failures >= failuresPerNetworkMax * networks) throw this.refusal(endsAtMs - this.clock());
    if (underWay >= atOncePerNetworkMax * networks) throw this.refusal(0);
  }

  private countOf(network: string, networks: number): Count {
    const known = this.counts.get(network);
    if (known !== undefined && (known.endsAtMs > this.clock() || known.underWay > 0)) return known;
    const endsAtMs = this.clock() + windowMs;
    const count = { failures: 0, underWay: 0, networks, endsAtMs };
    this.counts.set(network, count);
    return count;
  }

  private refusal(waitMs: number): RateLimited {
    const waitSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
    return new RateLimited({ remaining: 0, waitSeconds });
  }
}
