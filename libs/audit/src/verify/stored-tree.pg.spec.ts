/** What somebody can do to the stored tree, and how the audit finds it. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type EventStore, postgresEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { AuditLog } from '../audit-log.js';
import { noteSigner } from '../note.js';
import { type LogSource, postgresLog } from './log-source.js';
import { verifyLog, type VerifyOptions } from './verify-log.js';

const streams = Array.from({ length: 300 }, () => `organization-${randomUUID()}`);

let database: TestDatabase;
/** Of one connection: what a test does in a transaction, the audit reads in the same one. */
let pool: pg.Pool;
let store: EventStore;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 1);
  store = postgresEventStore({ pool });
  for (const streamId of streams) await append(streamId);
  const log = new AuditLog({ store, pool, signer: noteSigner(Buffer.alloc(32, 7)) });
  while (await log.round());
});
afterAll(async () => {
  await store?.close();
  await pool?.end();
  await database?.drop();
});
beforeEach(() => pool.query('BEGIN'));
afterEach(() => pool.query('ROLLBACK'));

async function append(streamId: string): Promise<void> {
  const metadata = {
    ...{ at: '2026-03-01T00:00:00.000Z', schemaVersion: 1, actor: 'system:test', requestId: null },
    ...{ correlationId: 'c', causationId: null, traceparent: null, previousHash: null },
  };
  const data = { organizationId: streamId, name: 'Example' };
  const event = { id: randomUUID(), type: 'OrganizationCreated', data, metadata };
  await store.append(streamId, 'noStream', [event]);
}

async function audit(options: Partial<VerifyOptions> = {}) {
  const source = postgresLog(pool);
  const { findings, leavesCompared } = await verifyLog({ source, treeIn: pool, ...options });
  const found = findings.map(({ stream, differs }) => ({
    leaf: stream === null ? null : streams.indexOf(stream),
    differs,
  }));
  return { leavesCompared, found };
}

/** Puts other bytes in the place of the hashes of a tile, from one of them on. */
async function overwrite(tile: { level: number; index: number }, first: number, bytes: Buffer) {
  await pool.query(
    `UPDATE audit_tiles SET hashes = overlay(hashes PLACING $3 FROM $4) WHERE level = $1 AND index = $2`,
    [tile.level, tile.index, bytes, first * 32 + 1],
  );
}

const zeros = (hashes: number) => Buffer.alloc(32 * hashes);

it('a tree that nobody altered is compared, leaf by leaf', async () => {
  expect(await audit()).toEqual({ leavesCompared: 300, found: [] });
});

it('a tree that has not come that far yet is compared up to where it is', async () => {
  await append(`organization-${randomUUID()}`);
  expect(await audit()).toEqual({ leavesCompared: 300, found: [] });
});

it('an event that was altered is named, also when no event follows in its stream', async () => {
  await pool.query(`UPDATE events SET data = '{"name":"Other"}' WHERE stream_id = $1`, [
    streams[100],
  ]);
  const differs = 'leaf 100 in audit_tiles is not that of this event: one of the two was altered';
  expect((await audit()).found).toContainEqual({ leaf: 100, differs });
});

it('altered leaves are found, and those in a row are one finding', async () => {
  await overwrite({ level: 0, index: 0 }, 3, zeros(1));
  await overwrite({ level: 0, index: 0 }, 250, zeros(6));
  await overwrite({ level: 0, index: 1 }, 0, zeros(2));
  const one = 'leaf 3 in audit_tiles is not that of this event: one of the two was altered';
  const many = 'leaves 250 to 257 in audit_tiles are not those of this event and the next ones';
  expect((await audit()).found).toEqual([
    { leaf: 3, differs: one },
    { leaf: 250, differs: many },
  ]);
});

it('an audit that was stopped among altered leaves goes on, and reports what it would have reported', async () => {
  await overwrite({ level: 0, index: 0 }, 90, zeros(20));
  const whole = await audit();
  expect(whole.found).toHaveLength(1);
  const source: LogSource = {
    ...postgresLog(pool),
    async *pages(after) {
      for await (const page of postgresLog(pool).pages(after))
        for (let from = 0; from < page.length; from += 100) yield page.slice(from, from + 100);
    },
    lastPosition: () => null,
  };
  const folder = mkdtempSync(path.join(tmpdir(), 'pis-audit-'));
  try {
    const state = { file: path.join(folder, 'audit.state') };
    const stop = AbortSignal.abort(new Error('stopped'));
    for (let page = 1; page <= 3; page += 1)
      await expect(audit({ source, state, signal: stop })).rejects.toThrow('stopped');
    expect(await audit({ source, state })).toEqual(whole);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('a tile that was removed is found', async () => {
  await pool.query('DELETE FROM audit_tiles WHERE level = 0 AND index = 1');
  const differs = 'leaves 256 to 299 in audit_tiles are not those of this event and the next ones';
  expect((await audit()).found).toEqual([{ leaf: 256, differs }]);
});

it('an altered hash above the leaves is found', async () => {
  await overwrite({ level: 1, index: 0 }, 0, zeros(1));
  const differs = 'the hash 0 of level 8 in audit_tiles is not that of its leaves';
  expect((await audit()).found).toEqual([{ leaf: null, differs }]);
});

it('an altered position of a tile is found', async () => {
  await pool.query(`UPDATE audit_tiles SET first_position = '9' WHERE level = 0 AND index = 1`);
  const differs = 'audit_tiles has another position for leaf 256';
  expect((await audit()).found).toEqual([{ leaf: 256, differs }]);
});

it('a tree with more leaves than the log is found', async () => {
  await pool.query('UPDATE audit_tree SET size = 301');
  const differs = 'audit_tree has 301 leaves, the log has 300';
  expect((await audit()).found).toEqual([{ leaf: null, differs }]);
});

it('a tree that is computed again meanwhile is no finding', async () => {
  await pool.query(`UPDATE audit_tree SET size = 0, position = '', event_id = NULL`);
  await pool.query('DELETE FROM audit_tiles');
  expect(await audit()).toEqual({ leavesCompared: 0, found: [] });
});
