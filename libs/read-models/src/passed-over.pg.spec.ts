/**
 * A process of an earlier release moves a checkpoint past kinds of streams that it does not follow: beside a process of this
 * release, or after a rollback.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { DomainEvent } from '@pis/domain';
import { contactParty, ids } from '@pis/domain/testing';
import { type EventStore, memoryEventStore, type RecordedEvent } from '@pis/event-store';
import { countingStore, shortSightedStore } from '@pis/event-store/testing';
import {
  closeAfterEach,
  createTestDatabase,
  openTestPool,
  tcpProxy,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { directoryProjection } from './directory.projection.js';
import { eventsProjection } from './events.projection.js';
import { hasReached } from './projection-reach.js';
import { ProjectionRunner } from './projection-runner.js';
import type { Projection } from './projection.js';
import { projections } from './projections.js';
import { rebuild } from './rebuild.js';
import { appendEvents, queuePayment } from './testing.js';

const migration = new URL(
  '../prisma/migrations/20261217000200_kinds_read/migration.sql',
  import.meta.url,
);
const at = '2026-11-21T09:00:00.000Z';
const timeoutMs = 20_000;

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let runners: ProjectionRunner[];

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 10);
  store = memoryEventStore();
  runners = [];
});
afterEach(async () => {
  await Promise.all(runners.map((runner) => runner.stop()));
  await pool.end();
  await database.drop();
});

const atEnd = closeAfterEach();

function start(projection: Projection, from = store): ProjectionRunner {
  const runner = new ProjectionRunner({ projection, store: from, pool });
  runners.push(runner);
  runner.start();
  return runner;
}

async function run(projection: Projection, from = store): Promise<ProjectionRunner> {
  const runner = start(projection, from);
  expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
  return runner;
}

/** The checkpoint is saved, and nobody reads on. */
async function runAndStop(projection: Projection): Promise<void> {
  const runner = await run(projection);
  const end = await store.lastPosition();
  await until(async () => (await checkpointOf(projection)) === end, { timeoutMs });
  await runner.stop();
}

async function checkpointOf({ name }: Projection): Promise<string | undefined> {
  const { rows } = await pool.query<{ position: string }>(
    'SELECT position FROM projection_checkpoints WHERE name = $1',
    [name],
  );
  return rows[0]?.position;
}

/** What a projector of the previous release does at the end of a page without events that it follows. */
async function previousReaderReachesTheEnd({ name }: Projection): Promise<void> {
  const last = await store.lastEvent(await store.lastPosition());
  await pool.query(
    `INSERT INTO projection_checkpoints (name, position) VALUES ($1, '') ON CONFLICT (name) DO NOTHING`,
    [name],
  );
  await pool.query(
    `UPDATE projection_checkpoints SET position = $2, event_id = $3, stream_id = $4,
        revision = $5, updated_at = now() WHERE name = $1`,
    [name, last?.position, last?.id, last?.streamId, last?.revision],
  );
}

const event = (type: string, data: object) => ({ type, at, data }) as unknown as DomainEvent;

async function requestApproval(): Promise<string> {
  const approvalId = randomUUID();
  const { organization: organizationId, originator: originatorId } = ids;
  await appendEvents(store, `approval-${approvalId}`, [
    event('ApprovalRequested', {
      ...{ approvalId, organizationId, originatorId, direction: 'OUTBOUND', contactId: null },
      ...{ recipient: contactParty, amountMinor: 1, paymentNote: null, externalPaymentId: null },
      requestedBy: randomUUID(),
    }),
  ]);
  return approvalId;
}

const reject = (approvalId: string) =>
  appendEvents(store, `approval-${approvalId}`, [
    event('ApprovalRejected', { rejectedBy: randomUUID(), reason: 'no' }),
  ]);

async function generateStatement(): Promise<string> {
  const statementId = randomUUID();
  const { organization: organizationId, originator: originatorId } = ids;
  await appendEvents(store, `statement-${statementId}`, [
    event('StatementGenerated', {
      ...{ statementId, organizationId, originatorId, periodYear: 2026, periodMonth: 10 },
      ...{ sizeBytes: 4, sha256: 'a'.repeat(64) },
    }),
  ]);
  return statementId;
}

async function approvals(): Promise<readonly (readonly [string, string])[]> {
  const { rows } = await pool.query<{ approval_id: string; status: string }>(
    'SELECT approval_id, status FROM approvals ORDER BY created_at, approval_id',
  );
  return rows.map(({ approval_id, status }) => [approval_id, status]);
}

async function idsIn(table: 'statements' | 'integration_events'): Promise<readonly string[]> {
  const id = table === 'statements' ? 'statement_id' : "split_part(stream_id, '-', 1)";
  const order = table === 'statements' ? 'statement_id' : 'position';
  const { rows } = await pool.query<{ id: string }>(
    `SELECT ${id} AS id FROM ${table} ORDER BY ${order}`,
  );
  return rows.map((row) => row.id);
}

it('a directory gets approvals and statements that a projector of the previous release passed over', async () => {
  const before = await requestApproval();
  await runAndStop(directoryProjection);
  const passedOver = await requestApproval();
  const statementId = await generateStatement();
  await previousReaderReachesTheEnd(directoryProjection);
  // Its first event is behind the checkpoint, and this one is not.
  await reject(passedOver);
  const runner = await run(directoryProjection);
  expect(runner.state).toMatchObject({ role: 'active', lastError: null });
  expect(new Map(await approvals())).toEqual(
    new Map([
      [before, 'WAITING'],
      [passedOver, 'REJECTED'],
    ]),
  );
  expect(await idsIn('statements')).toEqual([statementId]);
});

it('the index of events gets statements that a projector of the previous release passed over', async () => {
  await queuePayment(store, at);
  await runAndStop(eventsProjection);
  await generateStatement();
  await queuePayment(store, at);
  await previousReaderReachesTheEnd(eventsProjection);
  await generateStatement();
  await run(eventsProjection);
  // The payment that the previous release has read is its own to write.
  expect(await idsIn('integration_events')).toEqual(['payment', 'statement', 'statement']);
});

it('the index of events has not reached what was passed over', async () => {
  await runAndStop(eventsProjection);
  await generateStatement();
  await previousReaderReachesTheEnd(eventsProjection);
  const end = await store.lastPosition();
  const log = { pool, store };
  expect(await hasReached(log, 'events', end)).toBe(false);
  expect(await hasReached(log, 'events', end, ['payment-'])).toBe(true);
  await run(eventsProjection);
  expect(await hasReached(log, 'events', end)).toBe(true);
});

it('a checkpoint that a projector of the previous release has begun lacks no kind', async () => {
  const approvalId = await requestApproval();
  await previousReaderReachesTheEnd(directoryProjection);
  await run(directoryProjection);
  expect(await approvals()).toEqual([[approvalId, 'WAITING']]);
});

it('a checkpoint that lacks all kinds takes one query for each part of the log, and no more if it lacks one kind for longer', async () => {
  const approvalIds: string[] = [];
  const statementIds: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    await queuePayment(store, at);
    approvalIds.push(await requestApproval());
    statementIds.push(await generateStatement());
  }
  await previousReaderReachesTheEnd(directoryProjection);
  const [, , , , , sixth] = (await store.readLog({ after: '' })).events;
  for (const approvalsRead of [undefined, sixth?.position]) {
    await pool.query('TRUNCATE approvals, statements');
    const kindsRead = JSON.stringify({ 'approval-': approvalsRead });
    await pool.query('UPDATE projection_checkpoints SET kinds_read = $1', [kindsRead]);
    const counted = countingStore(shortSightedStore(store));
    const runner = await run(directoryProjection, counted);
    await runner.stop();
    expect(counted.counted().pages).toBe(12);
    const missed = approvalIds.slice(approvalsRead === undefined ? 0 : 2);
    expect((await approvals()).map(([id]) => id).sort()).toEqual(missed.sort());
    expect((await idsIn('statements')).toSorted()).toEqual(statementIds.toSorted());
  }
});

it('what was passed over is made up for again after another rollback', async () => {
  await requestApproval();
  await runAndStop(directoryProjection);
  for (const rollback of [2, 3]) {
    await requestApproval();
    await previousReaderReachesTheEnd(directoryProjection);
    const runner = await run(directoryProjection);
    expect(await approvals()).toHaveLength(rollback);
    await runner.stop();
  }
});

it('two projectors that begin at the same time miss nothing and apply nothing twice', async () => {
  const counted = countingProjection();
  await queuePayment(store, at);
  await runAndStop(counted.projection);
  const missed = [await requestApproval(), await requestApproval()];
  await previousReaderReachesTheEnd(counted.projection);
  const end = await store.lastPosition();
  const both = [start(counted.projection), start(counted.projection)];
  const active = await until(() => both.find(({ state }) => state.position === end), { timeoutMs });
  await active.stop();
  const other = both.find((runner) => runner !== active);
  expect(await other?.waitFor(end, timeoutMs)).toBe(true);
  expect(await counted.rows()).toEqual(missed.map((id) => `approval-${id}`).sort());
});

it('what was passed over is applied once although the process dies in between', async () => {
  const counted = countingProjection();
  await queuePayment(store, at);
  await runAndStop(counted.projection);
  const missed: string[] = [];
  // More than a page.
  for (let n = 0; n < 501; n += 1) missed.push(`approval-${await requestApproval()}`);
  await previousReaderReachesTheEnd(counted.projection);
  let writes = 0;
  const dying = countingProjection((client) => {
    writes += 1;
    return writes === 2 ? endSessionOf(client) : Promise.resolve();
  });
  const first = start(dying.projection);
  await until(() => writes >= 2, { timeoutMs });
  await first.stop();
  // The previous release again, before everything was made up for.
  missed.push(`approval-${await requestApproval()}`);
  await previousReaderReachesTheEnd(counted.projection);
  await run(counted.projection);
  expect(await counted.rows()).toEqual(missed.sort());
});

it.each([
  ['between two pages', 'read'],
  ['while it writes a page', 'write'],
])(
  'what was passed over is applied once although the database goes away %s and comes back',
  async (_when, step) => {
    const server = await tcpProxy(database.url);
    atEnd(() => server.close());
    const through = openTestPool(server.url, 5);
    atEnd(() => through.end());
    const counted = countingProjection();
    await queuePayment(store, at);
    await runAndStop(counted.projection);
    const missed: string[] = [];
    for (let n = 0; n < 5; n += 1) missed.push(`approval-${await requestApproval()}`);
    await previousReaderReachesTheEnd(counted.projection);
    let steps = 0;
    const take = (taken: 'read' | 'write') => {
      if (taken !== step) return;
      steps += 1;
      if (steps === 3) server.goAway();
    };
    const { projection } = countingProjection(() => Promise.resolve(take('write')));
    const onePage = shortSightedStore(store);
    const watched: EventStore = {
      ...onePage,
      readLog: (options) => {
        take('read');
        return onePage.readLog(options);
      },
    };
    const failures: { error: unknown; stopped: boolean }[] = [];
    const onFailure = (error: unknown, stopped: boolean) => void failures.push({ error, stopped });
    const runner = new ProjectionRunner({ projection, store: watched, pool: through, onFailure });
    runners.push(runner);
    runner.start();
    await until(() => failures.length >= 2, { timeoutMs });
    server.comeBack();
    expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);
    expect(failures.map(({ stopped }) => stopped)).not.toContain(true);
    expect(await counted.rows()).toEqual(missed.sort());
    await runner.stop();
  },
);

it('a rebuild has read all kinds', async () => {
  const approvalId = await requestApproval();
  await previousReaderReachesTheEnd(directoryProjection);
  await rebuild(directoryProjection, { store, pool });
  const read: string[] = [];
  const watched: EventStore = {
    ...store,
    readLog: (options) => {
      read.push(...(options.streamPrefixes ?? ['all']));
      return store.readLog(options);
    },
  };
  await run(directoryProjection, watched);
  expect(read).toEqual([]);
  expect(await approvals()).toEqual([[approvalId, 'WAITING']]);
});

it('what a rebuild has written meanwhile is not written again', async () => {
  const counted = countingProjection();
  await queuePayment(store, at);
  await runAndStop(counted.projection);
  const missed: string[] = [];
  // More than a page.
  for (let n = 0; n < 501; n += 1) missed.push(`approval-${await requestApproval()}`);
  await previousReaderReachesTheEnd(counted.projection);
  let reads = 0;
  const watched: EventStore = {
    ...store,
    async readLog(options) {
      reads += 1;
      // Nothing else happens in the log: the checkpoint stays where it is.
      if (reads === 2) await rebuild(counted.projection, { store, pool });
      return store.readLog(options);
    },
  };
  await run(counted.projection, watched);
  expect(reads).toBe(2);
  expect(await counted.rows()).toEqual(missed.sort());
});

it('the migration counts everything before the checkpoints as read, and nothing after them', async () => {
  await queuePayment(store, at);
  await generateStatement();
  await previousReaderReachesTheEnd(eventsProjection);
  await pool.query('ALTER TABLE projection_checkpoints DROP COLUMN kinds_read');
  await pool.query('ALTER TABLE consumer_checkpoints DROP COLUMN kinds_read');
  await pool.query(readFileSync(migration, 'utf8'));
  const first = await run(eventsProjection);
  expect(await idsIn('integration_events')).toEqual([]);
  await first.stop();
  await generateStatement();
  await previousReaderReachesTheEnd(eventsProjection);
  await run(eventsProjection);
  expect(await idsIn('integration_events')).toEqual(['statement']);
});

it('the kinds that the previous release does not follow are known', () => {
  const later = Object.values(projections).map(({ name, laterPrefixes }) => [name, laterPrefixes]);
  expect(Object.fromEntries(later)).toEqual({
    ...{ payments: [], figures: [], movements: [], fees: [], history: [] },
    directory: ['approval-', 'statement-'],
    events: ['statement-'],
  });
});

/** A projection that is not idempotent: a row for each event of an approval that it is given. */
function countingProjection(
  onWritten: (client: pg.ClientBase) => Promise<void> = () => Promise.resolve(),
) {
  const create =
    'CREATE TABLE IF NOT EXISTS counted_events (stream_id text NOT NULL, id uuid PRIMARY KEY DEFAULT gen_random_uuid())';
  const projection: Projection = {
    name: 'counted',
    streamPrefixes: ['payment-', 'approval-'],
    laterPrefixes: ['approval-'],
    tables: [
      {
        name: 'counted_events',
        async write(client, target, events: readonly RecordedEvent[]) {
          await client.query(create);
          const approved = events.filter(({ streamId }) => streamId.startsWith('approval-'));
          await client.query(`INSERT INTO ${target} (stream_id) SELECT * FROM unnest($1::text[])`, [
            approved.map(({ streamId }) => streamId),
          ]);
          await onWritten(client);
        },
      },
    ],
  };
  const rows = async () => {
    const { rows: found } = await pool.query<{ stream_id: string }>(
      'SELECT stream_id FROM counted_events ORDER BY stream_id COLLATE "C"',
    );
    return found.map(({ stream_id }) => stream_id);
  };
  return { projection, rows };
}

async function endSessionOf(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
}
