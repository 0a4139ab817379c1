import { randomUUID } from 'node:crypto';
import { type EventStore, postgresEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { AuditBroken, AuditLog } from './audit-log.js';
import { noteSigner } from './note.js';
import { proveStream } from './payment-proof.js';
import { forgetTree } from './tree-store.js';

const signer = noteSigner(Buffer.alloc(32, 7));
const noWait = { timeoutMs: 0, pollMs: 1 };

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  store = postgresEventStore({ pool });
});
afterEach(async () => {
  await store?.close();
  await pool?.end();
  await database?.drop();
});

async function append(): Promise<string> {
  const streamId = `payment-${randomUUID()}`;
  const metadata = {
    ...{ at: new Date().toISOString(), schemaVersion: 1, actor: 'system:test' },
    ...{ requestId: null, correlationId: randomUUID(), causationId: null, traceparent: null },
    previousHash: null,
  };
  const event = { id: randomUUID(), type: 'PaymentQueued', data: { number: 1 }, metadata };
  await store.append(streamId, 'noStream', [event]);
  return streamId;
}

async function sign(): Promise<void> {
  const log = new AuditLog({ store, pool, signer });
  while (await log.round());
}

const prove = (streamId: string) => proveStream({ store, pool }, streamId, noWait);

it('while no checkpoint covers the events, the reason names the runbook of late checkpoints', async () => {
  const reason = 'see PisAuditSigningLate in docs/runbooks/log.md';
  await expect(prove(await append())).rejects.toThrow(reason);
  await sign();
  await expect(prove(await append())).rejects.toThrow(reason);
});

it('somebody who may only read gets the proofs of what is signed, and waits for the rest', async () => {
  const signed = await append();
  await sign();
  const role = `reader_${randomUUID().replaceAll('-', '')}`;
  await pool.query(`CREATE ROLE ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
  const reader = openTestPool(database.url, 1);
  try {
    await reader.query(`SET ROLE ${role}`);
    const proveAsReader = (streamId: string) =>
      proveStream({ store, pool: reader }, streamId, { timeoutMs: 1_000, pollMs: 1_000 });
    expect((await proveAsReader(signed)).events).toHaveLength(1);
    await expect(proveAsReader(await append())).rejects.toThrow('no signed checkpoint covers');
  } finally {
    await reader.end();
    await pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

it.each([
  ['an event', `UPDATE events SET data = '{"number":9}' WHERE stream_id = $1`],
  [
    'the stored tree',
    `UPDATE audit_tiles SET hashes = overlay(hashes PLACING decode(repeat('00', 32), 'hex') FROM 1) WHERE $1 <> ''`,
  ],
])('after %s alone was altered, the reason is not that a checkpoint is late', async (_, sql) => {
  const signed = await append();
  await append();
  await sign();
  await pool.query(sql, [signed]);
  await expect(prove(signed)).rejects.toThrow(
    'differs between the log and the stored tree: pis audit verify tells more',
  );
});

it.each([
  ['altered', `UPDATE events SET data = '{"number":9}' WHERE stream_id = $1`],
  ['removed', 'DELETE FROM events WHERE stream_id = $1'],
])('after a signed event was %s, the reason names the runbook of a broken log', async (_, sql) => {
  const signed = await append();
  await append();
  await sign();
  await pool.query(sql, [signed]);
  await pool.query('UPDATE event_log_head SET position = (SELECT max(position) FROM events)');
  await forgetTree(pool);
  if (sql.startsWith('UPDATE')) await append();
  await expect(sign()).rejects.toThrow(AuditBroken);
  await expect(prove(await append())).rejects.toThrow(
    'the log differs from what was signed: see PisAuditSigningBroken in docs/runbooks/log.md',
  );
});
