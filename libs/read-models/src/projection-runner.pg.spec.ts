import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { ids, organizationExample } from '@pis/domain/testing';
import { type EventStore, memoryEventStore, StoreUnavailable } from '@pis/event-store';
import { shortSightedStore } from '@pis/event-store/testing';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { directoryProjection } from './directory.projection.js';
import { migrate } from './migrate.js';
import { paymentsProjection } from './payments.projection.js';
import { projectionProgress } from './projection-progress.js';
import { ProjectionRunner } from './projection-runner.js';
import type { Projection, ReadTable } from './projection.js';
import { appendEvents, completePayment, queuePayment, type TestPayment } from './testing.js';

const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 20_000;

let database: TestDatabase;
let store: EventStore;
let pools: pg.Pool[];
let runners: ProjectionRunner[];

function openPool(url = database.url): pg.Pool {
  const pool = openTestPool(url, 5);
  pools.push(pool);
  return pool;
}

function startRunner(
  pool: pg.Pool,
  projection: Projection = paymentsProjection,
  from: EventStore = store,
  onApplied: (events: number) => void = () => undefined,
): ProjectionRunner {
  const runner = new ProjectionRunner({ projection, store: from, pool, onApplied });
  runners.push(runner);
  runner.start();
  return runner;
}

beforeEach(async () => {
  database = await createTestDatabase();
  store = memoryEventStore();
  pools = [];
  runners = [];
});

afterEach(async () => {
  await Promise.all(runners.map((runner) => runner.stop()));
  await Promise.all(pools.map((pool) => pool.end()));
  await database.drop();
});

async function rowOf(pool: pg.Pool, payment: TestPayment): Promise<object | undefined> {
  const { rows } = await pool.query<object>(
    'SELECT status, revision FROM payments WHERE payment_id = $1',
    [payment.paymentId],
  );
  return rows[0];
}

/** Every payment of the log, once, at its last revision. */
async function expectComplete(pool: pg.Pool, payments: readonly TestPayment[]): Promise<void> {
  const { rows } = await pool.query<{ payment_id: string; revision: number }>(
    'SELECT payment_id, revision FROM payments ORDER BY payment_id',
  );
  const ids = payments.map(({ paymentId }) => paymentId).sort();
  expect(rows).toEqual(ids.map((payment_id) => ({ payment_id, revision: 2 })));
}

/** Completes payments one after the other, and calls `halfway` in the middle. */
async function burst(count: number, halfway: () => Promise<void>): Promise<TestPayment[]> {
  const payments: TestPayment[] = [];
  for (let index = 0; index < count; index++) {
    const payment = await queuePayment(store, at);
    await completePayment(store, payment);
    payments.push(payment);
    if (index === Math.floor(count / 2)) await halfway();
  }
  return payments;
}

/** Runs `interfere` once, after the rows of a page are written and before its checkpoint. */
function interferingOnce(interfere: (client: pg.ClientBase) => Promise<void>): Projection {
  let done = false;
  const tables = paymentsProjection.tables.map(
    (table): ReadTable => ({
      name: table.name,
      async write(client, target, events) {
        await table.write(client, target, events);
        if (done || events.length === 0) return;
        done = true;
        await interfere(client);
      },
    }),
  );
  return { ...paymentsProjection, tables };
}

async function terminateRunners(pool: pg.Pool): Promise<void> {
  await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_locks
     WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
}

describe('a projection', () => {
  it('shows a payment and its transitions as soon as they are appended', async () => {
    const pool = openPool();
    const runner = startRunner(pool);
    const payment = await queuePayment(store, at);
    expect(await runner.waitFor(payment.position, timeoutMs)).toBe(true);
    expect(await rowOf(pool, payment)).toEqual({ status: 'QUEUED', revision: 0 });
    const { position } = await completePayment(store, payment);
    expect(await runner.waitFor(position, timeoutMs)).toBe(true);
    expect(await rowOf(pool, payment)).toEqual({ status: 'COMPLETED', revision: 2 });
    expect(await runner.lag()).toBe(0);
  });

  /** Would not be done in time if it rested. */
  const resting: Projection = {
    ...paymentsProjection,
    restMs: 10 * timeoutMs,
    pagesBeforeRest: 0,
  };

  it.each([
    ['what is long past', 86_400_000],
    ['the last seconds', 5_000],
    ['what came from a host whose clock is ahead', -60_000],
  ])('does not rest while it catches up with %s', async (_, agoMs) => {
    const since = new Date(Date.now() - agoMs).toISOString();
    const small: EventStore = {
      ...store,
      subscribe: (options) => store.subscribe({ ...options, pageMax: 1 }),
    };
    for (let n = 0; n < 3; n += 1) await queuePayment(store, since);
    const runner = startRunner(openPool(), resting, small);
    const end = await store.lastPosition();
    await until(() => runner.state.position === end, { timeoutMs });
  });

  it('does not rest after events of other streams', async () => {
    const runner = startRunner(openPool(), resting);
    const now = new Date().toISOString();
    const data = organizationExample();
    const created = { type: 'OrganizationCreated', at: now, data } as const;
    const { position } = await appendEvents(store, `organization-${ids.organization}`, [created]);
    await until(() => runner.state.position === position, { timeoutMs });
    const payment = await queuePayment(store, now);
    await until(() => runner.state.position === payment.position, { timeoutMs });
  });

  it('ends its rest between two pages when somebody waits for what comes next', async () => {
    const pool = openPool();
    const runner = startRunner(pool, resting);
    const payment = await queuePayment(store, new Date().toISOString());
    expect(await runner.waitFor(payment.position, timeoutMs)).toBe(true);
    const { position } = await completePayment(store, payment);
    expect(await runner.waitFor(position, timeoutMs)).toBe(true);
    expect(await rowOf(pool, payment)).toEqual({ status: 'COMPLETED', revision: 2 });
  });

  /** In time only if there is no rest before it. */
  async function shownAtOnce(runner: ProjectionRunner): Promise<void> {
    const { position } = await queuePayment(store, new Date().toISOString());
    await until(() => runner.state.position === position, { timeoutMs });
  }

  it('rests only after so many pages, and again only so many after a quiet time', async () => {
    const pages: number[] = [];
    const runner = startRunner(openPool(), { ...resting, pagesBeforeRest: 2 }, store, (events) => {
      pages.push(events);
    });
    await shownAtOnce(runner);
    await shownAtOnce(runner);
    const real = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => real() + 60_000);
    try {
      for (let page = 1; page <= 3; page += 1) await shownAtOnce(runner);
    } finally {
      clock.mockRestore();
    }
    const now = new Date().toISOString();
    for (let payment = 1; payment <= 9; payment += 1) await queuePayment(store, now);
    expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
    expect(pages).toEqual([1, 1, 1, 1, 1, 9]);
  });

  it('leaves nothing behind on its signals after a page', async () => {
    const pool = openPool();
    const { any } = AbortSignal;
    let made = 0;
    AbortSignal.any = (signals) => {
      made += 1;
      return any.call(AbortSignal, signals);
    };
    try {
      const runner = startRunner(pool, { ...resting, restMs: 1 });
      let before = 0;
      for (let count = 1; count <= 5; count += 1) {
        const { position } = await queuePayment(store, new Date().toISOString());
        expect(await runner.waitFor(position, timeoutMs)).toBe(true);
        if (count === 1) before = made;
      }
      expect(made).toBe(before);
    } finally {
      AbortSignal.any = any;
    }
  });

  it('neither loses nor repeats an event when it dies between the rows and the checkpoint', async () => {
    const pool = openPool();
    const other = openPool();
    const projection = interferingOnce(async (client) => {
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await other.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    });
    const payment = await queuePayment(store, at);
    const { position } = await completePayment(store, payment);
    const runner = startRunner(pool, projection);
    expect(await runner.waitFor(position, timeoutMs)).toBe(true);
    await expectComplete(pool, [payment]);
    expect(() => runner.check()).not.toThrow();
  });

  it('survives that its connections are cut again and again while payments arrive', async () => {
    const pool = openPool();
    const runner = startRunner(pool);
    const payments: TestPayment[] = [];
    for (let round = 0; round < 5; round++) {
      await until(() => runner.isActive, { timeoutMs });
      payments.push(...(await burst(20, () => terminateRunners(pool))));
    }
    expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
    await expectComplete(pool, payments);
  });

  it('starts before its tables exist and continues when they do', async () => {
    const pool = openPool();
    await pool.query('DROP SCHEMA public CASCADE');
    await pool.query('CREATE SCHEMA public');
    const runner = startRunner(pool);
    const payment = await queuePayment(store, at);
    await until(() => runner.state.lastError, { timeoutMs });
    expect(() => runner.check()).toThrow(/does not exist/);
    await migrate({ connectionString: database.url });
    expect(await runner.waitFor(payment.position, timeoutMs)).toBe(true);
    expect(() => runner.check()).not.toThrow();
  });

  it('is up only while its subscription is connected, and otherwise reports the reason', async () => {
    const pool = openPool();
    const subscribed = Promise.withResolvers<(failure: Error | null) => void>();
    const subscribe: EventStore['subscribe'] = (options) => {
      const { onConnection } = options;
      if (onConnection !== undefined) subscribed.resolve(onConnection);
      return store.subscribe({ ...options, onConnection: () => undefined });
    };
    const runner = startRunner(pool, paymentsProjection, { ...store, subscribe });
    const report = await subscribed.promise;
    expect(() => runner.check()).toThrow(/the log is not connected yet/);
    report(new StoreUnavailable('the user may not read the log'));
    expect(() => runner.check()).toThrow(/the user may not read the log/);
    report(null);
    expect(() => runner.check()).not.toThrow();
  });

  it('stops for good, and reports it, where an event of a stream is missing', async () => {
    const pool = openPool();
    const good = await queuePayment(store, at);
    const runner = startRunner(pool);
    await runner.waitFor(good.position, timeoutMs);
    await pool.query('DELETE FROM payments');
    await completePayment(store, good);
    const later = await queuePayment(store, at);
    await until(() => runner.state.role === 'stopped', { timeoutMs });
    expect(() => runner.check()).toThrow(/PaymentProcessing: revision 1 after nothing/);
    expect(await rowOf(pool, later)).toBeUndefined();
    expect(await runner.lag()).toBe(3);
  });

  it('reads the log for its lag only when something was appended, with one look for all projections', async () => {
    const pool = openPool();
    let [reads, looks] = [0, 0];
    const counting: EventStore = {
      ...store,
      readLog(options) {
        reads += 1;
        return store.readLog(options);
      },
      lastPosition() {
        looks += 1;
        return store.lastPosition();
      },
    };
    const runners = [paymentsProjection, directoryProjection].map(
      (projection) => new ProjectionRunner({ projection, store: counting, pool }),
    );
    const lags = () => Promise.all(runners.map((runner) => runner.lag()));
    expect(await lags()).toEqual([0, 0]);
    const before = reads;
    for (let times = 0; times < 3; times += 1) expect(await lags()).toEqual([0, 0]);
    expect(reads).toBe(before);
    expect(looks).toBe(4);
    await queuePayment(store, at);
    expect(await lags()).toEqual([1, 0]);
    // Of another stream.
    expect(reads).toBeGreaterThan(before);
    expect(await lags()).toEqual([1, 0]);
  });

  it('lags behind events that follow pages without any of its own', async () => {
    const pool = openPool();
    const other = { type: 'OrganizationCreated', at, data: organizationExample() } as const;
    await appendEvents(
      store,
      `organization-${ids.organization}`,
      Array.from({ length: 20 }, () => other),
    );
    await queuePayment(store, at);
    const standby = new ProjectionRunner({
      projection: paymentsProjection,
      store: shortSightedStore(store),
      pool,
    });
    expect(await standby.lag()).toBe(1);
    expect(await standby.oldestUnappliedAt()).toEqual(new Date(at));
  });

  it('has no oldest event that waits once it has caught up', async () => {
    const pool = openPool();
    const { position } = await queuePayment(store, at);
    const runner = startRunner(pool);
    await runner.waitFor(position, timeoutMs);
    expect(await runner.oldestUnappliedAt()).toBeNull();
  });

  it('accepts every text that a client may send', async () => {
    const pool = openPool();
    const runner = startRunner(pool);
    const hostile = `a\0b\ud800 "\\{},' ${'x'.repeat(200)} \u{1f40e}`;
    const payment = await queuePayment(store, at, {
      paymentNote: hostile,
      externalPaymentId: hostile,
      idempotencyKey: hostile,
    });
    expect(await runner.waitFor(payment.position, timeoutMs)).toBe(true);
    const { rows } = await pool.query<{ item: { paymentNote: string } }>(
      'SELECT item FROM payments',
    );
    expect(rows[0]?.item.paymentNote).toBe(hostile);
  });
});

describe('two runners of one projection', () => {
  it('run one at a time, and the second takes over', async () => {
    const [first, second] = [openPool(), openPool()];
    const runner = startRunner(first);
    await until(() => runner.isActive, { timeoutMs });
    const standby = startRunner(second);
    const before = await burst(3, async () => undefined);
    await runner.waitFor(await store.lastPosition(), timeoutMs);
    expect(standby.state).toEqual({ role: 'standby', position: '', lastError: null });

    await runner.stop();
    const after = await burst(3, async () => undefined);
    expect(await standby.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
    expect(standby.isActive).toBe(true);
    await expectComplete(second, [...before, ...after]);
  });

  it('lose nothing when the lock moves back and forth between them', async () => {
    const [first, second] = [openPool(), openPool()];
    const both = [startRunner(first), startRunner(second)];
    const payments: TestPayment[] = [];
    for (let round = 0; round < 4; round++)
      payments.push(...(await burst(15, () => terminateRunners(first))));
    const last = await store.lastPosition();
    await until(() => both.some((runner) => runner.isActive && runner.state.position >= last), {
      timeoutMs,
    });
    await expectComplete(first, payments);
  });
});

describe('a gateway that has appended', () => {
  it('sees its own write through the runner of its process', async () => {
    const pool = openPool();
    const runner = startRunner(pool);
    await until(() => runner.isActive, { timeoutMs });
    const progress = projectionProgress(pool, 'payments');
    const payment = await queuePayment(store, at);
    expect(await progress.waitFor(payment.position, timeoutMs)).toBe(true);
    expect(await rowOf(pool, payment)).toBeDefined();
  });

  it('sees its own write through the runner of another process', async () => {
    const [projector, gateway] = [openPool(), openPool()];
    startRunner(projector);
    const progress = projectionProgress(gateway, 'payments');
    const payments = await Promise.all([1, 2, 3, 4].map(() => queuePayment(store, at)));
    const waits = payments.map(({ position }) => progress.waitFor(position, timeoutMs));
    expect(await Promise.all(waits)).toEqual([true, true, true, true]);
    for (const payment of payments) expect(await rowOf(gateway, payment)).toBeDefined();
  });

  it('gets its answer even when no runner advances', async () => {
    const progress = projectionProgress(openPool(), 'payments');
    const payment = await queuePayment(store, at, { paymentId: randomUUID() });
    expect(await progress.waitFor(payment.position, 50)).toBe(false);
  });
});
