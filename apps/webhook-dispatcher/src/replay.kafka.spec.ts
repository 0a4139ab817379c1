import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { paymentIntegrationEventSchema, type PaymentView } from '@pis/contracts';
import { linkExample, paymentEvents } from '@pis/domain/testing';
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
  function consume(topic: string, dispatcher: Dispatcher) {
    const consumer = harness.createConsumer({ group: `group-${randomUUID()}` });
    const handler = (value: unknown) =>
      dispatcher.handle(paymentIntegrationEventSchema.parse(value));
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
