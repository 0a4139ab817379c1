import { jest } from '@jest/globals';
import type { StatementIntegrationEvent } from '@pis/contracts';
import { until } from '@pis/local-servers/testing';
import { deliveryIdOf } from '@pis/webhook-deliveries';
import { verify } from '@pis/webhooks';
import type { Dispatcher } from './dispatcher.js';
import {
  type DispatcherFixture,
  dispatcherFixture,
  type TestEndpoint,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(120_000);
const timeoutMs = 30_000;
const dayMs = 24 * 3_600_000;
describe('A client to whom a statement event is delivered', () => {
  let fixture: DispatcherFixture;
  let endpoint: TestEndpoint;
  let event: StatementIntegrationEvent;
  let dispatcher: Dispatcher;
  beforeEach(async () => {
    fixture = await dispatcherFixture();
    endpoint = await fixture.createEndpoint({ subscribedEvents: ['statement.generated'] });
    event = await fixture.statementEvent();
    dispatcher = fixture.dispatcher();
  });
  afterEach(() => fixture.close());

  it('gets a createdAt that is stamped at each signing, and everything else unchanged', async () => {
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    dispatcher.start();
    await dispatcher.handle(event);
    await attempted(1);
    fixture.advance(30_000);
    await finishedAs('delivered');

    const [first, second] = fixture.receiver.requests;
    for (const { body, headers } of [first, second].filter((request) => request !== undefined)) {
      expect(verify(body, headers, endpoint.secret, fixture.now())).toBe(true);
      expect(headers['x-webhook-delivery']).toBe(deliveryIdOf(event.eventId, endpoint.endpointId));
      expect(JSON.parse(body)).toEqual({
        id: event.eventId,
        version: '1',
        eventType: 'statement.generated',
        createdAt: headers['x-webhook-timestamp'],
        synthetic: false,
        data: event.data,
      });
    }
    expect(second?.headers['x-webhook-timestamp']).not.toBe(first?.headers['x-webhook-timestamp']);
  });

  it('is attempted on its fourteenth day, and not after that', async () => {
    fixture.receiver.respondWith(() => ({ status: 500 }));
    dispatcher.start();
    await dispatcher.handle(event);
    await attempted(1);
    fixture.advance(13 * dayMs);
    await attempted(2);
    fixture.advance(dayMs + 1);
    await finishedAs('failed');
    expect(fixture.receiver.requests).toHaveLength(2);
  });

  it('is not given to endpoints that subscribe to payments only', async () => {
    const others = await fixture.createEndpoint({ subscribedEvents: ['payment.*'] });
    dispatcher.start();
    await dispatcher.handle(event);
    await dispatcher.handle(event);
    await finishedAs('delivered');
    const deliveries = await rows('webhook_finished_deliveries');
    expect(deliveries.map(({ endpoint_id }) => endpoint_id)).toEqual([endpoint.endpointId]);
    expect(deliveries.map(({ endpoint_id }) => endpoint_id)).not.toContain(others.endpointId);
  });

  const attempted = (count: number) =>
    until(
      async () => (await rows('webhook_deliveries')).some(({ attempts }) => attempts === count),
      { timeoutMs, what: `${count} attempts recorded` },
    );

  const finishedAs = (state: string) =>
    until(
      async () => (await rows('webhook_finished_deliveries')).some((row) => row.state === state),
      { timeoutMs, what: state },
    );

  const rows = (table: string) =>
    fixture.query<{ attempts: number; state?: string; endpoint_id: string }>(
      `SELECT * FROM ${table}`,
    );
});
