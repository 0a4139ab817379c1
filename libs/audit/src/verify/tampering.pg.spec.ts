/** What somebody with write access to the database can do to the log, and how the audit finds it. */
import { contact, payment } from '@pis/domain';
import { contactExample, ids, later, paymentEvents, paymentExample } from '@pis/domain/testing';
import { beginning, postgresEventStore, repository, sealedStore } from '@pis/event-store';
import { MemorySealing, withSmallPartitions } from '@pis/event-store/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import type { KnownCheckpoint } from './log-audit.js';
import { type LogSource, postgresLog } from './log-source.js';
import type { StoredEvent } from './stored-event.js';
import { verifyLog } from './verify-log.js';

const by = {
  actor: 'user:1',
  requestId: 'r',
  correlationId: 'c',
  causationId: null,
  traceparent: null,
};
const { queued, processing, completed } = paymentEvents;
const payments = ['a', 'b', 'c'].map((last) => ids.payment.slice(0, -1) + last);
const [first = '', second = ''] = payments.map((id) => `payment-${id}`);

let database: TestDatabase;
/** Of one connection: what a test does in a transaction, the audit reads in the same one. */
let pool: pg.Pool;
let kept: KnownCheckpoint;
let rows: readonly StoredEvent[];

beforeAll(async () => {
  database = await createTestDatabase();
  // Each payment has events in both partitions.
  await withSmallPartitions(database.url, 5);
  pool = openTestPool(database.url, 1);
  const store = sealedStore(postgresEventStore({ pool }), new MemorySealing());
  const streams = repository(store, payment);
  // Positions 1 to 9: each payment is queued, then each is processing, then each is completed. 10: a contact.
  for (const event of [queued, processing, completed])
    for (const paymentId of payments) {
      const data = paymentExample({ paymentId, idempotencyKey: null });
      const next = event === queued ? { ...queued, data } : event;
      await streams.append(paymentId, await streams.load(paymentId), [next], by);
    }
  const created = { type: 'CreateContact', at: later, data: contactExample() } as const;
  await repository(store, contact).create(ids.contact, created, by);
  await store.close();
  rows = await rowsOf(postgresLog(pool));
  const { treeSize, rootHash } = await verifyLog({ source: postgresLog(pool) });
  kept = { treeSize, rootHash, from: 'kept.txt' };
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});
beforeEach(() => pool.query('BEGIN'));
afterEach(() => pool.query('ROLLBACK'));

async function rowsOf(source: LogSource): Promise<StoredEvent[]> {
  const found: StoredEvent[] = [];
  for await (const page of source.pages()) found.push(...page);
  return found;
}

/** Each finding as `stream revision: what differs`. */
async function findings(checkpoints: readonly KnownCheckpoint[] = []): Promise<string[]> {
  const report = await verifyLog({ source: postgresLog(pool), kept: checkpoints });
  expect(report.ok).toBe(report.findings.length === 0);
  return report.findings.map(({ stream, revision, differs }) =>
    stream === null ? `log: ${differs}` : `${stream} ${revision}: ${differs}`,
  );
}

async function alter(column: 'data' | 'metadata', from: string, to: string, position: number) {
  const { rowCount } = await pool.query(
    `UPDATE events SET ${column} = replace(${column}::text, $1, $2)::json
     WHERE position = $3 AND ${column}::text LIKE '%' || $1 || '%'`,
    [from, to, position],
  );
  expect(rowCount).toBe(1);
}

/** Moves what is behind a position by one, and the head with it: an attacker leaves no gap. */
async function renumber(after: number, by: 1 | -1): Promise<void> {
  await pool.query('UPDATE events SET position = -position WHERE position > $1', [after]);
  await pool.query('UPDATE events SET position = -position + $1 WHERE position < 0', [by]);
  await pool.query('UPDATE event_log_head SET position = position + $1', [by]);
}

const otherRoot = `log: the root of the first 10 leaves is not that of kept.txt: one of the leaves 0 to 9 was altered, dropped, inserted or moved`;
const fewerLeaves = (leaves: number) =>
  `log: the log has ${leaves} leaves, kept.txt has 10: events are missing at its end`;

it('a log that nobody altered holds, with its checkpoint', async () => {
  expect(await findings([kept])).toEqual([]);
});

it.each([
  ['an amount', 'data', '125000', '125001', 1, `${first} 1`],
  ['a sealed text', 'data', '"sealed":"v3.', '"sealed":"v3.x', 1, `${first} 1`],
  ['an actor', 'metadata', 'user:1', 'user:2', 4, `${first} 2`],
  ['a time', 'metadata', '2026-', '2025-', 5, `${second} 2`],
] as const)(
  'altering %s breaks the chain at the next event of the stream',
  async (_what, column, from, to, position, at) => {
    await alter(column, from, to, position);
    const [, revision = ''] = at.split(' ');
    const chain = `${at}: previousHash is not the hash of revision ${Number(revision) - 1}: one of the two was altered`;
    expect(await findings()).toEqual([chain]);
    expect(await findings([kept])).toEqual([chain, otherRoot]);
  },
);

it('altering the last event of a stream is seen against a kept checkpoint alone', async () => {
  await alter('metadata', 'user:1', 'user:2', 7);
  expect(await findings()).toEqual([]);
  expect(await findings([kept])).toEqual([otherRoot]);
});

it('two kept checkpoints narrow down where the log was altered', async () => {
  const before = await verifyLog({ source: sourceOf(rows.slice(0, 6)) });
  const earlier = { ...kept, treeSize: 6, rootHash: before.rootHash, from: 'earlier.txt' };
  await alter('metadata', 'user:1', 'user:2', 7);
  expect(await findings([kept, earlier])).toEqual([
    otherRoot.replace('leaves 0 to 9', 'leaves 6 to 9'),
  ]);
});

it('flipping any byte of an event is found', async () => {
  const [one] = rows;
  if (one === undefined) throw new Error('no event');
  const { treeSize, rootHash } = await verifyLog({ source: sourceOf([one]) });
  const checkpoint = { treeSize, rootHash, from: 'one.txt' };
  const undetected: string[] = [];
  for (const field of ['data', 'metadata', 'streamId', 'id', 'type'] as const)
    for (let at = 0; at < one[field].length; at += 1) {
      const text = one[field];
      const flipped = String.fromCharCode(text.charCodeAt(at) ^ 1);
      const altered = { ...one, [field]: text.slice(0, at) + flipped + text.slice(at + 1) };
      const report = await verifyLog({ source: sourceOf([altered]), kept: [checkpoint] });
      if (report.ok) undetected.push(`${field} ${at}`);
    }
  expect(undetected).toEqual([]);
});

it.each([
  ['position', 'position + 100'],
  ['stream_id', "stream_id || 'x'"],
  ['revision', 'revision + 100'],
  ['id', 'gen_random_uuid()'],
  ['type', "type || 'x'"],
  ['data', "jsonb_set(data::jsonb, '{x}', '1')::json"],
  ['metadata', "jsonb_set(metadata::jsonb, '{x}', '1')::json"],
])('altering %s of any row of the table is found, and told where', async (column, other) => {
  const located: boolean[] = [];
  for (const { position, streamId } of rows) {
    await pool.query('SAVEPOINT before');
    const changed = `UPDATE events SET ${column} = ${other} WHERE position = $1`;
    expect(await pool.query(changed, [Number(position)])).toMatchObject({ rowCount: 1 });
    const found = await findings([kept]);
    located.push(found.some((text) => text.startsWith(streamId) || text === otherRoot));
    await pool.query('ROLLBACK TO before');
  }
  expect(located).toEqual(rows.map(() => true));
});

it('an event dropped in the middle leaves a gap in the log and in its stream', async () => {
  await pool.query('DELETE FROM events WHERE position = 4');
  const gap = `${first} 2: revision 2 follows revision 0`;
  expect(await findings()).toEqual([
    `${second} 1: position 5 follows 3: 1 event is missing`,
    gap,
    `${first} 2: previousHash is not the hash of revision 0: one of the two was altered`,
    `${first} 2: PaymentCompleted is no legal transition from QUEUED`,
  ]);
  await renumber(3, -1);
  expect(await findings()).toContain(gap);
});

it('the last event of a stream, dropped without a gap, is missed by a kept checkpoint', async () => {
  await pool.query('DELETE FROM events WHERE position = 7');
  await renumber(7, -1);
  expect(await findings()).toEqual([]);
  expect(await findings([kept])).toEqual([fewerLeaves(9)]);
});

it('two events of different streams that change places are seen against a kept checkpoint', async () => {
  await pool.query('UPDATE events SET position = -1 WHERE position = 7');
  await pool.query('UPDATE events SET position = 7 WHERE position = 8');
  await pool.query('UPDATE events SET position = 8 WHERE position = -1');
  expect(await findings()).toEqual([]);
  expect(await findings([kept])).toEqual([otherRoot]);
});

it('two events of one stream that change places are out of order', async () => {
  await pool.query('UPDATE events SET position = -1 WHERE position = 4');
  await pool.query('UPDATE events SET position = 4 WHERE position = 7');
  await pool.query('UPDATE events SET position = 7 WHERE position = -1');
  expect(await findings()).toContain(`${first} 2: revision 2 follows revision 0`);
});

it('an event inserted into a stream is found where it is', async () => {
  await renumber(6, 1);
  await pool.query(
    'UPDATE events SET revision = revision + 1 WHERE stream_id = $1 AND position > 6',
    [first],
  );
  await pool.query(
    `INSERT INTO events SELECT 7, stream_id, 2, gen_random_uuid(), 'PaymentFailed', data, metadata
     FROM events WHERE position = 4`,
  );
  const found = await findings([kept]);
  expect(found).toContain(
    `${first} 2: previousHash is not the hash of revision 1: one of the two was altered`,
  );
  expect(found).toContain(`${first} 3: PaymentCompleted is no legal transition from FAILED`);
  expect(found).toContain(otherRoot);
});

it('a second event at a revision, in another partition, is found', async () => {
  await pool.query(
    `INSERT INTO events SELECT 11, stream_id, revision, gen_random_uuid(), type, data, metadata
     FROM events WHERE position = 4`,
  );
  await pool.query('UPDATE event_log_head SET position = 11');
  const found = await findings([kept]);
  expect(found).toContain(`${first} 1: revision 1 follows revision 2`);
});

it('an event put behind the head of the log is found', async () => {
  await pool.query(
    `INSERT INTO events SELECT 11, 'contact-forged', 0, gen_random_uuid(), type, data, metadata
     FROM events WHERE position = 10`,
  );
  expect(await findings()).toEqual(['log: the log ends at position 11, its head says 10']);
});

it('a log whose end was cut off is found by its head, and by a kept checkpoint', async () => {
  await pool.query('DELETE FROM events WHERE position > 8');
  expect(await findings([kept])).toEqual([
    'log: the log ends at position 8, its head says 10',
    fewerLeaves(8),
  ]);
});

it('an older backup that went on is found by a kept checkpoint', async () => {
  await pool.query('DELETE FROM events WHERE position > 8');
  await pool.query('UPDATE event_log_head SET position = 8');
  expect(await findings()).toEqual([]);
  expect(await findings([kept])).toEqual([fewerLeaves(8)]);
  await pool.query(
    `INSERT INTO events SELECT p, 'contact-' || gen_random_uuid(), 0, gen_random_uuid(), 'ContactErasureConfirmed', '{}',
       '{"at":"2026-11-21T09:00:00.000Z","schemaVersion":1,"actor":"system:x","previousHash":null}'
     FROM generate_series(9, 10) p`,
  );
  await pool.query('UPDATE event_log_head SET position = 10');
  expect(await findings()).toEqual([]);
  expect(await findings([kept])).toEqual([otherRoot]);
});

it('data that is no JSON any more does not end the audit', async () => {
  const broken = rows.map((row, index) => (index === 3 ? { ...row, data: '{"' } : row));
  const report = await verifyLog({ source: sourceOf(broken) });
  expect(report).toMatchObject({ eventsRead: 10, treeSize: 10, findingsTotal: 2 });
  expect(report.findings[0]).toMatchObject({ stream: first, revision: 1 });
  expect(report.findings[0]?.differs).toMatch(/^it cannot be read: /);
});

function sourceOf(events: readonly StoredEvent[]): LogSource {
  return {
    hasContiguousPositions: true,
    lastPosition: () => null,
    async *pages() {
      yield events;
    },
  };
}

it('reads the log in pages, as through the port', async () => {
  const store = postgresEventStore({ pool });
  const page = await store.readLog({ after: beginning });
  await store.close();
  const shapes = rows.map(({ data, metadata, ...row }) => ({
    ...row,
    data: JSON.parse(data) as object,
    metadata: JSON.parse(metadata) as object,
  }));
  expect(shapes).toEqual(page.events);
});
