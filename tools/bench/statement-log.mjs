/** The log of one month of an originator: payments to and from many contacts, with the outcomes that a business has. */
import { randomUUID } from 'node:crypto';
import { organization, originator, payment } from '@pis/domain';
import {
  organizationExample,
  originatorExample,
  paymentEvents,
  paymentExample,
} from '@pis/domain/testing';
import { repository, systemContext } from '@pis/event-store';

/** Contacts have keys of their own, which a statement must open. */
const paymentsPerContact = 5;
const appendsAtOnce = 64;
const by = systemContext('bench');
const createdAt = '2026-10-03T00:00:00.000Z';
const monthStart = Date.parse('2026-10-05T00:00:00.000Z');
const spanMs = 25 * 24 * 3_600_000;
const stepMs = 60_000;
const { queued, processing, completed, returned, failed } = paymentEvents;
/** Of 100 payments. */
const outcomes = [
  { below: 88, life: [queued, processing, completed] },
  { below: 93, life: [queued, processing, completed, returned] },
  { below: 96, life: [queued, processing, failed] },
  { below: 100, life: [queued, processing] },
];

export async function appendMonth(store, owner, payments) {
  const created = {
    at: createdAt,
    data: organizationExample({ organizationId: owner.organizationId }),
  };
  await record(store, organization, owner.organizationId, [
    { type: 'OrganizationCreated', ...created },
  ]);
  await record(store, originator, owner.originatorId, [
    { type: 'OriginatorCreated', at: createdAt, data: originatorExample(owner) },
  ]);
  const contactIds = Array.from({ length: Math.ceil(payments / paymentsPerContact) }, () =>
    randomUUID(),
  );
  let next = 0;
  const appendSome = async () => {
    for (let n = next++; n < payments; n = next++) {
      const at = monthStart + Math.floor((spanMs * n) / payments);
      await appendPayment(store, owner, { n, at, contactId: contactIds[n % contactIds.length] });
    }
  };
  await Promise.all(Array.from({ length: appendsAtOnce }, appendSome));
}

async function appendPayment(store, { organizationId, originatorId }, { n, at, contactId }) {
  const paymentId = randomUUID();
  const example = paymentExample();
  const details = {
    ...{ ...example, paymentId, organizationId, originatorId, contactId },
    ...{ amountMinor: 1 + ((n * 7_919) % 5_000_000), externalPaymentId: `invoice-${n}` },
    direction: n % 3 === 0 ? 'INBOUND' : 'OUTBOUND',
    originator: { ...example.originator, id: originatorId },
    contact: { ...example.contact, id: contactId, companyName: `Customer ${n} Ltd` },
  };
  const { life } = outcomes.find(({ below }) => n % 100 < below);
  const events = life.map((event, step) => ({
    ...event,
    at: new Date(at + step * stepMs).toISOString(),
    data: event === queued ? details : event.data,
  }));
  await record(store, payment, paymentId, events);
}

/** A new stream with events as they are given, sealed and chained. */
function record(store, aggregate, id, events) {
  const streams = repository(store, aggregate);
  return streams.append(id, streams.fold([]), events, by);
}
