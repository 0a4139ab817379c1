/** Dispatchers in processes of their own, killed with SIGKILL at each step of their work. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { paymentExample } from '@pis/domain/testing';
import { until } from '@pis/local-servers/testing';
import { eventsProjection, ProjectionRunner } from '@pis/read-models';
import { queuePayment } from '@pis/read-models/testing';
import { replayRequests } from '@pis/webhook-deliveries';
import { verify } from '@pis/webhooks';
import { buildDispatcher, buildLimitMs, DispatcherChild } from './testing/dispatcher-child.js';
import {
  type DispatcherFixture,
  dispatcherFixture,
  type TestEndpoint,
  testConfig,
} from './testing/dispatcher-fixture.js';
import type { Death } from './testing/dispatcher-process.js';

jest.setTimeout(120_000);

const timeoutMs = 60_000;
/** Retries are due soon, and no attempt fails because the machine is busy. */
const config = {
  ...testConfig,
  PIS_WEBHOOK_RETRY_INITIAL_MS: 100,
  PIS_WEBHOOK_TIMEOUT_MS: 30_000,
};
const limits = {
  pollMaxMs: 20,
  replays: { dueMax: 8, pollMs: 10, pageEveryMs: 5, waitMs: 10 },
};

let fixture: DispatcherFixture;
let endpoint: TestEndpoint;
let victim: DispatcherChild | null = null;

beforeAll(buildDispatcher, buildLimitMs);
beforeEach(async () => {
  fixture = await dispatcherFixture({ isShared: true });
  endpoint = await fixture.createEndpoint();
});
afterEach(async () => {
  await victim?.kill();
  victim = null;
  await fixture.close();
});

async function born(dieAt?: Death): Promise<DispatcherChild> {
  const { databaseUrl, receiver } = fixture;
  const mortality = dieAt === undefined ? {} : { dieAt };
  victim = new DispatcherChild({
    ...{ databaseUrl, config, extraCaPem: receiver.caPem, limits },
    ...mortality,
  });
  await victim.started();
  return victim;
}

/** Takes over: the dead dispatcher's leases have ended, as they would some time later. */
async function successor(dead: DispatcherChild) {
  const free = (table: string) =>
    fixture.query<{ id: string }>(
      `UPDATE ${table} SET leased_until = now() - make_interval(secs => 1) WHERE lease_owner = $1 RETURNING id`,
      [dead.owner],
    );
  await free('webhook_replays');
  const underWay = new Set((await free('webhook_deliveries')).map(({ id }) => id));
  const dispatcher = fixture.dispatcher({ config, limits, now: () => new Date() });
  dispatcher.start();
  return { dispatcher, underWay };
}

const records = () =>
  fixture.query<{ id: string; state: string; attempts: number }>(
    'SELECT id, state, attempts FROM webhook_delivery_records',
  );
const untilDelivered = (count: number) =>
  until(
    async () => {
      const all = await records();
      return all.length === count && all.every(({ state }) => state === 'delivered');
    },
    { timeoutMs, what: `${count} delivered` },
  );

interface Step extends Omit<Death, 'after'> {
  readonly statement: `webhook_${'insert' | 'finish' | 'postpone' | 'claim'}`;
  /** The requests that the receiver may get, by its first answer. */
  readonly requests: readonly number[];
}

/** The first answer is a success, or a failure that makes a second attempt necessary. */
const steps: readonly Step[] = [
  { statement: 'webhook_insert', moment: 'before', requests: [1] },
  { statement: 'webhook_insert', moment: 'during', requests: [1] },
  { statement: 'webhook_insert', moment: 'after', requests: [1] },
  { statement: 'webhook_finish', moment: 'before', requests: [2] },
  { statement: 'webhook_finish', moment: 'during', requests: [1, 2] },
  { statement: 'webhook_finish', moment: 'after', requests: [1] },
  { statement: 'webhook_postpone', moment: 'before', requests: [2] },
  { statement: 'webhook_postpone', moment: 'during', requests: [2] },
  { statement: 'webhook_postpone', moment: 'after', requests: [2] },
  { statement: 'webhook_claim', moment: 'before', requests: [2] },
  { statement: 'webhook_claim', moment: 'during', requests: [2] },
  { statement: 'webhook_claim', moment: 'after', requests: [2] },
];

describe('A client receives each webhook, with the same ids and bytes, when the dispatcher is killed', () => {
  it.each(steps)('$moment its $statement', async (step) => {
    const isOfRetry = step.statement === 'webhook_postpone' || step.statement === 'webhook_claim';
    fixture.receiver.respondWith((_, index) => ({ status: isOfRetry && index === 0 ? 500 : 200 }));
    const dead = await born(step);
    const event = await fixture.paymentEvent({ occurredAt: new Date().toISOString() });
    dead.handle(event);
    await dead.died();
    await expectDelivered(dead, event, step.requests);
  });

  it('while the receiver prepares its answer', async () => {
    fixture.receiver.respondWith((_, index) => (index === 0 ? { hang: true } : {}));
    const dead = await born();
    const event = await fixture.paymentEvent({ occurredAt: new Date().toISOString() });
    dead.handle(event);
    await fixture.receiver.waitFor(() => true, { timeoutMs });
    await dead.kill();
    await expectDelivered(dead, event, [2]);
  });

  async function expectDelivered(
    dead: DispatcherChild,
    event: Awaited<ReturnType<DispatcherFixture['paymentEvent']>>,
    counts: readonly number[],
  ) {
    const wasHandled = dead.handled.has(event.eventId);
    const stored = await fixture.query('SELECT 1 FROM webhook_fan_outs');
    expect(stored.length === 1 || !wasHandled).toBe(true);
    // The message is delivered twice more, whatever offset was committed.
    const { dispatcher } = await successor(dead);
    await dispatcher.handle(event);
    await untilDelivered(1);
    await dispatcher.handle(event);
    await dispatcher.stop();

    const { requests } = fixture.receiver;
    expect(counts).toContain(requests.length);
    expect(await records()).toHaveLength(1);
    expect(await fixture.query('SELECT 1 FROM webhook_deliveries')).toEqual([]);
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
    expect(new Set(requests.map(({ headers }) => headers['x-webhook-delivery'])).size).toBe(1);
    for (const { body, headers } of requests)
      expect(verify(body, headers, endpoint.secret, new Date())).toBe(true);
  }
});

describe('A client gets every event of its replay when the dispatcher is killed', () => {
  const events = 20;
  const deaths: readonly Death[] = [
    { statement: 'webhook_replays.lease', moment: 'after' },
    { statement: 'webhook_deliveries.revive', moment: 'before' },
    { statement: 'webhook_deliveries.revive', moment: 'after' },
    { statement: 'webhook_replays.advance', moment: 'after' },
    { statement: 'COMMIT', after: 'webhook_replays.advance', moment: 'during' },
    // Between a page and the notification of the engine.
    { statement: 'COMMIT', after: 'webhook_replays.advance', moment: 'after' },
  ];

  it.each(deaths)('$moment $statement of a page', async (death) => {
    const { store, pool, organizationId } = fixture;
    const runner = new ProjectionRunner({ projection: eventsProjection, store, pool });
    runner.start();
    const fromAt = new Date();
    for (let n = 0; n < events; n += 1)
      await queuePayment(
        store,
        new Date(fromAt.getTime() + n).toISOString(),
        paymentExample({ paymentId: randomUUID(), organizationId }),
      );
    await until(
      async () => (await fixture.query('SELECT 1 FROM integration_events')).length === events,
      { timeoutMs },
    );
    const dead = await born(death);
    const replay = {
      ...{ id: randomUUID(), organizationId, endpointId: endpoint.endpointId, fromAt },
      ...{ toAt: new Date(fromAt.getTime() + events), eventTypes: null, requestedAt: new Date() },
      throughPosition: await store.lastPosition(),
    };
    await replayRequests(pool).create(replay);
    await dead.died();
    const { underWay } = await successor(dead);
    await untilDelivered(events);
    const replayId = replay.id;
    await until(
      async () => {
        const found = await replayRequests(pool).get({ ...replay, replayId });
        return found?.state === 'completed' && found.eventsSent === events;
      },
      { timeoutMs, what: 'the whole replay' },
    );
    const counts = Map.groupBy(fixture.receiver.requests, ({ headers }) =>
      String(headers['x-webhook-delivery']),
    );
    expect(counts.size).toBe(events);
    for (const [id, { length }] of counts)
      expect(length).toBeLessThanOrEqual(underWay.has(id) ? 2 : 1);
    for (const { headers } of fixture.receiver.requests)
      expect(headers['x-webhook-replay']).toBe('true');
    await runner.stop();
  });
});
