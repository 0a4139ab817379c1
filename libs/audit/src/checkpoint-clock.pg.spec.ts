/** When checkpoints are signed while clocks jump. */
import { randomUUID } from 'node:crypto';
import { type EventStore, memoryEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { AuditLog } from './audit-log.js';
import { newestCheckpoint } from './checkpoints.js';
import { noteSigner } from './note.js';

const signer = noteSigner(Buffer.alloc(32, 7));
const startedAt = Date.parse('2026-03-01T00:00:00.000Z');
const yearMs = 365 * 86_400_000;

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let nowMs: number;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  store = memoryEventStore();
  nowMs = startedAt;
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const newLog = () => new AuditLog({ store, pool, signer, now: () => new Date(nowMs) });

/** To one stream. */
async function append(count: number): Promise<void> {
  const metadata = {
    ...{ at: new Date(nowMs).toISOString(), schemaVersion: 1, actor: 'system:test' },
    ...{ requestId: null, correlationId: randomUUID(), causationId: null, traceparent: null },
    previousHash: null,
  };
  const type = 'PaymentQueued';
  const events = Array.from({ length: count }, () => ({
    id: randomUUID(),
    type,
    data: {},
    metadata,
  }));
  await store.append(`payment-${randomUUID()}`, 'noStream', events);
}

async function appendOne(audit: AuditLog): Promise<number | undefined> {
  await append(1);
  while (await audit.round());
  return (await newestCheckpoint(store))?.treeSize;
}

it.each([
  ['the process whose clock was set back', (before: AuditLog) => before],
  ['a process that starts then', () => newLog()],
])('signs once a minute after a clock was a year ahead: %s', async (_, next) => {
  nowMs += yearMs;
  const before = newLog();
  expect(await appendOne(before)).toBe(1);
  nowMs = startedAt;
  const audit = next(before);
  expect(await appendOne(audit)).toBe(2);
  expect(await appendOne(audit)).toBe(2);
  nowMs += 60_000;
  expect(await appendOne(audit)).toBe(4);
});

it('signs no checkpoint for each page while it catches up, after its clock was set back', async () => {
  nowMs += yearMs;
  for (let streams = 0; streams < 5; streams += 1) await append(500);
  const audit = newLog();
  // It announces its key, then reads a page.
  for (let rounds = 0; rounds < 2; rounds += 1) await audit.round();
  nowMs = startedAt;
  while (await audit.round());
  const { events } = await store.readLog({ after: '', pageMax: 5_000 });
  expect(events.filter(({ streamId }) => !streamId.startsWith('payment-'))).toHaveLength(1);
  expect((await newestCheckpoint(store))?.treeSize).toBe(2_500);
});
