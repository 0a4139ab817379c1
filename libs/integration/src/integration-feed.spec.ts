import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { paymentIntegrationEventSchema, topics } from '@pis/contracts';
import {
  contact as contactAggregate,
  payment as paymentAggregate,
  type PaymentCommand,
  type PaymentDetails,
} from '@pis/domain';
import { contactExample } from '@pis/domain/testing';
import {
  beginning,
  type EventStore,
  memoryEventStore,
  type RecordedEvent,
  repository,
  sealedStore,
  StoreUnavailable,
  streamPageMax,
  StreamStates,
} from '@pis/event-store';
import { MemorySealing, shortSightedStore } from '@pis/event-store/testing';
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
  topic: string = topics.payments,
): Promise<(Message & { offset: string })[]> {
  const enough = new AbortController();
  const messages = [];
  for await (const page of feed.subscribe({
    after,
    topics: [topic],
    signal: enough.signal,
  })) {
    messages.push(...page.messages);
    if (messages.length >= count) enough.abort();
  }
  return messages;
}

async function lifeOf(paymentId: string) {
  const store = sealedStore(memoryEventStore(), new MemorySealing());
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

it('each transition is one message with the masked payment at that time and the previous status', async () => {
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

it('a feed that begins in the middle of a payment gives the same messages as one from the beginning', async () => {
  const store = await lifeOf('p2');
  const all = await read(integrationFeed(store), beginning, 3);
  const rest = await read(integrationFeed(store), all[0]?.offset ?? '', 2);
  expect(rest).toEqual(all.slice(1));
});

it('a message has nothing of the events that a failover to an older replica has lost', async () => {
  const open = () => sealedStore(memoryEventStore(), new MemorySealing());
  const run = async (store: EventStore, ...commands: readonly PaymentCommand[]) => {
    const payments = repository(store, paymentAggregate);
    for (const command of commands) await payments.execute('p8', command, context);
  };
  const start: readonly PaymentCommand[] = [
    { type: 'QueuePayment', at, data: details('p8') },
    { type: 'ProcessPayment', at, data: { railReference: 'r' } },
  ];
  const texts = { failureMessage: 'lost', failureReason: 'lost' };
  const lost: PaymentCommand = {
    type: 'FailPayment',
    at,
    data: { failureCode: 'INTERNAL_ERROR', ...texts },
  };
  let store = open();
  await run(store, ...start, lost);
  const feed = integrationFeed({
    ...store,
    readStream: (...args) => store.readStream(...args),
    subscribe: (options) => store.subscribe(options),
  });
  const [, processing] = await read(feed, beginning, 3);
  store = open();
  await run(store, ...start, { type: 'CompletePayment', at, data: {} });
  const [completed] = await read(feed, processing?.offset ?? '', 1);
  await run(store, { type: 'ReturnPayment', at, data: { returnReasonCode: 'R01' } });
  const [returned] = await read(feed, completed?.offset ?? '', 1);
  expect(JSON.parse(String(returned?.value))).toMatchObject({
    data: { status: 'RETURNED', previousStatus: 'COMPLETED', failureCode: null },
  });
});

it('a consumer that parses a message gets the published text', async () => {
  for (const { value } of await read(integrationFeed(await lifeOf(randomUUID())), beginning, 3)) {
    const parsed = paymentIntegrationEventSchema.parse(JSON.parse(String(value)));
    expect(JSON.stringify(parsed)).toBe(value);
  }
});

it('an unknown topic is refused', async () => {
  const feed = integrationFeed(await lifeOf('p7'));
  const count = feed.countAfter({ after: beginning, topics: ['pis.payments.v0'], max: 1 });
  await expect(count).rejects.toThrow('there is no topic pis.payments.v0');
});

it('a second reader of the same feed gets the same messages from memory', async () => {
  const feed = integrationFeed(await lifeOf('p3'));
  expect(await read(feed, beginning, 3)).toEqual(await read(feed, beginning, 3));
});

/** Several payments with interleaved events in the log. */
async function mixedLives(count: number) {
  const store = sealedStore(memoryEventStore(), new MemorySealing());
  const payments = repository(store, paymentAggregate);
  const ids = Array.from({ length: count }, (_, index) => `m${index}`);
  const each = async (command: (id: string) => PaymentCommand) => {
    for (const id of ids) await payments.execute(id, command(id), context);
  };
  await each((id) => ({ type: 'QueuePayment', at, data: details(id) }));
  await each(() => ({ type: 'ProcessPayment', at, data: { railReference: 'r' } }));
  await each(() => ({ type: 'CompletePayment', at, data: {} }));
  await each(() => ({ type: 'ReturnPayment', at, data: { returnReasonCode: 'R01' } }));
  return store;
}

it('keeps no payment that has ended: its return is told from its stream', async () => {
  const store = await lifeOf('p1');
  let reads = 0;
  const feed = integrationFeed({
    ...store,
    readStream: (...given) => ((reads += 1), store.readStream(...given)),
  });
  const offset = (await read(feed, beginning, 3)).at(-1)?.offset ?? '';
  expect(reads).toBe(0);
  const data = { returnReasonCode: 'R01' } as const;
  const payments = repository(store, paymentAggregate);
  await payments.execute('p1', { type: 'ReturnPayment', at, data }, context);
  const [returned] = await read(feed, offset, 1);
  expect(JSON.parse(returned?.value ?? '')).toMatchObject({
    eventType: 'payment.returned',
    data: { paymentId: 'p1', previousStatus: 'COMPLETED' },
  });
  expect(reads).toBe(1);
});

it('keeps the state of a payment under way and not its event, which takes as much memory', async () => {
  const store = sealedStore(memoryEventStore(), new MemorySealing());
  const payments = repository(store, paymentAggregate);
  await payments.execute('p1', { type: 'QueuePayment', at, data: details('p1') }, context);
  const given: WeakRef<RecordedEvent>[] = [];
  const feed = integrationFeed({
    ...store,
    async *subscribe(options) {
      for await (const page of store.subscribe(options)) {
        given.push(...page.events.map((event) => new WeakRef(event)));
        yield page;
      }
    },
  });
  const [queued] = await read(feed, beginning, 1);
  await nextTurn();
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  expect(given.map((event) => event.deref())).toEqual([undefined]);
  expect(await read(feed, beginning, 1)).toEqual([queued]);
});

it('readers at different positions get the right messages even if their reads end together', async () => {
  const store = await lifeOf('p4');
  const all = await read(integrationFeed(store), beginning, 3);
  const waiting: (() => void)[] = [];
  const together: EventStore = {
    ...store,
    readStream: async (...given) => {
      const events = await store.readStream(...given);
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 2) for (const go of waiting) go();
      });
      return events;
    },
  };
  const feed = integrationFeed(together);
  const [behind, ahead] = await Promise.all([
    read(feed, all[0]?.offset ?? '', 2),
    read(feed, all[1]?.offset ?? '', 1),
  ]);
  expect(behind).toEqual(all.slice(1));
  expect(ahead).toEqual(all.slice(2));
});

it.each([1, 3, 10, 25])(
  'readers far apart get the right messages although only %d are cached',
  async (messagesMax) => {
    const store = await mixedLives(10);
    const all = await read(integrationFeed(store), beginning, 40);
    for (const pageMax of [4, 7, 40]) {
      const feed = integrationFeed(store, { messagesMax, statesMax: 6, pageMax });
      const starts = [0, 35, 12, 1, 20, 5, 0];
      const got = await Promise.all(
        starts.map((start) => read(feed, all[start - 1]?.offset ?? beginning, 40 - start)),
      );
      expect(got).toEqual(starts.map((start) => all.slice(start)));
    }
  },
);

it('counts the events of the wanted topics after a position, up to a limit', async () => {
  const store = await lifeOf('p6');
  const feed = integrationFeed(store);
  const [first] = await read(feed, beginning, 3);
  const count = (after: string, topic: string, max = 1_000) =>
    feed.countAfter({ after, topics: [topic], max });
  expect(await count(beginning, topics.payments)).toBe(3);
  expect(await count(first?.offset ?? '', topics.payments)).toBe(2);
  expect(await count(beginning, topics.payments, 1)).toBe(1);
  expect(await count(beginning, topics.directory)).toBe(0);
});

it('counts events that follow pages without any of the wanted topics', async () => {
  const store = await lifeOf('p8');
  const contacts = repository(store, contactAggregate, { states: new StreamStates() });
  const record = contactExample();
  await contacts.create(record.contactId, { type: 'CreateContact', at, data: record }, context);
  const feed = integrationFeed(shortSightedStore(store));
  const wanted = { after: beginning, topics: [topics.directory], max: 1_000 };
  expect(await feed.countAfter(wanted)).toBe(1);
});

it('waits for a stream that lags behind the log', async () => {
  const store = await lifeOf('p5');
  const all = await read(integrationFeed(store), beginning, 3);
  let lags = true;
  const lagging: EventStore = {
    ...store,
    readStream: async (...given) => (lags ? [] : store.readStream(...given)),
  };
  const feed = integrationFeed(lagging);
  const after = all[1]?.offset ?? '';
  await expect(read(feed, after, 1)).rejects.toBeInstanceOf(StoreUnavailable);
  lags = false;
  expect(await read(feed, after, 1)).toEqual(all.slice(2));
});

it('reads a contact with many changes once, a page at a time', async () => {
  const store = sealedStore(memoryEventStore(), new MemorySealing());
  const contacts = repository(store, contactAggregate, { states: new StreamStates() });
  const record = contactExample();
  const { contactId } = record;
  await contacts.create(contactId, { type: 'CreateContact', at, data: record }, context);
  const changes = 1_000;
  for (let n = 0; n < changes; n += 1) {
    const data = { changes: { firstName: `Ada ${n}` }, identity: record.identity };
    await contacts.execute(contactId, { type: 'UpdateContact', at, data }, context);
  }
  const { events } = await store.readLog({ after: beginning, pageMax: 2 * changes });
  const reads: number[] = [];
  const counted: EventStore = {
    ...store,
    readStream: async (...given) => {
      const page = await store.readStream(...given);
      reads.push(page.length);
      return page;
    },
    readStreams: async (ids) => {
      const streams = await store.readStreams(ids);
      reads.push(...streams.map(({ length }) => length));
      return streams;
    },
  };
  const last = 10;
  const after = events.at(-last - 1)?.position ?? '';
  const feed = integrationFeed(counted, { pageMax: 1 });
  expect(await read(feed, after, last, topics.directory)).toHaveLength(last);
  expect(Math.max(...reads)).toBeLessThanOrEqual(streamPageMax);
  expect(reads.reduce((sum, length) => sum + length, 0)).toBe(changes + 1 - last);
});

describe('after the erasure of a party', () => {
  const erasureOf = async (store: EventStore, contactId: string) => {
    const contacts = repository(store, contactAggregate);
    const record = contactExample({ contactId });
    await contacts.execute(contactId, { type: 'CreateContact', at, data: record }, context);
    const requestId = 'request-1';
    const data = { reason: 'asked', by: 'user:cli:ada', overridesRetention: true, requestId };
    await contacts.execute(contactId, { type: 'RequestErasure', at, data }, context);
    await contacts.execute(contactId, { type: 'ConfirmErasure', at, data: { requestId } }, context);
    await contacts.execute(contactId, { type: 'CompleteErasure', at, data: {} }, context);
  };
  const contactIn = ({ value }: Message) =>
    (JSON.parse(String(value)) as { data: { contact: object } }).data.contact;
  const erased = {
    id: 'c',
    firstName: null,
    lastName: null,
    companyName: null,
    entityType: 'BUSINESS',
    bankAccount: null,
    erased: true,
  };

  it('a payment that the feed has in memory is published without the personal data of the party', async () => {
    const store = await lifeOf('p1');
    const feed = integrationFeed(store);
    const before = await read(feed, beginning, 3);
    expect(contactIn(before[2] as Message)).toMatchObject({ companyName: 'Acme' });

    await erasureOf(store, 'c');
    const command: PaymentCommand = {
      type: 'ReturnPayment',
      at,
      data: { returnReasonCode: 'R01' },
    };
    await repository(store, paymentAggregate).execute('p1', command, context);
    const [returned] = await read(feed, before[2]?.offset ?? '', 1);
    expect(returned?.headers['event-type']).toBe('payment.returned');
    expect(contactIn(returned as Message)).toEqual(erased);
  });

  it('what the feed kept of earlier events is gone too', async () => {
    const store = await lifeOf('p1');
    const feed = integrationFeed(store);
    await read(feed, beginning, 3);
    await erasureOf(store, 'c');
    const command: PaymentCommand = {
      type: 'ReturnPayment',
      at,
      data: { returnReasonCode: 'R01' },
    };
    await repository(store, paymentAggregate).execute('p1', command, context);
    // One reader comes to the erasure. Another one begins anew.
    await read(feed, beginning, 4);
    const again = await read(feed, beginning, 4);
    expect(again.map(contactIn)).toEqual([erased, erased, erased, erased]);
  });
});

it('counts what is left to read without opening it', async () => {
  const sealing = new MemorySealing();
  const store = sealedStore(memoryEventStore(), sealing);
  const paymentId = randomUUID();
  const queue = { type: 'QueuePayment', at, data: details(paymentId) } as const;
  await repository(store, paymentAggregate).execute(paymentId, queue, context);
  sealing.isAway = true;
  const feed = integrationFeed(store);
  expect(await feed.countAfter({ after: beginning, topics: [topics.payments], max: 9 })).toBe(1);
});
