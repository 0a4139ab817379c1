/**
 * The life of a payment or collection: its events, the files and messages at the bank, and the webhook deliveries. Opens
 * nothing that is sealed but addresses of callers.
 */
import {
  type Category,
  type PaymentApproval,
  type PaymentDetails,
  type PaymentStatus,
  type RailDecision,
  statusAfter,
  streamIdOf,
} from '@pis/domain';
import { eventsAsOf, type EventStore, openAddresses, type RecordedEvent } from '@pis/event-store';

export interface PaymentLife {
  readonly paymentId: string;
  /** Null before its first event. */
  readonly status: PaymentStatus | null;
  readonly events: readonly ShownEvent[];
  /** Files and messages to and from the bank, the oldest first. */
  readonly files: readonly ShownFile[];
  /** The oldest first. Collections have none. */
  readonly deliveries: readonly ShownDelivery[];
}

export interface ShownFile {
  /** ISO 8601 with milliseconds. */
  readonly at: string;
  readonly id: string;
  readonly rail: string;
  readonly way: 'out' | 'in';
  readonly kind: string;
  readonly name: string;
  /** Hex. */
  readonly sha256: string;
  /** Null for a reader of one organization: a file has entries of others, too, and its size tells how many. */
  readonly sizeBytes: number | null;
}

export interface ShownDelivery {
  /** Of its creation: ISO 8601 with milliseconds. */
  readonly at: string;
  readonly deliveryId: string;
  readonly webhookId: string;
  readonly url: string | null;
  readonly eventId: string;
  readonly eventType: string;
  /** Today's, also with `asOf`. */
  readonly state: string;
  readonly attempts: number;
  readonly finishedAt: string | null;
  readonly lastStatusCode: number | null;
  readonly lastError: string | null;
}

export interface ShownEvent {
  /** ISO 8601 with milliseconds. */
  readonly at: string;
  readonly type: string;
  readonly revision: number;
  readonly eventId: string;
  readonly actor: string;
  /** Of the API key that caused it; null for any other actor. */
  readonly keyId: string | null;
  /**
   * Of the caller. Null when no request caused it, in events of older releases, without the master key, and once its
   * owner was erased.
   */
  readonly address: string | null;
  /** Under whose key the address is sealed; null when the event has none. */
  readonly addressOwner: string | null;
  readonly requestId: string | null;
  readonly correlationId: string;
  /** W3C; null when it was not traced. */
  readonly traceId: string | null;
  /** Of the events that hold the details of the payment. Minor units. */
  readonly amount: number | null;
  readonly currencyCode: string | null;
  /** Minor units. */
  readonly fees: ShownFees | null;
  readonly direction: string | null;
  readonly originatorId: string | null;
  /** Null when the counterparty is no saved contact, too. */
  readonly contactId: string | null;
  /** Of a payment that needed a second person. */
  readonly approval: PaymentApproval | null;
  readonly failureCode: string | null;
  readonly failureReason: string | null;
  readonly returnReasonCode: string | null;
  /** Where the event chose the rail. */
  readonly paymentRail: string | null;
  readonly railDecision: RailDecision | null;
  readonly railReference: string | null;
  /** Of a return: the bank's own reference of it, null when it gave none. */
  readonly returnReference: string | null;
  /** Of a return, minor units: where less came back than was sent. */
  readonly returnedAmount: number | null;
}

export interface ShownFees {
  readonly discountFee: number;
  readonly flatFee: number;
  readonly returnFee: number;
}

const categories: readonly Category[] = ['payment', 'collection'];

export interface LifeSources {
  readonly store: Pick<EventStore, 'readStream' | 'sealing'>;
  /** False where there is no master key. */
  readonly openAddresses: boolean;
  files(paymentId: string): Promise<readonly ShownFile[]>;
  deliveries(
    organizationId: string,
    eventIds: readonly string[],
  ): Promise<readonly ShownDelivery[]>;
}

/**
 * Null when there is no such payment or collection.
 * @param asOf what was recorded later is left out
 */
export async function paymentLife(
  sources: LifeSources,
  paymentId: string,
  asOf: Date | null,
): Promise<PaymentLife | null> {
  for (const category of categories) {
    const events = await sources.store.readStream(streamIdOf(category, paymentId), {
      leaveSealed: true,
    });
    if (events.length === 0) continue;
    const shown = asOf === null ? events : eventsAsOf(events, asOf.toISOString());
    const status = shown.reduce<PaymentStatus | null>(statusOf, null);
    const addresses = sources.openAddresses ? await addressesOf(sources, shown) : [];
    const told = shown.map((event, index) => shownEvent(event, addresses[index] ?? null));
    const [files, deliveries] = await Promise.all([
      sources.files(paymentId),
      category === 'payment' ? deliveriesOf(sources, shown) : [],
    ]);
    return {
      ...{ paymentId, status, events: told },
      ...{ files: upTo(asOf, files), deliveries: upTo(asOf, deliveries) },
    };
  }
  return null;
}

function deliveriesOf(
  { deliveries }: LifeSources,
  events: readonly RecordedEvent[],
): Promise<readonly ShownDelivery[]> {
  const organizationId: unknown = events[0]?.data['organizationId'];
  if (typeof organizationId !== 'string') return Promise.resolve([]);
  return deliveries(
    organizationId,
    events.map(({ id }) => id),
  );
}

function upTo<Item extends { readonly at: string }>(
  asOf: Date | null,
  items: readonly Item[],
): readonly Item[] {
  return items
    .filter(({ at }) => asOf === null || Date.parse(at) <= asOf.getTime())
    .toSorted((a, b) => a.at.localeCompare(b.at));
}

/** Of one whose key this process does not have, null. @throws StoreUnavailable */
function addressesOf(
  { store }: LifeSources,
  events: readonly RecordedEvent[],
): Promise<readonly (string | null)[]> {
  return Promise.all(
    events.map(async (event) => {
      try {
        const [caller] = await openAddresses(store, [event]);
        return caller?.address ?? null;
      } catch (error) {
        if (error instanceof Error && cannotOpen.has(error.name)) return null;
        throw error;
      }
    }),
  );
}

/** Names of the keyring's errors about one text. */
const cannotOpen: ReadonlySet<string> = new Set(['CannotOpen', 'MasterKeyMissing']);

/** Notes change no status. */
function statusOf(before: PaymentStatus | null, { type }: RecordedEvent): PaymentStatus | null {
  return Object.hasOwn(statusAfter, type) ? statusAfter[type as keyof typeof statusAfter] : before;
}

function shownEvent(
  { type, revision, id, data, metadata }: RecordedEvent,
  address: string | null,
): ShownEvent {
  const { actor, traceparent } = metadata;
  const { approval, railDecision, amountMinor, returnedAmountMinor } = data;
  const text = (field: string) => (typeof data[field] === 'string' ? data[field] : null);
  return {
    at: metadata.at,
    type,
    revision,
    eventId: id,
    actor,
    keyId: /^apiKey:(.+)$/.exec(actor)?.[1] ?? null,
    address,
    addressOwner: metadata.address?.owner ?? null,
    requestId: metadata.requestId,
    correlationId: metadata.correlationId,
    traceId: traceparent?.split('-')[1] ?? null,
    amount: typeof amountMinor === 'number' ? amountMinor : null,
    currencyCode: text('currencyCode'),
    fees: typeof amountMinor === 'number' ? feesIn(data as Partial<PaymentDetails>) : null,
    direction: text('direction'),
    originatorId: text('originatorId'),
    contactId: text('contactId'),
    approval: (approval as PaymentApproval | undefined) ?? null,
    failureCode: text('failureCode'),
    failureReason: text('failureReason'),
    returnReasonCode: text('returnReasonCode'),
    paymentRail: text('paymentRail'),
    railDecision: (railDecision as RailDecision | undefined) ?? null,
    railReference: text('railReference'),
    returnReference: text('returnReference'),
    returnedAmount: typeof returnedAmountMinor === 'number' ? returnedAmountMinor : null,
  };
}

function feesIn({
  discountFeeMinor = 0,
  flatFeeMinor = 0,
  returnFeeMinor = 0,
}: Partial<PaymentDetails>): ShownFees {
  return { discountFee: discountFeeMinor, flatFee: flatFeeMinor, returnFee: returnFeeMinor };
}
