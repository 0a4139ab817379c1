/** For specs: a small log with events of every category that a projection follows. */
import { randomUUID } from 'node:crypto';
import { collectionDetails, type DomainEvent, payment } from '@pis/domain';
import {
  at,
  bankAccountExample,
  contactExample,
  contactParty,
  ids,
  later,
  linkExample,
  organizationExample,
  originatorExample,
  originatorParty,
  paymentEvents,
  paymentExample,
} from '@pis/domain/testing';
import type { EventStore } from '@pis/event-store';
import { eventToAppend } from '../testing.js';

const organizationId = ids.organization;
const originatorId = ids.originator;

/** For a store that seals nothing. */
export async function writeWholeHistory(store: EventStore): Promise<void> {
  const append = (streamId: string, ...events: readonly object[]) =>
    store.append(streamId, 'noStream', (events as readonly DomainEvent[]).map(currentEvent));
  const event = (type: string, data: object, time = at) => ({ type, at: time, data });

  await append(
    `organization-${organizationId}`,
    event('OrganizationCreated', organizationExample()),
  );
  await append(`originator-${originatorId}`, event('OriginatorCreated', originatorExample()));
  for (const contactId of [ids.contact, ids.otherContact])
    await append(
      `contact-${contactId}`,
      event('ContactCreated', contactExample({ contactId, email: `${contactId}@mail.example` })),
    );
  const created = {
    ...{ organizationId, endpointId: randomUUID(), url: 'https://hooks.example/pis' },
    ...{ subscribedEvents: ['payment.*'], label: null, sealedSecret: 'v1.sealed' },
  };
  await append(`webhookEndpoints-${organizationId}`, event('WebhookEndpointCreated', created));
  const digest = 'd'.repeat(64);
  const key = { apiKeyId: randomUUID(), organizationId, digest, keyType: 'full_access' };
  await append(
    `apiKey-${digest}`,
    event('ApiKeyCreated', { ...key, environment: 'sandbox', expiresAt: null }),
  );
  const approvalId = randomUUID();
  const approval = {
    ...{ approvalId, organizationId, originatorId, direction: 'OUTBOUND', contactId: null },
    ...{ recipient: contactParty, amountMinor: 1, paymentNote: null, externalPaymentId: null },
  };
  await append(
    `approval-${approvalId}`,
    event('ApprovalRequested', { ...approval, requestedBy: randomUUID() }),
  );
  await append(
    `statement-${randomUUID()}`,
    event('StatementGenerated', {
      ...{ statementId: randomUUID(), organizationId, originatorId, periodYear: 2026 },
      ...{ periodMonth: 10, sizeBytes: 4, sha256: 'a'.repeat(64) },
    }),
  );
  await writePayments(append);
  await writeFees(append);
}

function currentEvent(event: DomainEvent) {
  const { metadata, ...record } = eventToAppend(event);
  const versions: Readonly<Record<string, number>> = payment.schemaVersions;
  return { ...record, metadata: { ...metadata, schemaVersion: versions[event.type] ?? 1 } };
}

type Append = (streamId: string, ...events: readonly object[]) => Promise<unknown>;

async function writePayments(append: Append): Promise<void> {
  const { queued, processing, completed, returned, canceled } = paymentEvents;
  const moves = { ...completed, at: later };
  const lives = [[processing, moves, returned], [processing, moves], [processing], []];
  for (const life of lives) {
    const data = paymentExample({ paymentId: randomUUID() });
    await append(`payment-${data.paymentId}`, { ...queued, data }, ...life);
  }
  for (const tokenDigest of ['11'.repeat(32), '22'.repeat(32)]) {
    const details = paymentExample({ paymentId: randomUUID(), contactId: null });
    const data = { ...details, link: { ...linkExample, tokenDigest, counterpartyId: ids.contact } };
    const awaiting = { type: 'PaymentAwaitingConfirmation', at, data };
    const ending = tokenDigest.startsWith('1') ? [] : [canceled];
    await append(`payment-${details.paymentId}`, awaiting, ...ending);
  }
}

async function writeFees(append: Append): Promise<void> {
  const collectionId = randomUUID();
  const data = collectionDetails({
    ...{ collectionId, organizationId, amountMinor: 4_321, note: 'Fees 2026-10' },
    settlement: { name: 'Board Operations Inc', bankAccount: bankAccountExample() },
    originator: originatorParty,
  });
  await append(`collection-${collectionId}`, { type: 'PaymentQueued', at, data });
  const feePeriodId = randomUUID();
  const sums = { discountFeeMinor: 4_000, flatFeeMinor: 321, returnFeeMinor: 0 };
  await append(`feePeriod-${feePeriodId}`, {
    type: 'FeePeriodClosed',
    at,
    data: { feePeriodId, organizationId, originatorId, year: 2026, month: 10, ...sums },
  });
}
