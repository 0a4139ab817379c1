import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import type { StatementIntegrationEvent } from '@pis/contracts';
import { until } from '@pis/local-servers/testing';
import { eventsProjection, ProjectionRunner } from '@pis/read-models';
import { deliveryIdOf, deliveryLog, replayRequests } from '@pis/webhook-deliveries';
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

  it('is attempted for fourteen days after a replay was requested, and reads why it ended', async () => {
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 200 : 500 }));
    dispatcher.start();
    await dispatcher.handle(event);
    await finishedAs('delivered');
    // The first window is over.
    fixture.advance(20 * dayMs);
    const { store, pool } = fixture;
    const index = new ProjectionRunner({ projection: eventsProjection, store, pool });
    index.start();
    await requestReplay();
    await attempted(2);
    await index.stop();
    fixture.advance(13 * dayMs);
    await attempted(3);
    fixture.advance(2 * dayMs);
    await finishedAs('failed');

    const sent = fixture.receiver.requests;
    const marks = sent.map(({ headers }) => headers['x-webhook-replay']);
    expect(marks).toEqual([undefined, 'true', 'true']);
    const id = deliveryIdOf(event.eventId, endpoint.endpointId);
    expect(sent.map(({ headers }) => headers['x-webhook-delivery'])).toEqual([id, id, id]);
    expect(await deliveryLog(pool).find(id)).toMatchObject({
      ...{ state: 'failed', finishedReason: 'window_ended', isReplay: true, attempts: 3 },
    });
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

  async function requestReplay(): Promise<void> {
    const { organizationId } = event;
    const { endpointId } = endpoint;
    const replay = await replayRequests(fixture.pool).create({
      ...{ id: randomUUID(), organizationId, endpointId, eventTypes: ['statement.generated'] },
      ...{ fromAt: new Date(event.occurredAt), toAt: fixture.now(), requestedAt: fixture.now() },
      throughPosition: await fixture.store.lastPosition(),
    });
    expect(replay).not.toBeNull();
  }

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
