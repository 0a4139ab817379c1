import { topics } from '@pis/contracts';
import { payment as paymentAggregate, type PaymentDetails } from '@pis/domain';
import { beginning, memoryEventStore, repository } from '@pis/event-store';
import type { Message } from '@pis/messaging';
import { integrationFeed } from './integration-feed.js';

const at = '2026-01-02T03:04:05.678Z';
const context = {
  actor: 'system:test',
  requestId: null,
  correlationId: 'c',
  causationId: null,
  traceparent: '00-11111111111111111111111111111111-2222222222222222-01',
};
const party = (id: string) => ({
  id,
  entityType: 'BUSINESS' as const,
  firstName: null,
  lastName: null,
  companyName: 'Acme',
  bankAccount: {
    bankName: null,
    subType: 'CHECKING' as const,
    achRoutingNumber: '*****0021',
    achAccountNumber: '********6789',
    swiftCode: null,
    sealed: 'v1.secret',
  },
});
const details = (paymentId: string): PaymentDetails => ({
  paymentId,
  organizationId: '00000000-0000-4000-8000-000000000001',
  originatorId: 'o',
  contactId: 'c',
  amountMinor: 100,
  discountFeeMinor: 0,
  flatFeeMinor: 0,
  returnFeeMinor: 0,
  currencyCode: 'USD',
  paymentRail: 'ACH',
  direction: 'OUTBOUND',
  paymentNote: null,
  externalPaymentId: null,
  idempotencyKey: 'k',
  originator: party('o'),
  contact: party('c'),
});

async function read(
  feed: ReturnType<typeof integrationFeed>,
  after: string,
  count: number,
): Promise<(Message & { offset: string })[]> {
  const enough = new AbortController();
  const messages = [];
  for await (const page of feed.subscribe({
    after,
    topics: [topics.payments],
    signal: enough.signal,
  })) {
    messages.push(...page.messages);
    if (messages.length >= count) enough.abort();
  }
  return messages;
}

async function lifeOf(paymentId: string) {
  const store = memoryEventStore();
  const payments = repository(store, paymentAggregate);
  await payments.execute(
    paymentId,
    { type: 'QueuePayment', at, data: details(paymentId) },
    context,
  );
  await payments.execute(
    paymentId,
    { type: 'ProcessPayment', at, data: { railReference: 'r' } },
    context,
  );
  await payments.execute(paymentId, { type: 'CompletePayment', at, data: {} }, context);
  return store;
}

it('each transition is one message with the payment as it was, masked, and the status before', async () => {
  const messages = await read(integrationFeed(await lifeOf('p1')), beginning, 3);
  expect(messages.map(({ key, headers }) => [key, headers['event-type']])).toEqual([
    ['payment-p1', 'payment.queued'],
    ['payment-p1', 'payment.processing'],
    ['payment-p1', 'payment.completed'],
  ]);
  const values = messages.map(
    ({ value }) => JSON.parse(value) as { data: Record<string, unknown>; occurredAt: string },
  );
  expect(
    values.map(({ data }) => [data['status'], data['previousStatus'], data['completedAt']]),
  ).toEqual([
    ['QUEUED', null, null],
    ['PROCESSING', 'QUEUED', null],
    ['COMPLETED', 'PROCESSING', at],
  ]);
  expect(messages.map(({ value }) => value).join('')).not.toContain('v1.secret');
  expect(messages[0]?.headers['traceparent']).toBe(context.traceparent);
});

it('a feed that begins in the middle of a payment gives the same messages as one that saw it all', async () => {
  const store = await lifeOf('p2');
  const all = await read(integrationFeed(store), beginning, 3);
  const rest = await read(integrationFeed(store), all[0]?.offset ?? '', 2);
  expect(rest).toEqual(all.slice(1));
});

it('a second reader of the same feed gets the same messages from memory', async () => {
  const feed = integrationFeed(await lifeOf('p3'));
  expect(await read(feed, beginning, 3)).toEqual(await read(feed, beginning, 3));
});
