/** Payment links in memory, with a clock. */
import type { LinkSubmission } from '@pis/contracts';
import { linkLifetimeMs } from '@pis/domain';
import type {
  FoundLink,
  LinkPages,
  LinkPayment,
  SubmissionRefusal,
  Visitor,
} from '../link-pages.js';

export interface Access {
  readonly kind: 'open' | 'submit';
  readonly visitor: Visitor;
}

export class MemoryLinks implements LinkPages {
  readonly accesses: Access[] = [];
  readonly submissions: LinkSubmission[] = [];
  readonly lookups: string[] = [];
  /** Thrown by every call while it is set. */
  outage: Error | null = null;
  private readonly payments = new Map<string, LinkPayment>();

  constructor(private readonly clock: () => number) {}

  add(token: string, changes: Partial<LinkPayment> = {}): void {
    const createdAtMs = this.clock();
    this.payments.set(token, {
      organizationName: 'Northwind Traders',
      originatorName: 'Analytical Engines',
      holder: { entityType: 'INDIVIDUAL', name: 'Ada Lovelace' },
      direction: 'INBOUND',
      status: 'AWAITING_CONFIRMATION',
      statusAt: new Date(createdAtMs).toISOString(),
      amountMinor: 123_456,
      payerFeeMinor: 642,
      paymentNote: 'Invoice 1842',
      bankName: null,
      expiresAt: new Date(createdAtMs + linkLifetimeMs).toISOString(),
      ...changes,
    });
  }

  change(token: string, changes: Partial<LinkPayment>): void {
    const payment = this.payments.get(token);
    if (payment === undefined) throw new Error('no such link');
    this.payments.set(token, { ...payment, ...changes });
  }

  find(token: string): Promise<FoundLink | null> {
    return this.unlessAway(() => {
      this.lookups.push(token);
      const payment = this.payments.get(token);
      if (payment === undefined || payment.status === 'CANCELED') return null;
      const ids = { paymentId: token, organizationId: token, counterpartyId: token };
      if (this.clock() >= Date.parse(payment.expiresAt))
        return { ...ids, state: 'expired', payment };
      const isOpen = payment.status === 'AWAITING_CONFIRMATION';
      return { ...ids, state: isOpen ? 'open' : 'submitted', payment };
    });
  }

  submit(
    token: string,
    submission: LinkSubmission,
    visitor: Visitor,
  ): Promise<{ readonly status: 'QUEUED' } | SubmissionRefusal> {
    return this.unlessAway(() => {
      const payment = this.payments.get(token);
      if (payment === undefined || payment.status === 'CANCELED')
        return { refused: 'LINK_NOT_FOUND' };
      if (this.clock() >= Date.parse(payment.expiresAt)) return { refused: 'LINK_EXPIRED' };
      if (payment.status !== 'AWAITING_CONFIRMATION') return { refused: 'ALREADY_SUBMITTED' };
      this.accesses.push({ kind: 'submit', visitor });
      this.submissions.push(submission);
      this.change(token, { status: 'QUEUED', bankName: 'JPMorgan Chase Bank' });
      return { status: 'QUEUED' };
    });
  }

  recordOpen(_link: FoundLink, visitor: Visitor): Promise<void> {
    return this.unlessAway(() => {
      this.accesses.push({ kind: 'open', visitor });
    });
  }

  private unlessAway<Result>(work: () => Result): Promise<Result> {
    return this.outage === null ? Promise.resolve(work()) : Promise.reject(this.outage);
  }
}
