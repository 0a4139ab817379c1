import { jest } from '@jest/globals';
import { until } from '@pis/local-servers/testing';
import { buildDispatcher, buildLimitMs, DispatcherChild } from './testing/dispatcher-child.js';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
} from './testing/dispatcher-fixture.js';

jest.setTimeout(180_000);

const timeoutMs = 60_000;
/** No attempt fails and no lease ends because the machine is busy: the test ends the leases of dead dispatchers. */
const config = { ...testConfig, PIS_WEBHOOK_TIMEOUT_MS: 30_000 };
const limits = { pollMaxMs: 50 };

describe('Three dispatchers that are processes of their own', () => {
  let fixture: DispatcherFixture;
  let processes: DispatcherChild[];
  beforeAll(buildDispatcher, buildLimitMs);
  beforeEach(async () => {
    fixture = await dispatcherFixture({ isShared: true });
    const { databaseUrl, receiver } = fixture;
    processes = [1, 2, 3].map(
      () => new DispatcherChild({ databaseUrl, config, extraCaPem: receiver.caPem, limits }),
    );
    await Promise.all(processes.map((one) => one.started()));
  });
  afterEach(async () => {
    await Promise.all(processes.map((one) => one.kill()));
    await fixture.close();
  });

  const events = (count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        fixture.paymentEvent({ occurredAt: new Date().toISOString() }),
      ),
    );
  const untilDelivered = (count: number) =>
    until(
      async () => {
        const [row] = await fixture.query<{ n: number }>(
          `SELECT count(*)::int AS n FROM webhook_delivery_records WHERE state = 'delivered'`,
        );
        return row?.n === count;
      },
      { timeoutMs, what: `${count} delivered` },
    );
  /** How often each delivery was received. */
  const receipts = () => {
    const counts = new Map<string, number>();
    for (const { headers } of fixture.receiver.requests) {
      const id = String(headers['x-webhook-delivery']);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  };

  it('send each delivery once, also when each of them receives each event', async () => {
    await fixture.createEndpoint();
    await fixture.createEndpoint();
    for (const event of await events(150)) for (const one of processes) one.handle(event);
    await untilDelivered(300);
    await until(() => processes.every(({ handled }) => handled.size === 150), { timeoutMs });
    expect([...receipts().values()]).toEqual(Array.from({ length: 300 }, () => 1));
    expect(processes.flatMap(({ failed }) => failed)).toEqual([]);
  });

  it('lose nothing when one is killed: only its deliveries in flight may come twice, with the same ID and body', async () => {
    await fixture.createEndpoint();
    await fixture.createEndpoint();
    const killed = Promise.withResolvers<void>();
    const answeredBefore = 60;
    fixture.receiver.respondWith((_request, index) =>
      index < answeredBefore ? {} : { after: killed.promise },
    );
    const all = await events(300);
    const [victim, ...survivors] = processes;
    if (!victim) throw new Error('no victim');
    all.forEach((event, index) => processes[index % 3]?.handle(event));
    const waitsForAnswer = async () => {
      const leased = await fixture.query<{ id: string }>(
        'SELECT id FROM webhook_deliveries WHERE lease_owner = $1',
        [victim.owner],
      );
      return fixture.receiver.requests
        .slice(answeredBefore)
        .some(({ headers }) => leased.some(({ id }) => id === headers['x-webhook-delivery']));
    };
    await until(waitsForAnswer, { timeoutMs });
    await victim.kill();
    killed.resolve();
    // Its leases end.
    const leased = await fixture.query<{ id: string }>(
      'UPDATE webhook_deliveries SET leased_until = now() - make_interval(secs => 1) WHERE lease_owner = $1 RETURNING id',
      [victim.owner],
    );
    const atIt = new Set(leased.map(({ id }) => id));
    expect(atIt.size).toBeGreaterThan(0);

    // The broker gives its unacknowledged messages to the others.
    all
      .filter((event, index) => index % 3 === 0 && !victim.handled.has(event.eventId))
      .forEach((event, index) => survivors[index % 2]?.handle(event));
    await untilDelivered(600);

    const counts = receipts();
    expect(counts.size).toBe(600);
    for (const [id, count] of counts)
      if (count > 1)
        expect({ id, count, wasAtIt: atIt.has(id) }).toEqual({ id, count: 2, wasAtIt: true });
    const bodies = new Map<string, string>();
    for (const { headers, body } of fixture.receiver.requests) {
      const id = String(headers['x-webhook-delivery']);
      expect(bodies.get(id) ?? body).toBe(body);
      bodies.set(id, body);
    }
    expect(await fixture.query('SELECT 1 FROM webhook_deliveries')).toEqual([]);
  });
});
