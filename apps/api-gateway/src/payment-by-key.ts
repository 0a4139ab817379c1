/**
 * The payment that an Idempotency-Key created, as a list of one or none. The key determines the ID, so this
 * folds the stream: it finds the payment as soon as it was accepted, regardless of the lists. The other
 * filters of the list and its cursor also apply.
 */
import { paymentIdOf } from '@pis/commands';
import { type PaymentFilter, paymentListItem, type PaymentListItem } from '@pis/contracts';
import { type Payment, payment as payments } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import { type OwnWrites } from '@pis/http-api';
import type { ListCursor } from '@pis/read-models';
import { idempotencyKeyInQuery } from '@pis/http-api';

interface AskedByKey {
  readonly filter: PaymentFilter;
  readonly after: ListCursor | undefined;
  /** The present when undefined. */
  readonly asOf: string | undefined;
}

export class PaymentByKey {
  private readonly payments;

  constructor(
    store: EventStore,
    private readonly ownWrites: OwnWrites,
  ) {
    this.payments = repository(store, payments);
  }

  /** @throws StoreUnavailable */
  async find(
    organizationId: string,
    key: string,
    { filter, after, asOf }: AskedByKey,
  ): Promise<readonly PaymentListItem[]> {
    const paymentId = paymentIdOf(organizationId, idempotencyKeyInQuery(key));
    const { state, lastEvent } = await (asOf === undefined
      ? this.payments.load(paymentId)
      : this.payments.loadAsOf(paymentId, asOf));
    this.ownWrites.note('payments', organizationId, lastEvent?.position ?? null);
    const found = state !== null && passes(state, filter) && (!after || isAfter(state, after));
    return found ? [paymentListItem(state)] : [];
  }
}

const tests = {
  status: ({ status }, wanted) => status === wanted,
  originatorId: ({ originatorId }, wanted) => originatorId === wanted,
  contactId: ({ contactId }, wanted) => contactId === wanted,
  direction: ({ direction }, wanted) => direction === wanted,
  paymentRail: ({ paymentRail }, wanted) => paymentRail === wanted,
  externalPaymentId: ({ externalPaymentId }, wanted) => externalPaymentId === wanted,
  createdFrom: ({ createdAt }, wanted) => createdAt >= wanted,
  createdTo: ({ createdAt }, wanted) => createdAt <= wanted,
} as const satisfies Record<keyof PaymentFilter, (payment: Payment, wanted: string) => boolean>;

function passes(payment: Payment, filter: PaymentFilter): boolean {
  return (Object.keys(tests) as (keyof PaymentFilter)[]).every((name) => {
    const wanted = filter[name];
    return wanted === undefined || tests[name](payment, wanted);
  });
}

/** Lists are newest first: later items are older, or have the same time and a smaller ID. */
function isAfter({ createdAt, paymentId }: Payment, after: ListCursor): boolean {
  return createdAt < after.createdAt || (createdAt === after.createdAt && paymentId < after.id);
}
