import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import {
  type PaymentIntegrationEvent,
  paymentIntegrationEventSchema,
  topics,
} from '@pis/contracts';
import { paymentExample } from '@pis/domain/testing';
import { until } from '@pis/local-servers/testing';
import { eventsProjection, ProjectionRunner } from '@pis/read-models';
import { completePayment, queuePayment } from '@pis/read-models/testing';
import { integrationFeed } from '@pis/service-kit';
import { type ReplayRecord, replayRequests, verify } from '@pis/webhooks';
import {
  type DispatcherFixture,
  dispatcherFixture,
  type TestEndpoint,
  testLimits,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(60_000);

const timeoutMs = 20_000;
const windowStart = Date.now() - 3_600_000;
const at = (second: number) => new Date(windowStart + second * 1_000).toISOString();
/** Before the fixed times of the example events. */
const longAgo = new Date('2001-01-01T00:00:00Z');
/** A worker that looks often. */
const quick = { pollMs: 10, pageEveryMs: 5, waitMs: 10, disabledRecheckMs: 10 };

let fixture: DispatcherFixture;
let runner: ProjectionRunner;
let endpoint: TestEndpoint;

beforeEach(async () => {
  fixture = await dispatcherFixture();
  const { store, pool } = fixture;
  runner = new ProjectionRunner({ projection: eventsProjection, store, pool });
  endpoint = await fixture.createEndpoint();
});
afterEach(async () => {
  await runner.stop();
  await fixture.close();
});

type Changes = NonNullable<Parameters<DispatcherFixture['dispatcher']>[0]>;
function started({ limits, ...changes }: Changes = {}) {
  const dispatcher = fixture.dispatcher({
    now: () => new Date(),
    limits: { ...testLimits, ...limits, replays: { ...quick, ...limits?.replays } },
    ...changes,
  });
  dispatcher.start();
  return dispatcher;
}

/** The events of the payments so far, as the broker brings them. */
async function published(): Promise<PaymentIntegrationEvent[]> {
  const end = await fixture.store.lastPosition();
  const { signal } = new AbortController();
  const pages = integrationFeed(fixture.store).subscribe({
    after: '',
    topics: [topics.payments],
    signal,
  });
  const events: PaymentIntegrationEvent[] = [];
  for await (const { messages, position } of pages) {
    for (const { value } of messages)
      events.push(paymentIntegrationEventSchema.parse(JSON.parse(value)));
    if (position >= end) return events;
  }
  return events;
}

const queue = (second: number) =>
  queuePayment(
    fixture.store,
    at(second),
    paymentExample({
      paymentId: randomUUID(),
      organizationId: fixture.organizationId,
      paymentNote: 'Zażółć 💸 \u2028 "\\"',
    }),
  );
const replays = () => replayRequests(fixture.pool);

async function requested(changes: Partial<ReplayRecord> = {}): Promise<ReplayRecord> {
  const replay = await replays().create({
    id: randomUUID(),
    organizationId: fixture.organizationId,
    endpointId: endpoint.endpointId,
    fromAt: new Date(at(0)),
    toAt: new Date(),
    eventTypes: null,
    throughPosition: await fixture.store.lastPosition(),
    requestedAt: new Date(),
    ...changes,
  });
  if (replay === null) throw new Error('too many replays');
  return replay;
}

const current = async ({ id: replayId, organizationId, endpointId }: ReplayRecord) =>
  replays().get({ organizationId, endpointId, replayId });
const untilEnded = async (replay: ReplayRecord, state: string) => {
  await until(async () => (await current(replay))?.state === state, { timeoutMs, what: state });
};
const untilReceived = (count: number) =>
  until(() => fixture.receiver.requests.length >= count, { timeoutMs, what: `${count} requests` });
const idsIn = (requests: DispatcherFixture['receiver']['requests']) =>
  requests.map(({ body }) => (JSON.parse(body) as { id: string }).id);
const records = () =>
  fixture.query<{ id: string; state: string; attempts: number; is_replay: boolean }>(
    'SELECT id, state, attempts, is_replay FROM webhook_delivery_records',
  );
const untilAllDelivered = (count: number) =>
  until(
    async () => {
      const all = await records();
      return all.length === count && all.every(({ state }) => state === 'delivered');
    },
    { timeoutMs, what: `${count} delivered` },
  );

describe('An endpoint whose owner asks for a replay', () => {
  it('gets every event again, with the ids and the bytes it was sent with, marked and signed', async () => {
    const payment = await queue(0);
    await completePayment(fixture.store, payment);
    const dispatcher = started();
    for (const event of await published()) await dispatcher.handle(event);
    await untilAllDelivered(3);
    const first = [...fixture.receiver.requests];
    runner.start();

    const replay = await requested({ fromAt: longAgo });
    await untilReceived(6);
    await untilEnded(replay, 'completed');
    const again = fixture.receiver.requests.slice(3);
    for (const sent of again) {
      const before = first.find(
        ({ headers }) => headers['x-webhook-delivery'] === sent.headers['x-webhook-delivery'],
      );
      expect(sent.body).toBe(before?.body);
      expect(before?.headers['x-webhook-replay']).toBeUndefined();
      expect(sent.headers['x-webhook-replay']).toBe('true');
      expect(verify(sent.body, sent.headers, endpoint.secret, new Date())).toBe(true);
    }
    expect(new Set(idsIn(again))).toEqual(new Set(idsIn(first)));
    expect(await current(replay)).toMatchObject({ eventsSent: 3, finishedAt: expect.any(Date) });
    await untilAllDelivered(3);
    expect(await records()).toEqual(
      expect.arrayContaining([expect.objectContaining({ attempts: 2, is_replay: true })]),
    );
  });

  it('gets what it was never sent, as it would have been, also when nothing of it is stored', async () => {
    const payment = await queue(0);
    await completePayment(fixture.store, payment);
    const wouldBe = await published();
    runner.start();
    started();
    await untilEnded(await requested({ fromAt: longAgo }), 'completed');
    await untilReceived(3);
    // Another endpoint, to which the dispatcher sends them for the first time.
    const other = await fixture.createEndpoint({ url: `${fixture.receiver.url}/other` });
    const dispatcher = started();
    // As if it had been there before them.
    for (const event of wouldBe)
      await dispatcher.handle({ ...event, position: (await fixture.store.lastPosition()) + '9' });
    await until(
      () => fixture.receiver.requests.filter(({ path }) => path === '/other').length === 3,
      { timeoutMs },
    );
    const bodies = (path: string) =>
      fixture.receiver.requests
        .filter((request) => request.path === path)
        .map(({ body }) => body)
        .toSorted();
    expect(bodies('/hook').slice(0, 3)).toHaveLength(3);
    for (const body of bodies('/other')) expect(bodies('/hook')).toContain(body);
    expect(other.endpointId).not.toBe(endpoint.endpointId);
  });

  it('gets the time and the event types that were asked for, both ends included', async () => {
    for (const second of [0, 1, 2, 3]) await queue(second);
    await completePayment(fixture.store, await queue(2));
    const events = await published();
    runner.start();
    started();
    const replay = await requested({
      fromAt: new Date(at(1)),
      toAt: new Date(at(2)),
      eventTypes: ['payment.queued'],
    });
    await untilEnded(replay, 'completed');
    await untilReceived(3);
    expect(idsIn(fixture.receiver.requests).toSorted()).toEqual(
      events
        .filter(({ eventType }) => eventType === 'payment.queued')
        .filter(({ occurredAt }) => occurredAt >= at(1) && occurredAt <= at(2))
        .map(({ eventId }) => eventId)
        .toSorted(),
    );
  });

  it('waits for the index of events, and then misses nothing', async () => {
    for (const second of [0, 1, 2]) await queue(second);
    started();
    const replay = await requested();
    // The worker has looked at it: it is leased until its next turn.
    await until(
      async () =>
        (await fixture.query('SELECT 1 FROM webhook_replays WHERE leased_until IS NOT NULL'))
          .length,
      { timeoutMs },
    );
    expect(await current(replay)).toMatchObject({ state: 'running', eventsSent: 0 });
    runner.start();
    await untilEnded(replay, 'completed');
    await untilReceived(3);
  });

  it('gets a pending delivery at once instead of a second one', async () => {
    await queue(0);
    fixture.receiver.respondWith((_, index) => ({ status: index === 0 ? 500 : 200 }));
    const dispatcher = started();
    for (const event of await published()) await dispatcher.handle(event);
    await until(async () => (await records())[0]?.attempts === 1, { timeoutMs });
    runner.start();
    await untilEnded(await requested(), 'completed');
    await untilAllDelivered(1);
    expect(fixture.receiver.requests).toHaveLength(2);
  });

  it('gets fresh events in between, however much is replayed', async () => {
    const many = 400;
    for (let n = 0; n < many; n += 1) await queue(n / 1_000);
    fixture.receiver.respondWith(() => ({ delayMs: 10 }));
    runner.start();
    const dispatcher = started();
    await requested();
    await untilReceived(80);
    await queue(100);
    const fresh = (await published()).at(-1);
    if (fresh === undefined) throw new Error('no event');
    const before = fixture.receiver.requests.length;
    await dispatcher.handle(fresh);
    await until(() => idsIn(fixture.receiver.requests).includes(fresh.eventId), { timeoutMs });
    const stoodBefore = idsIn(fixture.receiver.requests).indexOf(fresh.eventId) - before;
    // A page that was due already, and what was in flight; not the hundreds still to come.
    expect(stoodBefore).toBeLessThan(150);
    await untilReceived(many + 1);
  });

  it('disables it: the replay waits; enables it: it goes on; deletes it: it is canceled', async () => {
    for (const second of [0, 1]) await queue(second);
    runner.start();
    const { organizationId } = fixture;
    const { endpointId } = endpoint;
    const enable = (enabled: boolean) =>
      fixture.change({
        type: 'UpdateWebhookEndpoint',
        at: new Date().toISOString(),
        data: { organizationId, endpointId, changes: { enabled } },
      });
    await enable(false);
    started();
    const replay = await requested();
    await until(
      async () =>
        (await fixture.query('SELECT 1 FROM webhook_replays WHERE leased_until IS NOT NULL'))
          .length,
      { timeoutMs },
    );
    expect(await current(replay)).toMatchObject({ state: 'running', eventsSent: 0 });
    await enable(true);
    await untilEnded(replay, 'completed');
    await untilReceived(2);

    await fixture.change({
      type: 'DeleteWebhookEndpoint',
      at: new Date().toISOString(),
      data: { organizationId, endpointId },
    });
    const late = await requested();
    await untilEnded(late, 'canceled');
    expect(fixture.receiver.requests).toHaveLength(2);
  });

  it('gets each event once, although three dispatchers share the work and take turns at being stopped', async () => {
    const many = 120;
    for (let n = 0; n < many; n += 1) await queue(n / 100);
    runner.start();
    // What is in flight at a stop is waited for: nothing is cut, hence nothing comes twice.
    const limits = { shutdownGraceMs: timeoutMs, replays: { dueMax: 8 } };
    const replay = await requested();
    for (let n = 0; (await current(replay))?.state === 'running'; n += 1) {
      const some = [started({ limits }), started({ limits }), started({ limits })];
      await untilReceived(Math.min(many, (n + 1) * 30));
      await Promise.all(some.map((dispatcher) => dispatcher.stop()));
    }
    started();
    await untilAllDelivered(many);
    expect((await current(replay))?.eventsSent).toBe(many);
    expect(new Set(idsIn(fixture.receiver.requests)).size).toBe(many);
    expect(fixture.receiver.requests).toHaveLength(many);
  });

  it.each(['revive', 'advance'])(
    'misses nothing when the database goes at its %s',
    async (what) => {
      for (let n = 0; n < 20; n += 1) await queue(n);
      runner.start();
      const { pool, failed } = failingOnce(fixture, what);
      const limits = { replays: { dueMax: 8 } };
      started({ pool, limits });
      const replay = await requested();
      await untilEnded(replay, 'completed');
      await untilAllDelivered(20);
      expect(failed()).toBe(true);
      expect((await current(replay))?.eventsSent).toBe(20);
      expect(fixture.receiver.requests).toHaveLength(20);
    },
  );
});

/** A pool whose connections fail once at the statement that is named so, after it was executed. */
function failingOnce({ pool }: DispatcherFixture, statement: string) {
  let failed = false;
  const connect = async () => {
    const client = await pool.connect();
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    const failing = async (...args: unknown[]) => {
      const result = await query(...args);
      const { name } = args[0] as { name?: string };
      if (failed || name?.endsWith(`.${statement}`) !== true) return result;
      failed = true;
      throw new Error('the connection is gone');
    };
    return new Proxy(client, {
      get: (target, key) => {
        if (key === 'query') return failing;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  const failing = new Proxy(pool, {
    get: (target, key) => {
      if (key === 'connect') return connect;
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { pool: failing, failed: () => failed };
}
