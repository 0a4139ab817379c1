import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { verify } from '@pis/webhooks';
import {
  type DispatcherFixture,
  dispatcherFixture,
  type TestEndpoint,
  testConfig,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(120_000);
const timeoutMs = 30_000;
const dayMs = 24 * 3_600_000;
const windowMs = testConfig.PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS;
/** The content of a statement may look like the field that is stamped. */
const data = { createdAt: '2026-11-01T00:00:00.000Z', note: '"createdAt":"never" 💸' };

/** No app publishes statement events: a delivery of one stands in the table as a fan-out leaves it. */
describe('A client to whom a statement event is delivered', () => {
  let fixture: DispatcherFixture;
  let endpoint: TestEndpoint;
  const id = randomUUID();
  const eventId = randomUUID();
  beforeEach(async () => {
    fixture = await dispatcherFixture();
    endpoint = await fixture.createEndpoint({ subscribedEvents: ['statement.generated'] });
    const at = fixture.now();
    const envelope = { id: eventId, version: '1', eventType: 'statement.generated' };
    const body = JSON.stringify({ ...envelope, createdAt: at, synthetic: false, data });
    await fixture.query(
      `INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type,
          occurred_at, body, created_at, next_attempt_at, window_ends_at)
        VALUES ($1, $2, $3, $4, 'statement.generated', $5, $6, $5, $5, $7)`,
      [
        ...[id, fixture.organizationId, endpoint.endpointId, eventId, at, body],
        new Date(at.getTime() + windowMs),
      ],
    );
  });
  afterEach(() => fixture.close());

  it('gets a createdAt that is stamped at each signing, and everything else unchanged', async () => {
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    fixture.dispatcher().start();
    await attempted(1);
    fixture.advance(30_000);
    await finishedAs('delivered');

    const [first, second] = fixture.receiver.requests;
    for (const { body, headers } of [first, second].filter((request) => request !== undefined)) {
      expect(verify(body, headers, endpoint.secret, fixture.now())).toBe(true);
      expect(headers['x-webhook-delivery']).toBe(id);
      expect(JSON.parse(body)).toEqual({
        id: eventId,
        version: '1',
        eventType: 'statement.generated',
        createdAt: headers['x-webhook-timestamp'],
        synthetic: false,
        data,
      });
    }
    expect(second?.headers['x-webhook-timestamp']).not.toBe(first?.headers['x-webhook-timestamp']);
  });

  it('is attempted on its fourteenth day, and not after that', async () => {
    fixture.receiver.respondWith(() => ({ status: 500 }));
    fixture.dispatcher().start();
    await attempted(1);
    fixture.advance(13 * dayMs);
    await attempted(2);
    fixture.advance(dayMs + 1);
    await finishedAs('failed');
    expect(fixture.receiver.requests).toHaveLength(2);
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
    fixture.query<{ attempts: number; state?: string }>(`SELECT * FROM ${table}`);
});
