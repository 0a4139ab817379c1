import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import {
  paymentIntegrationEventSchema,
  type PaymentView,
  statementIntegrationEventSchema,
  type WebhookIntegrationEvent,
} from '@pis/contracts';
import { statement, type StatementRecord } from '@pis/domain';
import { linkExample, paymentEvents } from '@pis/domain/testing';
import { type EventStore, repository, systemContext } from '@pis/event-store';
import { kafkaHarness, type MessagingHarness } from '@pis/messaging/testing';
import { appendEvents, completePayment } from '@pis/read-models/testing';
import type { Dispatcher } from './dispatcher.js';
import { type ReplayFixture, replayFixture } from './testing/replay-fixture.js';

jest.setTimeout(120_000);

type LinkEvent = (typeof paymentEvents)['awaiting' | 'canceled' | 'queuedFromLink'];

interface PaymentEnvelope {
  readonly eventType: string;
  readonly data: PaymentView;
}

interface StatementEnvelope {
  readonly id: string;
  readonly createdAt: string;
  readonly data: object;
}

const brokers = process.env['PIS_TEST_KAFKA_BROKERS'];
/** Before the fixed times of the example events. */
const longAgo = new Date('2001-01-01T00:00:00Z');

(brokers === undefined ? describe.skip : describe)('A client whose events came over Kafka', () => {
  let fixture: ReplayFixture;
  let harness: MessagingHarness;
  beforeEach(async () => {
    fixture = await replayFixture();
    harness = await kafkaHarness((brokers ?? '').split(','));
  });
  afterEach(async () => {
    await harness.close();
    await fixture.close();
  });

  /** A consumer of the broker that hands each event to the dispatcher, as the app's does. */
  function consume(
    topic: string,
    dispatcher: Dispatcher,
    schema: { parse(value: unknown): WebhookIntegrationEvent } = paymentIntegrationEventSchema,
  ) {
    const consumer = harness.createConsumer({ group: `group-${randomUUID()}` });
    const handler = (value: unknown) => dispatcher.handle(schema.parse(value));
    consumer.addHandler(topic, handler as never, true);
    consumer.listen((error) => {
      if (error !== undefined) throw error as Error;
    });
    return consumer;
  }

  it('gets the same bytes in a replay, although they are no longer stored', async () => {
    await completePayment(fixture.store, await fixture.queue(0));
    await sentTwiceAlike(3);
  });

  it('gets a payment by link while it waits, and when it is canceled or submitted', async () => {
    const { awaiting, canceled, queuedFromLink } = paymentEvents;
    await linked(awaiting, canceled);
    await linked(awaiting, queuedFromLink);
    const bodies = await sentTwiceAlike(4);
    const sent = bodies.map((body) => JSON.parse(body) as PaymentEnvelope);
    const said = ({ eventType, data }: PaymentEnvelope) => [eventType, data.status, data.contact];
    const named = { id: linkExample.counterpartyId, firstName: 'Ada', bankAccount: {} };
    expect(sent.map(said).toSorted()).toMatchObject([
      ['payment.awaiting_confirmation', 'AWAITING_CONFIRMATION', null],
      ['payment.awaiting_confirmation', 'AWAITING_CONFIRMATION', null],
      ['payment.canceled', 'CANCELED', null],
      ['payment.queued', 'QUEUED', named],
    ]);
    for (const secret of [linkExample.tokenDigest, linkExample.sealedToken, 'holder'])
      expect(bodies.join()).not.toContain(secret);
  });

  it('gets a statement once, and again in a replay, each time stamped anew and with 14 days for retries', async () => {
    const { createEndpoint, organizationId, query, receiver, store } = fixture;
    const { endpointId } = await createEndpoint({ subscribedEvents: ['statement.generated'] });
    const record = await recordedStatement(store, organizationId);
    const topic = await harness.createTopic({ partitions: 1 });
    const messages = (await fixture.messages()).map((message) => ({ ...message, topic }));
    // At least once: the second one changes nothing.
    await harness.publish([...messages, ...messages]);
    const consumer = consume(topic, fixture.started(), statementIntegrationEventSchema);
    await fixture.untilAllDelivered(1);
    await consumer.close();

    fixture.index.start();
    const requestedMs = Date.now();
    receiver.respondWith(() => ({ status: 503 }));
    const replay = await fixture.requested({ endpointId, fromAt: longAgo });
    await fixture.untilEnded(replay, 'completed');
    await fixture.untilReceived(2);
    const [first, again] = receiver.requests.map(({ body, headers }) => ({
      ...(JSON.parse(body) as StatementEnvelope),
      signedAt: headers['x-webhook-timestamp'],
    }));
    const { statementId, originatorId, periodYear, periodMonth } = record;
    const data = { statementId, originatorId, periodYear, periodMonth };
    expect(receiver.requests[1]?.headers['x-webhook-replay']).toBe('true');
    for (const sent of [first, again])
      expect(sent).toMatchObject({ id: first?.id, data, createdAt: sent?.signedAt });
    expect(again?.createdAt).not.toBe(first?.createdAt);
    const [row] = await query<{ ends: Date }>(
      'SELECT window_ends_at AS ends FROM webhook_deliveries WHERE endpoint_id = $1',
      [endpointId],
    );
    const windowMs = 14 * 24 * 3_600_000;
    expect(row?.ends.getTime()).toBeGreaterThanOrEqual(requestedMs + windowMs);
    expect(row?.ends.getTime()).toBeLessThanOrEqual(Date.now() + windowMs);
  });

  /** A payment of the fixture's organization. */
  async function linked(...events: readonly LinkEvent[]): Promise<void> {
    const paymentId = randomUUID();
    const { organizationId, store } = fixture;
    const own = events.map((event) => ({
      ...event,
      data: event.type === 'PaymentCanceled' ? {} : { ...event.data, paymentId, organizationId },
    }));
    await appendEvents(store, `payment-${paymentId}`, own);
  }

  /** All events come over the broker, and again by a replay. @returns the bodies that were sent first */
  async function sentTwiceAlike(count: number): Promise<readonly string[]> {
    const topic = await harness.createTopic({ partitions: 1 });
    const messages = await fixture.messages();
    await harness.publish(messages.map((message) => ({ ...message, topic })));
    const consumer = consume(topic, fixture.started());
    await fixture.untilAllDelivered(count);
    await consumer.close();
    await fixture.query('TRUNCATE webhook_finished_deliveries, webhook_fan_outs');
    fixture.index.start();
    await fixture.untilEnded(await fixture.requested({ fromAt: longAgo }), 'completed');
    await fixture.untilAllDelivered(count);
    const { requests } = fixture.receiver;
    const sent = requests.map(
      ({ headers, body }) => `${String(headers['x-webhook-delivery'])} ${body}`,
    );
    expect(sent).toHaveLength(2 * count);
    expect(sent.slice(count).toSorted()).toEqual(sent.slice(0, count).toSorted());
    return requests.slice(0, count).map(({ body }) => body);
  }
});

async function recordedStatement(
  store: EventStore,
  organizationId: string,
): Promise<StatementRecord> {
  const none = { count: 0, amountMinor: 0 };
  const open = { inProgressIn: none, inProgressOut: none, feesDueMinor: 0 };
  const data: StatementRecord = {
    ...{ statementId: randomUUID(), organizationId, originatorId: randomUUID() },
    ...{ periodYear: 2026, periodMonth: 10, timeZone: 'America/New_York' },
    ...{ to: '2026-11-01T04:00:00.000Z', through: '0000000000000042', after: null },
    ...{ sha256: 'a'.repeat(64), sizeBytes: 12_345 },
    figures: {
      ...{ opening: open, closing: open, paymentsIn: none, paymentsOut: none },
      ...{ withoutMovement: none, returnsIn: none, returnsOut: none },
      ...{ collections: none, collectionReturns: none, fees: none },
    },
  };
  const at = new Date().toISOString();
  const command = { type: 'RecordStatement', at, data } as const;
  await repository(store, statement).create(data.statementId, command, systemContext('test'));
  return data;
}
