/** Payment links in memory, with a clock. */
import { type LinkSubmission, linkSubmissionSchema, validate } from '@pis/contracts';
import { linkLifetimeMs } from '@pis/domain';
import type {
  FoundLink,
  LinkPages,
  LinkPayment,
  RefusedVisit,
  SubmissionRefusal,
  Visitor,
} from '../link-pages.js';

export interface Access {
  readonly token: string;
  readonly kind: 'open' | 'submit';
  readonly outcome: string | null;
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
      organizationLogo: null,
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
      const { organizationName, organizationLogo, originatorName, direction } = payment;
      const state = this.stateOf(payment);
      if (state === 'expired')
        return {
          ...ids,
          state,
          payment: { organizationName, organizationLogo, originatorName, direction },
        };
      return { ...ids, state, payment };
    });
  }

  submit(
    token: string,
    submission: LinkSubmission,
    { ip, userAgent }: Visitor,
  ): Promise<{ readonly status: 'QUEUED' } | SubmissionRefusal> {
    return this.unlessAway(() => {
      const payment = this.payments.get(token);
      if (payment === undefined || payment.status === 'CANCELED')
        return { refused: 'LINK_NOT_FOUND' };
      const result = this.resultOf(payment, submission);
      const outcome = 'refused' in result ? result.refused : result.status;
      this.accesses.push({ token, kind: 'submit', outcome, visitor: { ip, userAgent } });
      if ('refused' in result) return result;
      this.submissions.push(submission);
      this.change(token, { status: 'QUEUED', bankName: 'JPMorgan Chase Bank' });
      return result;
    });
  }

  recordOpen({ paymentId: token }: FoundLink, { ip, userAgent }: Visitor): Promise<void> {
    return this.unlessAway(() => {
      this.accesses.push({ token, kind: 'open', outcome: null, visitor: { ip, userAgent } });
    });
  }

  recordRefusal(
    { paymentId: token, state }: FoundLink,
    { ip, userAgent }: Visitor,
    outcome: RefusedVisit = refusals[state],
  ): Promise<void> {
    return this.unlessAway(() => {
      this.accesses.push({ token, kind: 'submit', outcome, visitor: { ip, userAgent } });
    });
  }

  /** Nothing waits to be counted. */
  close(): Promise<void> {
    return Promise.resolve();
  }

  private resultOf(
    payment: LinkPayment,
    submission: unknown,
  ): { readonly status: 'QUEUED' } | SubmissionRefusal {
    const state = this.stateOf(payment);
    if (state !== 'open') return { refused: refusals[state] };
    const valid = validate<LinkSubmission>(linkSubmissionSchema, submission);
    return valid.ok
      ? { status: 'QUEUED' }
      : { refused: 'INVALID_REQUEST', problems: valid.problems };
  }

  private stateOf({ expiresAt, status }: LinkPayment): FoundLink['state'] {
    if (this.clock() >= Date.parse(expiresAt)) return 'expired';
    return status === 'AWAITING_CONFIRMATION' ? 'open' : 'submitted';
  }

  private unlessAway<Result>(work: () => Result): Promise<Result> {
    return this.outage === null ? Promise.resolve(work()) : Promise.reject(this.outage);
  }
}

const refusals = {
  open: 'INVALID_REQUEST',
  submitted: 'ALREADY_SUBMITTED',
  expired: 'LINK_EXPIRED',
} as const;
