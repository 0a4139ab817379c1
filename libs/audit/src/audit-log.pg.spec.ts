import { createHash, createPublicKey, randomUUID, verify } from 'node:crypto';
import {
  type EventStore,
  hashOfEvent,
  postgresEventStore,
  StoreUnavailable,
} from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { AuditBroken, AuditLog } from './audit-log.js';
import { newestCheckpoint, readCheckpoints } from './checkpoints.js';
import { checkpointStream, hashOfLeaf, leafOf } from './leaf.js';
import {
  consistencyProof,
  GrowingTree,
  inclusionProofs,
  type NodeSource,
  rootAt,
  verifyConsistency,
  verifyInclusion,
} from './merkle-tree.js';
import { noteSigner } from './note.js';
import {
  announceKey,
  forgetTree,
  growTree,
  indexesOf,
  readTree,
  storedNodes,
  wantCheckpoint,
} from './tree-store.js';

const signer = noteSigner(Buffer.alloc(32, 7));
const startedAt = Date.parse('2026-03-01T00:00:00.000Z');

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let nowMs: number;
let log: AuditLog;
const nodesAt: NodeSource = (nodes) => storedNodes(pool, nodes);

beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  store = postgresEventStore({ pool });
  nowMs = startedAt;
  log = newLog();
});
afterEach(async () => {
  await store?.close();
  await pool?.end();
  await database?.drop();
});

const newLog = () => new AuditLog({ store, pool, signer, now: () => new Date(nowMs) });

async function catchUp(audit = log): Promise<void> {
  while (await audit.round());
}

async function append(count: number, streamId = `payment-${randomUUID()}`): Promise<string> {
  const metadata = {
    ...{ at: new Date(nowMs).toISOString(), schemaVersion: 1, actor: 'system:test' },
    ...{ requestId: null, correlationId: randomUUID(), causationId: null, traceparent: null },
    previousHash: null,
  };
  const events = Array.from({ length: count }, (_, number) => ({
    ...{ id: randomUUID(), type: 'PaymentQueued', data: { number }, metadata },
  }));
  await store.append(streamId, 'noStream', events);
  return streamId;
}

/** All leaves, by a reading of the log of its own. */
async function leaves(): Promise<Buffer[]> {
  const { events } = await store.readLog({ after: '', pageMax: 100_000, leaveSealed: true });
  return events
    .filter(({ streamId }) => streamId !== checkpointStream)
    .map((event) => hashOfLeaf(leafOf(event)));
}

async function rootOfLog(size: number): Promise<Buffer> {
  const tree = new GrowingTree();
  for (const leaf of (await leaves()).slice(0, size)) tree.append(leaf);
  return tree.root();
}

it('signs the whole log, in notes that node:crypto alone can verify', async () => {
  await append(3);
  await catchUp();
  const checkpoint = await newestCheckpoint(store);
  const root = await rootOfLog(3);
  expect(checkpoint).toMatchObject({ treeSize: 3, rootHash: root.toString('base64') });

  const [name = '', hash = '', ...rest] = signer.verifierKey.split('+');
  const key = Buffer.from(rest.join('+'), 'base64');
  const [text = '', signature = ''] = (checkpoint?.note ?? '').split(/(?<=\n)\n/);
  expect(text).toBe(`${name}\n3\n${root.toString('base64')}\n`);
  const [dash, by, sealed = ''] = signature.trimEnd().split(' ');
  expect([dash, by]).toEqual(['—', name]);
  const bytes = Buffer.from(sealed, 'base64');
  const keyHash = createHash('sha256').update(`${name}\n`).update(key).digest('hex').slice(0, 8);
  expect([bytes.subarray(0, 4).toString('hex'), hash]).toEqual([keyHash, keyHash]);
  const x = key.subarray(1).toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  expect(verify(null, Buffer.from(text), publicKey, bytes.subarray(4))).toBe(true);
});

it('signs again after a minute or 1,000 events, and only when the log has grown', async () => {
  const sizes = async () =>
    (await readCheckpoints(store, { limit: 10 })).map(({ treeSize }) => treeSize);
  await catchUp();
  expect(await sizes()).toEqual([]);
  await append(2);
  await catchUp();
  expect(await sizes()).toEqual([2]);
  await append(1);
  await catchUp();
  expect(await sizes()).toEqual([2]);
  nowMs += 60_000;
  await catchUp();
  expect(await sizes()).toEqual([3, 2]);
  nowMs += 3_600_000;
  await catchUp();
  expect(await sizes()).toEqual([3, 2]);
  for (let turn = 0; turn < 2; turn += 1) await append(500);
  await catchUp();
  expect(await sizes()).toEqual([1_003, 3, 2]);
  await append(1);
  await wantCheckpoint(pool, true);
  await catchUp();
  expect(await sizes()).toEqual([1_004, 1_003, 3, 2]);
  expect(await readTree(pool)).toMatchObject({ checkpointWanted: false });

  const stored = await store.readStream(checkpointStream);
  expect(stored.map(({ metadata }) => metadata.previousHash)).toEqual([
    null,
    ...stored.slice(0, -1).map(hashOfEvent),
  ]);
});

it('finds the leaves of a payment among those of others', async () => {
  for (let turn = 0; turn < 2; turn += 1) await append(300);
  const streamId = await append(3);
  await catchUp();
  const asked = (await store.readStream(streamId)).map((event) => ({
    position: event.position,
    hash: hashOfLeaf(leafOf(event)),
  }));
  expect(await indexesOf(pool, asked)).toEqual([600, 601, 602]);
  const altered = { position: asked[0]?.position ?? '', hash: hashOfLeaf('another') };
  const later = { position: '9'.repeat(20), hash: hashOfLeaf('later') };
  expect(await indexesOf(pool, [altered, later])).toEqual([null, null]);
  expect(await rootOfLog(603)).toEqual(await rootAt(603, nodesAt));
});

it('keeps what proofs are made of, over three levels of tiles', async () => {
  const size = 66_000;
  const all = Array.from({ length: size }, (_, index) => hashOfLeaf(`leaf ${index}`));
  const tree = new GrowingTree();
  await announceKey(pool, signer.verifierKey);
  for (let from = 0; from < size; from += 6_000) {
    const state = await readTree(pool);
    const added = all.slice(from, from + 6_000);
    const positions = added.map((_, index) => String(from + index).padStart(20, '0'));
    const reached = { position: positions.at(-1) ?? '', eventId: randomUUID() };
    const nodes = added.flatMap((leaf) => tree.append(leaf));
    expect(state && (await growTree(pool, state, { nodes, positions, reached }))).toBe(true);
    // A second writer that knew the same state.
    expect(state && (await growTree(pool, state, { nodes, positions, reached }))).toBe(false);
  }
  const signed = { size, root: tree.root() };
  const indexes = [0, 255, 256, 65_535, 65_536, size - 1];
  const proofs = await inclusionProofs(indexes, size, nodesAt);
  const shown = indexes.map((index, place) =>
    verifyInclusion({ hash: all[index] ?? Buffer.alloc(0), index }, signed, proofs[place] ?? []),
  );
  expect(shown).toEqual(indexes.map(() => true));
  for (const from of [1, 500, 65_536, 65_999]) {
    const older = { size: from, root: await rootAt(from, nodesAt) };
    const proof = await consistencyProof(from, size, nodesAt);
    expect(verifyConsistency(older, signed, proof)).toBe(true);
  }
  await expect(storedNodes(pool, [{ level: 0, index: size }])).rejects.toThrow(StoreUnavailable);
}, 120_000);

it('two processes together make one tree and one line of checkpoints', async () => {
  const other = newLog();
  for (let turn = 0; turn < 5; turn += 1) {
    await append(300);
    nowMs += 60_000;
    await Promise.all([catchUp(), catchUp(other)]);
    // The one that came second may have stopped before the end.
    await catchUp();
  }
  const checkpoints = await readCheckpoints(store, { limit: 100 });
  const newest = checkpoints[0];
  expect(newest).toMatchObject({ treeSize: 1_500 });
  expect(newest?.rootHash).toBe((await rootOfLog(1_500)).toString('base64'));
  const sizes = checkpoints.map(({ treeSize }) => treeSize);
  expect(sizes).toEqual([...new Set(sizes)].sort((a, b) => b - a));
});

it('a tree that was lost is computed again, and equals what was signed', async () => {
  await append(500);
  await catchUp();
  await forgetTree(pool);
  await append(1);
  nowMs += 60_000;
  await catchUp(newLog());
  expect(await newestCheckpoint(store)).toMatchObject({
    treeSize: 501,
    rootHash: (await rootOfLog(501)).toString('base64'),
  });
});

it.each(['grows past the lost events', 'does not grow'])(
  'computes the tree again when an older log is restored while it runs, and that %s',
  async (then) => {
    await append(3);
    await catchUp();
    const lost = await append(2);
    await catchUp();
    await pool.query('DELETE FROM events WHERE stream_id = $1', [lost]);
    // The server gives the positions of the lost events again.
    await pool.query('UPDATE event_log_head SET position = (SELECT max(position) FROM events)');
    const isGrowing = then === 'grows past the lost events';
    if (isGrowing) await append(4);
    nowMs += 60_000;
    await catchUp();
    const size = isGrowing ? 7 : 3;
    expect(await newestCheckpoint(store)).toMatchObject({
      treeSize: size,
      rootHash: (await rootOfLog(size)).toString('base64'),
    });
  },
);

it('loads the tree again when another process has computed it from a restored log, to the same size', async () => {
  await append(3);
  await catchUp();
  const lost = await append(252);
  await catchUp();
  await pool.query('DELETE FROM events WHERE stream_id = $1', [lost]);
  await pool.query('UPDATE event_log_head SET position = (SELECT max(position) FROM events)');
  await append(252);
  await forgetTree(pool);
  await catchUp(newLog());
  const state = await readTree(pool);
  expect(state).toMatchObject({ size: 255 });
  if (state === null) throw new Error('there is no tree');
  // A writer that has read the tree before, and writes only now.
  const before = { ...state, eventId: randomUUID() };
  expect(await growTree(pool, before, { nodes: [], positions: [], reached: state })).toBe(false);
  // The leaf that completes a stored node above it.
  await append(1);
  nowMs += 60_000;
  await catchUp();
  expect(await newestCheckpoint(store)).toMatchObject({
    treeSize: 256,
    rootHash: (await rootOfLog(256)).toString('base64'),
  });
});

it('tells the key of the newest checkpoint, also after a process with another key has started', async () => {
  await append(1);
  await catchUp();
  const former = noteSigner(Buffer.alloc(32, 8));
  await announceKey(pool, former.verifierKey);
  await append(1);
  nowMs += 60_000;
  await catchUp();
  expect(await newestCheckpoint(store)).toMatchObject({ treeSize: 2 });
  expect(await readTree(pool)).toMatchObject({ verifierKey: signer.verifierKey });
});

it('signs no log that differs from what was signed', async () => {
  const streamId = await append(3);
  await catchUp();
  await pool.query(
    `UPDATE events SET data = '{"number":9}' WHERE stream_id = $1 AND revision = 1`,
    [streamId],
  );
  await forgetTree(pool);
  await append(1);
  nowMs += 60_000;
  await expect(catchUp(newLog())).rejects.toThrow(AuditBroken);
  expect(await newestCheckpoint(store)).toMatchObject({ treeSize: 3 });
});

it('knows whether events wait for a checkpoint, also in a process that has just started', async () => {
  await append(3);
  nowMs += 60_000;
  await catchUp();
  expect(log.hasUnsigned).toBe(false);
  await append(1);
  await catchUp();
  expect(log.hasUnsigned).toBe(true);
  nowMs += 60_000;
  await catchUp();
  const another = newLog();
  await catchUp(another);
  expect([log.hasUnsigned, another.hasUnsigned]).toEqual([false, false]);
});

it('is broken until a comparison holds, also while the log has as many events as were signed', async () => {
  await append(2);
  const streamId = await append(3);
  await catchUp();
  await pool.query('DELETE FROM events WHERE stream_id = $1', [streamId]);
  await pool.query('UPDATE event_log_head SET position = (SELECT max(position) FROM events)');
  await append(1);
  nowMs += 60_000;
  const audit = newLog();
  await expect(catchUp(audit)).rejects.toThrow('The log has 3 events, and 5 of them were signed.');
  await append(2);
  await expect(catchUp(audit)).rejects.toThrow(
    'The first 5 events are not those that were signed.',
  );
  expect(audit.isBroken).toBe(true);
  await expect(catchUp(newLog())).rejects.toThrow(AuditBroken);
  expect(await newestCheckpoint(store)).toMatchObject({ treeSize: 5 });
});

it('signs again once the log is the one that was signed', async () => {
  const streamId = await append(3);
  await catchUp();
  const set = (number: number) =>
    pool.query(`UPDATE events SET data = $2::json WHERE stream_id = $1 AND revision = 1`, [
      streamId,
      JSON.stringify({ number }),
    ]);
  await set(9);
  await forgetTree(pool);
  const audit = newLog();
  await expect(catchUp(audit)).rejects.toThrow(AuditBroken);
  await append(2);
  await set(1);
  await forgetTree(pool);
  await catchUp(audit);
  expect(audit.isBroken).toBe(false);
  expect(await newestCheckpoint(store)).toMatchObject({
    treeSize: 5,
    rootHash: (await rootOfLog(5)).toString('base64'),
  });
});

it('passes pages that hold events of other systems alone, and signs what is behind them', async () => {
  // As EventStoreDB answers: so many events looked at, none of them ours.
  const foreignPages = 3;
  let looked = 0;
  const beginning = (await store.readLog({ after: '', pageMax: 1 })).position;
  const mixed: EventStore = Object.create(store, {
    readLog: {
      value: async (options: Parameters<EventStore['readLog']>[0]) => {
        const place = /^(.*)~(\d)$/.exec(options.after);
        const [after, step] =
          place === null ? [options.after, 0] : [place[1] ?? '', Number(place[2])];
        if (after === beginning && step < foreignPages) {
          looked += 1;
          return { events: [], position: `${after}~${step + 1}` };
        }
        const page = await store.readLog({ ...options, after });
        return page.events.length === 0 ? { ...page, position: options.after } : page;
      },
    },
  }) as EventStore;
  await append(3);
  const audit = new AuditLog({ store: mixed, pool, signer, now: () => new Date(nowMs) });
  await catchUp(audit);
  expect(looked).toBe(foreignPages);
  expect(await newestCheckpoint(store)).toMatchObject({ treeSize: 3 });
});

it('lets other work of the process run while it reads a page', async () => {
  await append(500);
  await catchUp();
  await forgetTree(pool);
  let turn = 0;
  const next = () => {
    turn += 1;
    turning = setImmediate(next);
  };
  let turning = setImmediate(next);
  const hashedIn: number[] = [];
  const watched: EventStore = Object.create(store, {
    readLog: {
      value: async (options: Parameters<EventStore['readLog']>[0]) => {
        const page = await store.readLog(options);
        const events = page.events.map((event) =>
          Object.defineProperty({ ...event }, 'data', {
            get: () => {
              hashedIn.push(turn);
              return event.data;
            },
          }),
        );
        return { ...page, events };
      },
    },
  }) as EventStore;
  try {
    await catchUp(new AuditLog({ store: watched, pool, signer, now: () => new Date(nowMs) }));
  } finally {
    clearImmediate(turning);
  }
  const inOneTurn = [...Map.groupBy(hashedIn, (at) => at).values()].map(({ length }) => length);
  expect(Math.max(...inOneTurn)).toBeLessThanOrEqual(100);
});

it('signs once a minute on a long way to the end of the log', async () => {
  const sizes = async () =>
    (await readCheckpoints(store, { limit: 10 })).map(({ treeSize }) => treeSize);
  await catchUp();
  for (let turn = 0; turn < 3; turn += 1) await append(500);
  expect(await log.round()).toBe(true);
  expect(await sizes()).toEqual([]);
  nowMs += 60_000;
  expect(await log.round()).toBe(true);
  expect(await sizes()).toEqual([1_000]);
  await catchUp();
  expect(await sizes()).toEqual([1_000]);
  nowMs += 60_000;
  await catchUp();
  expect(await sizes()).toEqual([1_500, 1_000]);
});
