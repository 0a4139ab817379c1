/**
 * Limits the sign-ins of one network. A lock protects one account; this stops somebody who tries many: guessing
 * one password for everybody, or locking everybody out. Failures are counted for all processes together, attempts
 * under way in each process, because they share its queue for hashing.
 */
import { BoundedMap, networkOf, RateLimited, siteOf } from '@pis/http-api';
import type { CountedAttempt, SignInFailures } from '@pis/users';

/** So a network can lock ten accounts at most in a window. */
export const failuresPerNetworkMax = 50;
/** A network's share of the queue for hashing. */
const atOncePerNetworkMax = 8;
/** Of an IPv6 site (/48), which has 65,536 networks: that many times the limits of one network. */
const networksPerSite = 2;
const networksMax = 10_000;

interface Network {
  readonly name: string;
  /** How many times the limits of one network it has. */
  readonly networks: number;
}

export class SignInLimit {
  private readonly underWay = new BoundedMap<string, { readonly attempts: number }>(networksMax);

  constructor(
    private readonly isOn: boolean,
    private readonly failures: SignInFailures,
  ) {}

  /**
   * Runs an attempt. An attempt that throws was not judged, so it is no failure.
   * @throws RateLimited, StoreUnavailable
   */
  async attempt<Result>(
    address: string,
    work: () => Promise<Result>,
    isFailure: (result: Result) => boolean,
  ): Promise<Result> {
    if (!this.isOn) return work();
    const site = siteOf(address);
    // The site first: one that is stopped leaves no count for each of its networks.
    const networks: Network[] = [
      ...(site === null ? [] : [{ name: site, networks: networksPerSite }]),
      { name: networkOf(address), networks: 1 },
    ];
    for (const { name, networks: times } of networks)
      if (this.underWayOf(name) >= atOncePerNetworkMax * times) throw limited(0);
    for (const { name } of networks) this.enter(name, 1);
    try {
      return await this.counted(networks, work, isFailure);
    } finally {
      for (const { name } of networks) this.enter(name, -1);
    }
  }

  /** Deletes counts that have ended. @throws StoreUnavailable */
  prune(): Promise<void> {
    return this.failures.prune();
  }

  private async counted<Result>(
    networks: readonly Network[],
    work: () => Promise<Result>,
    isFailure: (result: Result) => boolean,
  ): Promise<Result> {
    const taken = await this.take(networks);
    let hasFailed = false;
    try {
      const result = await work();
      hasFailed = isFailure(result);
      return result;
    } finally {
      if (!hasFailed) await this.giveBack(taken);
    }
  }

  /** Before the result is known: many at the same time must not all pass. */
  private async take(networks: readonly Network[]): Promise<readonly CountedAttempt[]> {
    const all: CountedAttempt[] = [];
    for (const { name, networks: times } of networks) {
      const taken = await this.failures.take(name, failuresPerNetworkMax * times);
      if (taken === null) {
        await this.giveBack(all);
        throw limited(await this.failures.waitSeconds(name));
      }
      all.push(taken);
    }
    return all;
  }

  private async giveBack(taken: readonly CountedAttempt[]): Promise<void> {
    for (const one of taken) await this.failures.giveBack(one);
  }

  private underWayOf(name: string): number {
    return this.underWay.get(name)?.attempts ?? 0;
  }

  private enter(name: string, more: 1 | -1): void {
    this.underWay.set(name, { attempts: Math.max(0, this.underWayOf(name) + more) });
  }
}

function limited(waitSeconds: number): RateLimited {
  return new RateLimited({ remaining: 0, waitSeconds: Math.max(1, Math.ceil(waitSeconds)) });
}
