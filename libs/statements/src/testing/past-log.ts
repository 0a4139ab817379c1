/** A log of past months: parties and payments with times of their own, and stores of documents that fail. */
import { randomUUID } from 'node:crypto';
import type { DocumentStore } from '@pis/documents';
import {
  organization,
  originator,
  payment,
  type PaymentEvent,
  statement as statements,
} from '@pis/domain';
import { paymentEvents, paymentExample } from '@pis/domain/testing';
import type { EventStore } from '@pis/event-store';
import { eventToAppend } from '@pis/read-models/testing';

const schemaVersions: Readonly<Record<string, number>> = {
  ...organization.schemaVersions,
  ...originator.schemaVersions,
  ...payment.schemaVersions,
  ...statements.schemaVersions,
};

export interface PastOriginator {
  readonly organizationId: string;
  readonly originatorId: string;
}

const freeOfCharge = { discountFeeBasisPoints: 0, flatFeeMinor: 0, returnFeeMinor: 0 };

export type Appended = Pick<PaymentEvent, 'at'> & { readonly type: string; readonly data: object };

export async function append(
  store: EventStore,
  streamId: string,
  ...events: readonly Appended[]
): Promise<void> {
  const [last] = await store.readStream(streamId, { direction: 'backwards', maxCount: 1 });
  const records = events.map((event) => {
    const { metadata, ...record } = eventToAppend(event);
    const schemaVersion = schemaVersions[event.type] ?? 1;
    return { ...record, metadata: { ...metadata, schemaVersion } };
  });
  await store.append(streamId, last?.revision ?? 'noStream', records);
}

/** The organization, and the originator since October 3, 2026. */
export async function addParties(store: EventStore, owner: PastOriginator): Promise<void> {
  const { organizationId } = owner;
  await append(store, `organization-${organizationId}`, {
    type: 'OrganizationCreated',
    at: '2026-09-01T00:00:00.000Z',
    data: { organizationId, name: 'Example', feeSchedule: freeOfCharge },
  });
  await addOriginator(store, owner, '2026-10-03T00:00:00.000Z');
}

export async function addOriginator(
  store: EventStore,
  { organizationId, originatorId: id }: PastOriginator,
  at: string,
): Promise<void> {
  const { originator: party } = paymentExample();
  const { id: _id, legalAddress, ...fields } = party;
  const data = {
    ...{ ...fields, legalAddress: legalAddress ?? null, originatorId: id, organizationId },
    ...{ email: 'a@example.com', phoneNumber: null },
  };
  await append(store, `originator-${id}`, { type: 'OriginatorCreated', at, data });
}

const at = (event: PaymentEvent, time: string): PaymentEvent => ({ ...event, at: time });

/** @param times of queued, processing, completed and returned, as many as happened */
export async function pay(
  store: EventStore,
  { organizationId, originatorId }: PastOriginator,
  amountMinor: number,
  direction: 'INBOUND' | 'OUTBOUND',
  ...times: readonly string[]
): Promise<string> {
  const paymentId = randomUUID();
  const data = paymentExample({ paymentId, organizationId, originatorId, amountMinor, direction });
  const { queued, processing, completed, returned } = paymentEvents;
  const life = [{ ...queued, data } as PaymentEvent, processing, completed, returned];
  await append(
    store,
    `payment-${paymentId}`,
    ...times.flatMap((time, index) => {
      const event = life[index];
      return event === undefined ? [] : [at(event, time)];
    }),
  );
  return paymentId;
}

/** Of October in New York: from 04:00 on the 1st to 04:00 on November 1, UTC. */
export async function aMonth(store: EventStore, owner: PastOriginator): Promise<void> {
  // Of September there, and on the first instant of October, and on the last of it.
  await pay(store, owner, 1, 'INBOUND', '2026-10-01T03:59:59.998Z', '2026-10-01T03:59:59.999Z');
  await pay(
    store,
    owner,
    10,
    'INBOUND',
    '2026-10-01T04:00:00.000Z',
    '2026-10-01T04:00:01.000Z',
    '2026-11-01T03:59:59.999Z',
  );
  await pay(
    store,
    owner,
    100,
    'OUTBOUND',
    '2026-10-05T10:00:00.000Z',
    '2026-10-05T10:00:01.000Z',
    '2026-10-05T10:00:02.000Z',
    '2026-10-20T00:00:00.000Z',
  );
  await pay(store, owner, 1_000, 'OUTBOUND', '2026-10-31T23:00:00.000Z');
  await pay(
    store,
    owner,
    10_000,
    'OUTBOUND',
    '2026-11-01T04:00:00.000Z',
    '2026-11-01T04:00:01.000Z',
    '2026-11-01T04:00:02.000Z',
  );
}

/** Instants a minute apart, from noon on. */
export function minutes(from: string, count: number): readonly string[] {
  const first = new Date(`${from}T12:00:00.000Z`).getTime();
  return Array.from({ length: count }, (_, minute) =>
    new Date(first + minute * 60_000).toISOString(),
  );
}

/** Has no room for the documents of an originator. */
export function without(documents: DocumentStore, id: string): DocumentStore {
  return {
    ...{ read: documents.read.bind(documents), remove: documents.remove.bind(documents) },
    write: (key, owner, bytes) =>
      key.includes(id) ? Promise.reject(new Error('no room')) : documents.write(key, owner, bytes),
  };
}

/** The bytes, with a step between the first ones and the others. */
export async function* afterFirst(
  bytes: AsyncIterable<Uint8Array>,
  step: () => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const part of bytes) {
    yield part;
    if (isFirst) await step();
    isFirst = false;
  }
}

/** The bytes, with a step after the last ones. */
export async function* beforeEnd(
  bytes: AsyncIterable<Uint8Array>,
  step: () => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  yield* bytes;
  await step();
}
