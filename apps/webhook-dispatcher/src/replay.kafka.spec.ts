import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { paymentIntegrationEventSchema } from '@pis/contracts';
import { kafkaHarness, type MessagingHarness } from '@pis/messaging/testing';
import { completePayment } from '@pis/read-models/testing';
import type { Dispatcher } from './dispatcher.js';
import { type ReplayFixture, replayFixture } from './testing/replay-fixture.js';

jest.setTimeout(120_000);

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
    const topic = await harness.createTopic({ partitions: 1 });
    const messages = await fixture.messages();
    await harness.publish(messages.map((message) => ({ ...message, topic })));
    const consumer = consume(topic, fixture.started());
    await fixture.untilAllDelivered(3);
    await consumer.close();
    await fixture.query('TRUNCATE webhook_finished_deliveries, webhook_fan_outs');
    fixture.index.start();
    await fixture.untilEnded(await fixture.requested({ fromAt: longAgo }), 'completed');
    await fixture.untilAllDelivered(3);

    const sent = fixture.receiver.requests.map(
      ({ headers, body }) => `${String(headers['x-webhook-delivery'])} ${body}`,
    );
    expect(sent).toHaveLength(6);
    expect(sent.slice(3).toSorted()).toEqual(sent.slice(0, 3).toSorted());
  });
});
