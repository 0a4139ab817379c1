/** How often the pages may be requested: for each address, and for each link. */
import { hash } from 'node:crypto';
import { networkOf, type RateLimit } from '@pis/http-api';

export class PageLimits {
  constructor(
    private readonly byAddress: RateLimit,
    private readonly byLink: RateLimit,
  ) {}

  /** Counts a request for a file that is looked up. It belongs to no link. @throws RateLimited */
  takeAddress(address: string): void {
    this.byAddress.take(networkOf(address));
  }

  /**
   * Counts one request. Unknown links count as others do.
   * @throws RateLimited
   */
  take(address: string, token: string): void {
    this.takeAddress(address);
    // The counts of several processes are in the database, which must not hold a token.
    this.byLink.take(hash('sha256', token));
  }
}
