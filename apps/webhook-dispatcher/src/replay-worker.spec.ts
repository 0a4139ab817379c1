import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { WebhookEndpoint } from '@pis/domain';
import { memoryEventStore } from '@pis/event-store';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import { Bell } from '@pis/postgres';
import type { ReplayRecord } from '@pis/webhook-deliveries';
import pg from 'pg';
import { dispatcherLimits } from './limits.js';
import { type ReplayDeps, ReplayWorker } from './replay-worker.js';

const atEnd = closeAfterEach();

const unexpected = () => Promise.reject(new Error('without a replay there is no work'));

/** A worker whose table has no replay, and how often it looked for one. */
function idleWorker(leased: () => Promise<null>, idleMs = 1) {
  const bell = new Bell();
  const asked = { times: 0 };
  const errors: unknown[] = [];
  const table: ReplayDeps['table'] = {
    async lease() {
      asked.times += 1;
      return leased();
    },
    hasRunning: () => Promise.resolve(false),
    prune: () => Promise.resolve(0),
    ...{ backlog: unexpected, postpone: unexpected, cancel: unexpected, advance: unexpected },
  };
  const worker = new ReplayWorker({
    table,
    store: memoryEventStore(),
    // Never connected.
    pool: new pg.Pool(),
    events: {
      matching: unexpected,
      positionBefore: unexpected,
      between: unexpected,
    },
    endpointOf: unexpected,
    notify: () => undefined,
    now: () => new Date(),
    wakeUp: { bell, idleMs: () => idleMs },
    ...{ windowMsOf: () => 1, keptMs: 1 },
    logError: (error) => errors.push(error),
    limits: { ...dispatcherLimits.replays, pollMs: 1 },
  });
  atEnd(() => worker.stop());
  return { worker, asked, errors, bell };
}

describe('A replay worker', () => {
  it('looks for replays again and again, and never after it was stopped', async () => {
    const { worker, asked, errors } = idleWorker(() => Promise.resolve(null));
    worker.start();
    await until(() => asked.times >= 3, { timeoutMs: 60_000 });
    await worker.stop();
    const before = asked.times;
    // Longer than a hundred rounds of a worker that goes on.
    await hundredRoundsOfAnother();
    expect(asked.times).toBe(before);
    expect(errors).toEqual([]);
  });

  it('has stopped only when its current round has ended', async () => {
    const rounds: (() => void)[] = [];
    const { worker, asked } = idleWorker(
      () => new Promise((resolve) => rounds.push(() => resolve(null))),
    );
    worker.start();
    await until(() => asked.times === 1, { timeoutMs: 60_000 });
    let hasStopped = false;
    const stopped = worker.stop().then(() => (hasStopped = true));
    for (let turn = 0; turn < 50; turn += 1) await setImmediate();
    expect(hasStopped).toBe(false);
    for (const end of rounds) end();
    await stopped;
    expect(asked.times).toBe(1);
  });

  it('waits for its wake-up while no replay is running', async () => {
    const { worker, asked, errors, bell } = idleWorker(() => Promise.resolve(null), 3_600_000);
    worker.start();
    for (let times = 1; times <= 3; times += 1) {
      await until(() => asked.times === times, { timeoutMs: 60_000 });
      await hundredRoundsOfAnother();
      expect(asked.times).toBe(times);
      bell.ring();
    }
    await worker.stop();
    expect(errors).toEqual([]);
  });
});

describe('A replay whose endpoint takes nothing', () => {
  const time = new Date();
  const [pageEveryMs, waitMs] = [1, 10];
  const { dueMax } = dispatcherLimits.replays;

  function running(): ReplayRecord {
    return {
      ...{ id: randomUUID(), organizationId: randomUUID(), endpointId: randomUUID() },
      ...{ fromAt: time, toAt: time, eventTypes: null, throughPosition: '', nextPosition: '' },
      ...{ eventsSent: 0, requestedAt: time, finishedAt: null },
      state: 'running',
    };
  }

  /** A worker whose table always has a replay, and how long each replay was put off. */
  function busyWorker(
    { lease, backlog }: Pick<ReplayDeps['table'], 'lease' | 'backlog'>,
    limits = {},
  ) {
    const waits: { readonly id: string; readonly ms: number }[] = [];
    const worker = new ReplayWorker({
      table: {
        ...{ lease, backlog },
        async postpone({ id }, notBefore) {
          waits.push({ id, ms: notBefore.getTime() - time.getTime() });
        },
        async advance({ id }, { notBefore }) {
          waits.push({ id, ms: notBefore.getTime() - time.getTime() });
        },
        ...{ cancel: unexpected, hasRunning: unexpected, prune: () => Promise.resolve(0) },
      },
      store: memoryEventStore(),
      pool: { query: () => Promise.resolve({ rows: [] }) } as unknown as pg.Pool,
      events: { matching: unexpected, positionBefore: unexpected, between: async () => [] },
      endpointOf: () => Promise.resolve({ enabled: true } as WebhookEndpoint),
      notify: () => undefined,
      now: () => time,
      wakeUp: { bell: new Bell(), idleMs: () => 1 },
      ...{ windowMsOf: () => 1, keptMs: 1 },
      logError: () => undefined,
      limits: { ...dispatcherLimits.replays, pageEveryMs, waitMs, ...limits },
    });
    atEnd(() => worker.stop());
    return { worker, waits };
  }

  it('waits twice as long each time, up to its limit, and a short time again after a page', async () => {
    const replay = running();
    const { worker, waits } = busyWorker({
      lease: () => Promise.resolve(replay),
      backlog: () => Promise.resolve({ due: waits.length === 6 ? 0 : dueMax, waiting: 0 }),
    });
    worker.start();
    await until(() => waits.length >= 9, { timeoutMs: 60_000 });
    await worker.stop();
    const pauses = waits.slice(0, 9).map(({ ms }) => ms);
    expect(pauses).toEqual([1, 2, 4, 8, 10, 10, pageEveryMs, 1, 2]);
  });

  it('is forgotten once others have long been taken instead, so that memory does not grow', async () => {
    const [replay, other] = [running(), running()];
    let firstMs = Infinity;
    const lease = async () => {
      if (firstMs === Infinity) firstMs = performance.now();
      else if (performance.now() - firstMs < 100) return other;
      return replay;
    };
    const backlog = () => Promise.resolve({ due: dueMax, waiting: 0 });
    const { worker, waits } = busyWorker({ lease, backlog }, { leaseMs: 10 });
    const pauses = () => waits.filter(({ id }) => id === replay.id).map(({ ms }) => ms);
    worker.start();
    await until(() => pauses().length >= 2, { timeoutMs: 60_000 });
    await worker.stop();
    expect(pauses().slice(0, 2)).toEqual([1, 1]);
  });
});

async function hundredRoundsOfAnother(): Promise<void> {
  const { worker, asked } = idleWorker(() => Promise.resolve(null));
  worker.start();
  await until(() => asked.times >= 100, { timeoutMs: 60_000 });
  await worker.stop();
}
