/** The job as the process runs it: what it makes, whom it tells, and what a process that dies leaves to the next one. */
import { createHash, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import {
  type DocumentStore,
  DocumentStoreRefused,
  DocumentStoreUnavailable,
  postgresDocuments,
  statementKey,
} from '@pis/documents';
import { operatorNotice, type Statement, statement } from '@pis/domain';
import { type EventStore, memoryEventStore, repository } from '@pis/event-store';
import { type Keyring, ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { directoryProjection, movementsProjection, ProjectionRunner } from '@pis/read-models';
import { createLogger, MetricsRegistry } from '@pis/service-kit';
import { statementIdOf } from '@pis/statements/generation';
import { bytesOf, pastLog } from '@pis/statements/testing';
import type pg from 'pg';
import { StatementWorker, type StatementWorkerOptions } from './statement-worker.js';

const october = { year: 2026, month: 10 };
const now = () => new Date('2026-11-01T12:00:00.000Z');
const organizationId = randomUUID();
/** In the order in which the job takes them. */
const [first = '', second = ''] = [randomUUID(), randomUUID()].toSorted();
const both = [first, second];
/** For queries, besides those that projections and the relay hold: see databasePool() of service-kit. */
const freeConnections = 2;
const allButDate = [
  ...(['nextTick', 'queueMicrotask', 'performance', 'hrtime'] as const),
  ...(['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const),
  ...(['setTimeout', 'clearTimeout'] as const),
];
/** More than a round has. */
const stepsMax = 20;

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let keyring: Keyring;
let documents: DocumentStore;
let runners: readonly ProjectionRunner[];
beforeEach(openWorld);
afterEach(closeWorld);

async function openWorld(): Promise<void> {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 12);
  store = memoryEventStore();
  keyring = await testKeyringOn(pool);
  documents = postgresDocuments(pool, keyring);
  runners = [movementsProjection, directoryProjection].map(
    (projection) => new ProjectionRunner({ projection, store, pool }),
  );
  for (const runner of runners) runner.start();
  await pastLog.addParties(store, { organizationId, originatorId: first });
  await pastLog.addOriginator(
    store,
    { organizationId, originatorId: second },
    '2026-10-03T00:00:00.000Z',
  );
  for (const originatorId of both)
    await pastLog.pay(
      store,
      { organizationId, originatorId },
      ...([700, 'OUTBOUND', ...pastLog.minutes('2026-10-05', 3)] as const),
    );
}

async function closeWorld(): Promise<void> {
  for (const runner of runners) await runner.stop();
  await pool.end();
  await database.drop();
}

type Given = Partial<Pick<StatementWorkerOptions, 'store' | 'documents' | 'pool'>>;

/** A process with metrics of its own. */
function process(given: Given = {}, clock: Pick<StatementWorkerOptions, 'now'> = { now }) {
  const metrics = new MetricsRegistry();
  const logger = createLogger('statement-generator', 'silent');
  const worker = new StatementWorker({
    ...{ store, pool, documents, logger, metrics, ...clock, ...given },
  });
  const made = async () => {
    const { values } = (await metrics.getSingleMetric('pis_statements_total')?.get()) ?? {};
    return Object.fromEntries((values ?? []).map(({ labels, value }) => [labels.result, value]));
  };
  const round = async () => {
    for (const runner of runners) await runner.waitFor(await store.lastPosition(), 60_000);
    await worker.round(new AbortController().signal);
  };
  return { worker, made, round };
}

const idOf = (originatorId: string) => statementIdOf({ originatorId, ...october });

async function recorded(originatorId: string): Promise<Statement | null> {
  return (await repository(store, statement).load(idOf(originatorId))).state;
}

const noticesOf = (originatorId: string) =>
  store.readStream(`operatorNotice-statementNotGenerated-${idOf(originatorId)}`);

/** Recorded once, and its document has the bytes that are recorded. */
async function expectWhole(originatorId: string): Promise<void> {
  expect(await store.readStream(`statement-${idOf(originatorId)}`)).toHaveLength(1);
  const made = await recorded(originatorId);
  if (made === null) throw new Error('there is no statement');
  const owner = ownerOf.originator(originatorId);
  const bytes = await bytesOf(documents.read(statementKey(made), owner));
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(made.sha256);
  expect(made.figures.paymentsOut).toEqual({ count: 1, amountMinor: 700 });
}

it('generates what is due, counts it, and notes that the month is done', async () => {
  const { made, round } = process();
  expect(await made()).toEqual({ generated: 0, failed: 0 });
  await round();
  for (const originatorId of both) await expectWhole(originatorId);
  expect(await made()).toEqual({ generated: 2, failed: 0 });
  await round();
  expect(await made()).toEqual({ generated: 2, failed: 0 });
  const { rows } = await pool.query('SELECT done_year, done_month FROM statement_runs');
  expect(rows).toEqual([{ done_year: 2026, done_month: 10 }]);
});

it('states no month that has not ended by the clock of PostgreSQL, while the process is months ahead', async () => {
  const endsOf = async () => {
    const { events } = await store.readLog({ after: '', pageMax: 1_000 });
    const recorded = events.filter(({ streamId }) => streamId.startsWith('statement-'));
    return recorded.map(({ data }) => Date.parse((data as { to: string }).to));
  };
  const aheadMs = Math.max(Date.now(), now().getTime()) + 70 * 86_400_000;
  jest.useFakeTimers({ now: aheadMs, doNotFake: allButDate });
  try {
    await process({}, {}).round();
  } finally {
    jest.useRealTimers();
  }
  const nowMs = Date.now();
  const ends = await endsOf();
  expect(ends.length).toBeGreaterThan(0);
  expect(ends.filter((endMs) => endMs > nowMs)).toEqual([]);
});

it('needs no more connections than the least PIS_DATABASE_POOL leaves free', async () => {
  const small = openTestPool(database.url, freeConnections);
  try {
    const { made, round } = process({ pool: small, documents: postgresDocuments(small, keyring) });
    await round();
    expect(await made()).toEqual({ generated: 2, failed: 0 });
    for (const originatorId of both) await expectWhole(originatorId);
  } finally {
    await small.end();
  }
});

it('tells operators once of a statement that fails, and generates it later', async () => {
  const given = { documents: pastLog.without(documents, second) };
  for (const times of [1, 2]) {
    const { made, round } = process(given);
    await round();
    expect(await made()).toEqual({ generated: 2 - times, failed: 1 });
    expect(await noticesOf(second)).toHaveLength(1);
  }
  const id = `statementNotGenerated-${idOf(second)}`;
  expect((await repository(store, operatorNotice).load(id)).state).toEqual({
    notice: 'statement not generated',
    subject: { organizationId, originatorId: second, month: '2026-10' },
    givenAt: now().toISOString(),
  });
  expect(await noticesOf(first)).toEqual([]);
  await process().round();
  for (const originatorId of both) await expectWhole(originatorId);
});

describe('while something fails that all statements need', () => {
  const others = Array.from({ length: 4 }, () => randomUUID());
  beforeEach(async () => {
    for (const originatorId of others)
      await pastLog.addOriginator(
        store,
        { organizationId, originatorId },
        '2026-10-03T00:00:00.000Z',
      );
  });

  it.each([
    ['is away', new DocumentStoreUnavailable('no connection')],
    ['refuses', new DocumentStoreRefused('403 AccessDenied')],
  ])(
    'the store of documents, which %s, a round ends after three statements, and the next one makes them all',
    async (_, error) => {
      let writes = 0;
      const failing: DocumentStore = {
        read: documents.read.bind(documents),
        remove: documents.remove.bind(documents),
        write: () => {
          writes += 1;
          return Promise.reject(error);
        },
      };
      const away = process({ documents: failing });
      await away.round();
      expect([writes, await away.made()]).toEqual([3, { generated: 0, failed: 3 }]);
      const back = process();
      await back.round();
      expect(await back.made()).toEqual({ generated: 6, failed: 0 });
    },
  );

  it('a table that falls behind, a round ends after three statements', async () => {
    let writes = 0;
    const { made, round } = process({
      documents: {
        read: documents.read.bind(documents),
        remove: documents.remove.bind(documents),
        write: async (...given) => {
          writes += 1;
          const written = await documents.write(...given);
          await runners[0]?.stop();
          const party = { organizationId, originatorId: first };
          await pastLog.pay(store, party, 700, 'OUTBOUND', ...pastLog.minutes('2026-11-01', 1));
          jest.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
          return written;
        },
      },
    });
    try {
      await round();
    } finally {
      jest.restoreAllMocks();
    }
    expect([writes, await made()]).toEqual([1, { generated: 1, failed: 3 }]);
  });

  it('but not one statement alone, it holds up no other', async () => {
    const failing: DocumentStore = {
      read: documents.read.bind(documents),
      remove: documents.remove.bind(documents),
      write: (key, owner, bytes) =>
        key.includes(second)
          ? Promise.reject(new DocumentStoreUnavailable('no answer'))
          : documents.write(key, owner, bytes),
    };
    const { made, round } = process({ documents: failing });
    await round();
    expect(await made()).toEqual({ generated: 5, failed: 1 });
  });
});

it('tells operators what a statement waits for', async () => {
  const paymentId = await pastLog.pay(
    store,
    { organizationId, originatorId: second },
    ...([7, 'OUTBOUND', '2026-10-06T00:00:00.000Z'] as const),
  );
  const eaten = { type: 'PaymentEaten', at: '2026-10-07T00:00:00.000Z', data: {} };
  await pastLog.append(store, `payment-${paymentId}`, eaten);
  await process().round();
  const [notice] = await noticesOf(second);
  expect(notice?.data).toMatchObject({
    subject: { originatorId: second, reason: expect.stringContaining(`payment-${paymentId}`) },
  });
  await expectWhole(first);
});

it('gives up the statement that it is making when it stops, and the next process makes it', async () => {
  const reached = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const slow: DocumentStore = {
    ...{ read: documents.read.bind(documents), remove: documents.remove.bind(documents) },
    async write(...all) {
      const written = await documents.write(...all);
      reached.resolve();
      await stopped.promise;
      return written;
    },
  };
  for (const runner of runners) await runner.waitFor(await store.lastPosition(), 60_000);
  const { worker, made } = process({ documents: slow });
  worker.start();
  await reached.promise;
  const stopping = worker.stop();
  stopped.resolve();
  await stopping;
  expect(await made()).toEqual({ generated: 0, failed: 0 });
  expect(await recorded(first)).toBeNull();
  for (const originatorId of both) expect(await noticesOf(originatorId)).toEqual([]);
  await process().round();
  for (const originatorId of both) await expectWhole(originatorId);
});

/** A process that dies at one of its steps. Nothing that it writes after that has an effect. */
function mortal(step: number, when: 'before' | 'after', given: DocumentStore) {
  let taken = 0;
  let diedAt: string | null = null;
  const taking = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    if (diedAt !== null) throw new Error('died');
    taken += 1;
    if (taken !== step) return work();
    diedAt = name;
    if (when === 'after') await work();
    throw new Error('died');
  };
  const isDone = (sql: unknown) => String(sql).includes('INSERT INTO statement_runs');
  const mortalStore = intercepted(store, 'append', (work) => taking('append', work));
  const mortalDocuments = intercepted(given, 'write', (work) => taking('document', work));
  const mortalPool = intercepted(pool, 'query', (work, sql) =>
    isDone(sql) ? taking('done', work) : work(),
  );
  const { round } = process({ store: mortalStore, documents: mortalDocuments, pool: mortalPool });
  /** @returns the step at which it died; null when it has taken all its steps */
  return async (): Promise<string | null> => {
    await round().catch((error: unknown) => {
      if (diedAt === null) throw error;
    });
    return diedAt;
  };
}

/** The object, with another method. */
function intercepted<T extends object>(
  target: T,
  name: keyof T,
  instead: (work: () => Promise<unknown>, first: unknown) => unknown,
): T {
  return new Proxy(target, {
    get(object, key) {
      const method: unknown = Reflect.get(object, key);
      if (typeof method !== 'function') return method;
      if (key !== name) return method.bind(object) as unknown;
      return (...all: unknown[]) =>
        instead(async () => (await method.apply(object, all)) as unknown, all[0]);
    },
  });
}

describe.each(['before', 'after'] as const)('a process that dies %s one of its steps', (when) => {
  /** Lets a process die at each of its steps in turn, and looks at what follows. @returns the steps */
  async function deaths(refusing: string, then: () => Promise<void>): Promise<readonly string[]> {
    const steps: string[] = [];
    for (let step = 1; step <= stepsMax; step += 1) {
      const diedAt = await mortal(step, when, pastLog.without(documents, refusing))();
      if (diedAt === null) return steps;
      steps.push(diedAt);
      await then();
      await closeWorld();
      await openWorld();
    }
    throw new Error('a round without an end');
  }

  it('leaves no statement behind, and no month that is done without its statements', async () => {
    const steps = await deaths('none', async () => {
      await process().round();
      for (const originatorId of both) {
        await expectWhole(originatorId);
        expect(await noticesOf(originatorId)).toEqual([]);
      }
      expect((await pool.query('SELECT FROM statement_runs')).rows).toHaveLength(1);
    });
    expect(steps).toEqual(['document', 'append', 'document', 'append', 'done']);
  });

  it('leaves operators told once of what cannot be generated', async () => {
    const steps = await deaths(second, async () => {
      for (let round = 0; round < 2; round += 1)
        await process({ documents: pastLog.without(documents, second) }).round();
      await expectWhole(first);
      expect(await recorded(second)).toBeNull();
      expect(await noticesOf(second)).toHaveLength(1);
      expect((await pool.query('SELECT FROM statement_runs')).rows).toEqual([]);
    });
    expect(steps).toEqual(['document', 'append', 'document', 'append']);
  });
});
