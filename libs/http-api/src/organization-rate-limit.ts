/** Limits the requests of all keys of an organization together. Some organizations have a rate of their own. */
import type { RateLimit } from './rate-limit.js';

export class OrganizationRateLimit {
  private readonly own: ReadonlyMap<string, RateLimit>;

  /** @param limitOf makes the limit of a rate, in requests per second */
  constructor(
    private readonly common: RateLimit,
    rates: ReadonlyMap<string, number>,
    limitOf: (perSecond: number) => RateLimit,
  ) {
    this.own = new Map([...rates].map(([id, perSecond]) => [id, limitOf(perSecond)]));
  }

  of(organizationId: string): RateLimit {
    return this.own.get(organizationId) ?? this.common;
  }
}
