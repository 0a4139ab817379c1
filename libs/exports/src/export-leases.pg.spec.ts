/** Exports whose process dies or is slow, and several exports at a time. */
import { createHash, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { type DocumentStore, DocumentStoreRefused, DocumentStoreUnavailable } from '@pis/documents';
import { openTestPool } from '@pis/local-servers/testing';
import { inTransaction } from '@pis/postgres';
import { orUnavailable } from '@pis/read-models';
import { exportFigures } from './export-figures.js';
import { ExportWork } from './export-work.js';
import type { Piece } from './piece.js';
import { pieceSources, type PieceSources } from './pieces.js';
import { type ExportScene, startExportScene } from './testing.js';

jest.setTimeout(240_000);

let scene: ExportScene;
beforeEach(async () => {
  scene = await startExportScene();
});
afterEach(() => scene.close());

const rows = 7_001;

it('is the same file when a process dies at any point, also between a document and its part', async () => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, rows);
  const requestedAt = new Date();
  const whole = await scene.finish(
    scene.worker(),
    await scene.asked({ organizationId, format: 'csv', requestedAt }),
  );
  const interrupted = await scene.asked({ organizationId, format: 'csv', requestedAt });
  for (let rounds = 0; rounds < 3; rounds += 1) {
    // Dies after the document, before the part belongs to the file.
    const dying: DocumentStore = {
      read: (...given) => scene.documents.read(...given),
      remove: (key) => scene.documents.remove(key),
      async write(...given) {
        await scene.documents.write(...given);
        throw new KilledHere();
      },
    };
    await scene.worker({}, { from: dying }).round();
    expect(scene.failures.splice(0)).toEqual([expect.any(KilledHere)]);
    await scene.pool.query(
      'UPDATE exports SET leased_until = now() - make_interval(secs => 1), failures = 0',
    );
    // Takes it over, and dies after a part. Nobody returns its lease.
    await scene.worker().round();
    await scene.pool.query('UPDATE exports SET leased_until = now() - make_interval(secs => 1)');
  }
  const written = await scene.finish(scene.worker(), interrupted);
  expect(written).toMatchObject({ status: 'completed', sha256: whole.sha256, rowCount: rows });
  expect(await scene.textOf(written)).toBe(await scene.textOf(whole));
});

class KilledHere extends Error {}

it('does not let a process that lost its lease write a part', async () => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, rows);
  const export1 = await scene.asked({ organizationId });
  const late = scene.worker();
  await late.round();
  await scene.pool.query('UPDATE exports SET leased_until = now() - make_interval(secs => 1)');
  const other = scene.worker();
  await other.round();
  await late.round();
  const { parts } = await scene.now(export1);
  expect(parts).toBe(2);
  const written = await scene.finish(other, export1);
  expect(
    createHash('sha256')
      .update(await scene.textOf(written))
      .digest('hex'),
  ).toBe(written.sha256);
});

it('looks for exports rarely only while none is open: one may wait for another process', async () => {
  const organizationId = randomUUID();
  const idle = scene.worker({}, { idleMs: () => 3_600_000 });
  expect(await idle.round()).toBe(3_600_000);
  await scene.listed(organizationId, 10);
  const asked = await scene.asked({ organizationId });
  await scene.pool.query(
    `UPDATE exports SET leased_until = now() + interval '1 hour', lease_id = gen_random_uuid(), status = 'running'`,
  );
  expect(await idle.round()).toBe(2_000);
  await scene.pool.query('UPDATE exports SET leased_until = now() - make_interval(secs => 1)');
  await scene.finish(idle, asked);
  expect(await idle.round()).toBe(3_600_000);
  await scene.pool.query(
    'INSERT INTO export_removals (file_id) SELECT gen_random_uuid() FROM generate_series(1, 2)',
  );
  const another = scene.worker({}, { idleMs: () => 3_600_000 });
  const pauses = [await another.round(), await another.round(), await another.round()];
  expect(pauses).toEqual([2_000, 3_600_000, 3_600_000]);
});

it('lets organizations take turns, part by part', async () => {
  const [large, small] = [randomUUID(), randomUUID()];
  await scene.listed(large, 40_000);
  await scene.listed(small, 10);
  const writer = scene.worker();
  const first = await scene.asked({ organizationId: large });
  const second = await scene.asked({ organizationId: large });
  await writer.round();
  await writer.round();
  const behind = await scene.asked({ organizationId: small });
  await writer.round();
  await writer.round();
  expect((await scene.now(behind)).status).toBe('completed');
  expect([(await scene.now(first)).status, (await scene.now(second)).status]).toEqual([
    'running',
    'running',
  ]);
});

it('takes the export of another organization while some have two long ones each', async () => {
  const [one, two, other] = [randomUUID(), randomUUID(), randomUUID()];
  await scene.listed(other, 10);
  for (const organizationId of [one, two]) {
    await scene.listed(organizationId, 20_000);
    for (let n = 0; n < 2; n += 1) await scene.asked({ organizationId });
  }
  const writer = scene.worker({ heldMax: 4, sharedMax: 2 });
  for (let rounds = 0; rounds < 4; rounds += 1) await writer.round();
  const behind = await scene.asked({ organizationId: other });
  for (let rounds = 0; rounds < 4; rounds += 1) await writer.round();
  expect((await scene.now(behind)).status).toBe('completed');
});

it('keeps its lease while it reads, hashes and stores, however long that takes', async () => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, rows);
  const asked = await scene.asked({ organizationId });
  await scene.worker().round();
  await scene.pool.query('UPDATE exports SET leased_until = now() - make_interval(secs => 1)');
  const other = new ExportWork(scene.pool, { leaseMs: 60_000, perOrganizationMax: 2 });
  let [nowMs, steps] = [0, 0];
  /** Two thirds of a lease have passed: for the clock, and for PostgreSQL. */
  const passed = async () => {
    steps += 1;
    nowMs += 40_000;
    await scene.pool.query(`UPDATE exports SET leased_until = leased_until - interval '40 s'`);
    expect(await other.lease()).toBeNull();
  };
  async function* slowly<Value>(values: AsyncIterable<Value>): AsyncGenerator<Value> {
    for await (const value of values) {
      await passed();
      yield value;
    }
  }
  const slow: DocumentStore = {
    read: (...given) => slowly(scene.documents.read(...given)),
    remove: (key) => scene.documents.remove(key),
    write: (key, owner, bytes) => scene.documents.write(key, owner, slowly(bytes)),
  };
  const writer = scene.worker(
    { partBytes: Infinity, turnMs: Infinity },
    { from: slow, sources: changed((pieces) => slowly(pieces)), nowMs: () => nowMs },
  );
  const written = await scene.finish(writer, asked);
  expect(written).toMatchObject({ status: 'completed', rowCount: rows, parts: 2 });
  expect(steps).toBeGreaterThan(5);
});

it('gives the next export its turn after its time, also where it finds no record', async () => {
  const [large, small] = [randomUUID(), randomUUID()];
  await scene.listed(large, rows);
  await scene.listed(small, 10);
  const writer = scene.worker(
    { partBytes: Infinity, turnMs: 0 },
    // As with the deliveries of an originator who has none: pages without text.
    {
      sources: changed(async function* (pieces) {
        for await (const piece of pieces)
          yield piece.rows === 10 ? piece : { ...piece, text: '', rows: 0 };
      }),
    },
  );
  const first = await scene.asked({ organizationId: large });
  await writer.round();
  const behind = await scene.asked({ organizationId: small });
  await writer.round();
  expect((await scene.now(behind)).status).toBe('completed');
  expect(await scene.now(first)).toMatchObject({ status: 'running', parts: 0 });
  const empty = await scene.finish(writer, first);
  expect(empty).toMatchObject({ status: 'completed', sizeBytes: 0, parts: 1 });
});

it('hashes what an earlier process wrote in turns, too', async () => {
  const [large, small] = [randomUUID(), randomUUID()];
  await scene.listed(large, rows);
  const first = await scene.asked({ organizationId: large });
  for (let parts = 0; parts < 3; parts += 1) {
    await scene.worker().round();
    await scene.pool.query('UPDATE exports SET leased_until = now() - make_interval(secs => 1)');
  }
  const writer = scene.worker({ turnMs: 0 });
  await writer.round();
  const behind = await scene.asked({ organizationId: small });
  await writer.round();
  expect((await scene.now(behind)).status).toBe('completed');
  expect((await scene.now(first)).parts).toBe(3);
  const written = await scene.finish(writer, first);
  const text = await scene.textOf(written);
  expect(createHash('sha256').update(text).digest('hex')).toBe(written.sha256);
});

it('fails an export whose query always takes too long, and says so', async () => {
  const asked = await scene.asked();
  const sources = changed(async function* () {
    yield await orUnavailable(() =>
      inTransaction(scene.pool, async (client): Promise<never> => {
        await client.query('SET LOCAL statement_timeout = 1');
        await client.query('SELECT count(*) FROM generate_series(1, 1000000000)');
        throw new Error('it was not canceled');
      }),
    );
  });
  const writer = scene.worker({}, { sources });
  for (let tries = 0; tries < 5; tries += 1) {
    expect(await scene.now(asked)).toMatchObject({ failures: tries, finishedAt: null });
    await writer.round();
    // The pause is over.
    await scene.pool.query('UPDATE exports SET leased_until = now() - make_interval(secs => 1)');
  }
  const failed = await scene.now(asked);
  expect(failed).toMatchObject({ status: 'failed', failures: 5 });
  expect(failed.reason).toMatch(/took too long/);
  expect(scene.failures.splice(0)).toHaveLength(5);
});

it.each([
  ['is away', new DocumentStoreUnavailable('no connection')],
  ['refuses, as while its credentials are replaced', new DocumentStoreRefused('403 AccessDenied')],
])('waits while the store of documents %s, and is written once it accepts', async (_, problem) => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, 3);
  const asked = await scene.asked({ organizationId });
  const away: DocumentStore = {
    read: (...given) => scene.documents.read(...given),
    remove: (key) => scene.documents.remove(key),
    write: () => Promise.reject(problem),
  };
  const writer = scene.worker({}, { from: away });
  for (let tries = 1; tries <= 6; tries += 1) {
    await writer.round();
    expect(scene.failures.splice(0)).toEqual([problem]);
    expect(await scene.now(asked)).toMatchObject({ failures: 0, finishedAt: null });
    // The pause is over.
    await scene.pool.query('UPDATE exports SET leased_until = now() - make_interval(secs => 1)');
  }
  expect(await scene.finish(scene.worker(), asked)).toMatchObject({
    ...{ status: 'completed', rowCount: 3 },
  });
});

it('counts as waiting since the store of documents has refused, also behind its first part', async () => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, rows);
  const asked = await scene.asked({ organizationId });
  let isRefusing = false;
  const refusing: DocumentStore = {
    read: (...given) => scene.documents.read(...given),
    remove: (key) => scene.documents.remove(key),
    write: (...given) =>
      isRefusing
        ? Promise.reject(new DocumentStoreRefused('403 AccessDenied'))
        : scene.documents.write(...given),
  };
  const writer = scene.worker({}, { from: refusing });
  await writer.round();
  isRefusing = true;
  for (let tries = 0; tries < 2; tries += 1) {
    await writer.round();
    await scene.pool.query('UPDATE exports SET leased_until = now() - make_interval(secs => 1)');
  }
  expect(scene.failures.splice(0)).toHaveLength(2);
  expect((await scene.now(asked)).parts).toBe(1);
  await scene.pool.query(`UPDATE exports SET held_up_since = held_up_since - interval '20 min'`);
  // Another process takes it for a moment.
  const other = new ExportWork(scene.pool, { leaseMs: 60_000, perOrganizationMax: 2 });
  const leased = await other.lease();
  expect((await exportFigures(scene.pool)).waitingSeconds).toBeGreaterThanOrEqual(1_200);
  if (leased === null) throw new Error('it was not to be had');
  await other.release(leased, 0);
  isRefusing = false;
  await writer.round();
  expect(await exportFigures(scene.pool)).toMatchObject({ running: 1, waitingSeconds: 0 });
  await scene.finish(writer, asked);
});

it('can be taken at once after its lease was returned, however the time is rounded', async () => {
  await scene.asked({ organizationId: randomUUID(), format: 'csv', requestedAt: new Date() });
  await scene.pool.query('CREATE SCHEMA still');
  await scene.pool.query(
    `CREATE FUNCTION still.now() RETURNS timestamptz LANGUAGE sql
     AS $$ SELECT '2126-11-30T12:00:00.0007Z'::timestamptz $$`,
  );
  const url = new URL(scene.pool.options.connectionString ?? '');
  url.searchParams.set('options', '-c search_path=still,pg_catalog,public');
  const pool = openTestPool(url.href, 1);
  try {
    const work = new ExportWork(pool, { leaseMs: 60_000, perOrganizationMax: 2 });
    const leased = await work.lease();
    if (leased === null) throw new Error('it was not to be had');
    await work.release(leased, 0);
    expect(await work.lease()).toMatchObject({ id: leased.id });
  } finally {
    await pool.end();
  }
});

/** The pieces of every kind, given in another way. */
function changed(how: (pieces: AsyncGenerator<Piece>) => AsyncGenerator<Piece>): PieceSources {
  return (kind, format) => {
    const source = pieceSources(scene.pool)(kind, format);
    return source && { ...source, pieces: (asked) => how(source.pieces(asked)) };
  };
}
