/** Exports that end before their file is complete, and the end of complete files. */
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { type DocumentStore, DocumentStoreRefused } from '@pis/documents';
import { type Keyring, ownerOf } from '@pis/keyring';
import { releasePersonalExports } from './export-erasure.js';
import { ExportFiles } from './export-files.js';
import { endedExportsMax, type ExportRecord, exportView } from './export-table.js';
import { ExportWork } from './export-work.js';
import { payer, type ExportScene, startExportScene } from './testing.js';

jest.setTimeout(240_000);

let scene: ExportScene;
beforeEach(async () => {
  scene = await startExportScene();
});
afterEach(() => scene.close());

const rows = 7_001;

it('cancels an export and removes what was written', async () => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, rows);
  const running = await scene.asked({ organizationId });
  const writer = scene.worker();
  await writer.round();
  expect(
    await scene.requests.cancel({ organizationId: randomUUID(), exportId: running.id }),
  ).toBeNull();
  const canceled = await scene.requests.cancel({ organizationId, exportId: running.id });
  expect(canceled).toMatchObject({ status: 'canceled', expiresAt: null });
  const complete = await scene.finish(scene.worker(), await scene.asked({ organizationId }));
  expect(complete.status).toBe('completed');
  await scene.requests.cancel({ organizationId, exportId: complete.id });
  await writer.round();
  await cleaned();
  expect((await scene.pool.query('SELECT FROM documents')).rowCount).toBe(0);
  await expect(scene.textOf(complete)).rejects.toThrow();
});

/** Until no file waits to be removed. */
async function cleaned(): Promise<void> {
  for (let rounds = 0; rounds < 10; rounds += 1) await scene.worker().round();
  const due = await scene.pool.query('SELECT FROM export_removals WHERE removed_at IS NULL');
  expect(due.rowCount).toBe(0);
}

it('goes on when a file cannot be removed: with its key, with other files and with exports', async () => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, 5);
  const given: ExportRecord[] = [];
  for (let count = 0; count < 3; count += 1)
    given.push(await scene.finish(scene.worker(), await scene.asked({ organizationId })));
  for (const { id: exportId } of given) await scene.requests.cancel({ organizationId, exportId });
  let nowMs = 0;
  let stuck: string | null = null;
  const denying: DocumentStore = {
    read: (...args) => scene.documents.read(...args),
    write: (...args) => scene.documents.write(...args),
    async remove(key) {
      stuck ??= key;
      if (key === stuck) throw new DocumentStoreRefused('s3:DeleteObject is denied');
      await scene.documents.remove(key);
    },
  };
  const worker = scene.worker({}, { from: denying, nowMs: () => nowMs });
  await worker.round();
  expect(scene.failures.splice(0)).toEqual([expect.any(DocumentStoreRefused)]);
  const owners = given.map(({ fileId }) => ownerOf.exportFile(fileId));
  expect(await scene.keyring.destroyedOf(owners)).toEqual(new Set(owners));
  const written = await scene.finish(worker, await scene.asked({ organizationId }));
  expect(written.status).toBe('completed');
  for (let rounds = 0; rounds < 4; rounds += 1) {
    nowMs += 31_000;
    await worker.round();
  }
  const left = await scene.pool.query<{ file_id: string }>(
    'SELECT file_id FROM export_removals WHERE removed_at IS NULL',
  );
  expect(left.rows).toEqual([{ file_id: String(stuck).split('/')[1] }]);
  stuck = '';
  for (let rounds = 0; rounds < 3; rounds += 1) {
    nowMs += 31_000;
    await worker.round();
  }
  scene.failures.splice(0);
  await cleaned();
});

it('removes a large file in steps, and writes exports between them', async () => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, rows);
  const large = await scene.finish(scene.worker(), await scene.asked({ organizationId }));
  await scene.pool.query(
    `INSERT INTO export_parts (file_id, part, lease_id)
      SELECT $1, n, gen_random_uuid() FROM generate_series(1000, 1099) AS n`,
    [large.fileId],
  );
  await scene.requests.cancel({ organizationId, exportId: large.id });
  const waiting = await scene.asked();
  let removed = 0;
  const counting: DocumentStore = {
    read: (...args) => scene.documents.read(...args),
    write: (...args) => scene.documents.write(...args),
    async remove(key) {
      removed += 1;
      await scene.documents.remove(key);
    },
  };
  const worker = scene.worker({}, { from: counting });
  await worker.round();
  expect((await scene.now(waiting)).status).toBe('completed');
  expect(removed).toBeLessThan(20);
  for (let rounds = 0; rounds < 150; rounds += 1) await worker.round();
  expect(removed).toBe(large.parts + 100);
  await cleaned();
});

it('keeps the newest files, for their time, and then the record alone', async () => {
  const organizationId = randomUUID();
  const first = await scene.finish(scene.worker(), await scene.asked({ organizationId }));
  const second = await scene.finish(scene.worker(), await scene.asked({ organizationId }));
  await scene.worker({ filesMax: 1 }).round();
  expect(exportView(await scene.now(first))).toMatchObject({
    status: 'expired',
    expiresAt: null,
    reason: 'there are newer files',
  });
  expect((await scene.now(second)).status).toBe('completed');
  await scene.pool.query(
    "UPDATE exports SET expires_at = now() - make_interval(secs => 1) WHERE status = 'completed'",
  );
  await scene.worker().round();
  expect((await scene.now(second)).status).toBe('expired');
  await cleaned();
  await scene.pool.query("UPDATE export_removals SET removed_at = now() - interval '1 hour'");
  for (let rounds = 0; rounds < 3; rounds += 1) await scene.worker().round();
  for (const table of ['documents', 'export_parts', 'export_removals'])
    expect((await scene.pool.query(`SELECT FROM ${table}`)).rowCount).toBe(0);
  expect(
    (await scene.pool.query("SELECT FROM data_keys WHERE owner LIKE 'export:%'")).rowCount,
  ).toBe(0);
  await scene.pool.query("UPDATE exports SET finished_at = now() - interval '31 days'");
  await scene.worker().round();
  expect(await scene.requests.find(first.id)).toBeNull();
});

it('keeps no more files of an organization than the newest, however fast it asks for more', async () => {
  const organizationId = randomUUID();
  const other = await scene.finish(scene.worker(), await scene.asked());
  // Time stands still: no upkeep is due between these files.
  const worker = scene.worker({ filesMax: 2 }, { nowMs: () => 0 });
  const given: ExportRecord[] = [];
  for (let count = 0; count < 5; count += 1)
    given.push(await scene.finish(worker, await scene.asked({ organizationId })));
  const statuses = await Promise.all(given.map(async (one) => (await scene.now(one)).status));
  expect(statuses).toEqual(['expired', 'expired', 'expired', 'completed', 'completed']);
  expect((await scene.now(other)).status).toBe('completed');
  await cleaned();
  expect((await scene.pool.query('SELECT FROM documents')).rowCount).toBe(3);
});

it('forgets files that were removed, however many others are removed meanwhile', async () => {
  const organizationId = randomUUID();
  let nowMs = 0;
  const worker = scene.worker({ filesMax: 1 }, { nowMs: () => nowMs });
  const finish = async (count: number) => {
    for (let done = 0; done < count; done += 1)
      await scene.finish(worker, await scene.asked({ organizationId }));
  };
  await finish(12);
  // Their parts were removed, and it is time to see whether any was written since.
  await scene.pool.query("UPDATE export_removals SET removed_at = now() - interval '1 hour'");
  nowMs += 60_000;
  await finish(20);
  const left = await scene.pool.query(
    "SELECT FROM export_removals WHERE removed_at < now() - interval '1 minute'",
  );
  expect(left.rowCount).toBe(0);
});

it('gives up files that hold an erased person, and writes running ones anew', async () => {
  const [organizationId, other] = [randomUUID(), randomUUID()];
  await scene.listed(organizationId, rows);
  await scene.listed(other, 5);
  const complete = await scene.finish(scene.worker(), await scene.asked({ organizationId }));
  const fees = await scene.finish(
    scene.worker(),
    await scene.asked({ organizationId, kind: 'fees' }),
  );
  const untouched = await scene.finish(
    scene.worker(),
    await scene.asked({ organizationId: other }),
  );
  const running = await scene.asked({ organizationId });
  const writer = scene.worker();
  await writer.round();
  const destroy = (owners: Parameters<Keyring['destroy']>[0]) => scene.keyring.destroy(owners);
  const party = { kind: 'contact', id: payer, organizationId } as const;
  expect(await releasePersonalExports(scene.pool, destroy, party)).toBe(2);
  await expect(scene.textOf(complete)).rejects.toThrow();
  expect((await scene.now(complete)).reason).toMatch(/erased/);
  expect([(await scene.now(fees)).status, (await scene.now(untouched)).status]).toEqual([
    'completed',
    'completed',
  ]);
  await scene.pool.query(
    `UPDATE payments SET item = replace(item::text, 'Byron', '')::json WHERE organization_id = $1`,
    [organizationId],
  );
  const anew = await scene.finish(writer, running);
  expect(anew).toMatchObject({ status: 'completed', rowCount: rows });
  expect(await scene.textOf(anew)).not.toContain('Byron');
});

it('takes the keys of files that wait for their removal, and of a queued export that was begun', async () => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, rows);
  const canceled = await scene.finish(scene.worker(), await scene.asked({ organizationId }));
  await scene.requests.cancel({ organizationId, exportId: canceled.id });
  // Its first part was stored, and its progress was not.
  const queued = await scene.asked({ organizationId });
  const writer = new ExportWork(scene.pool, { leaseMs: 60_000, perOrganizationMax: 2 });
  const leased = await writer.lease();
  if (leased === null) throw new Error('it was not to be had');
  const files = new ExportFiles(scene.pool, scene.documents);
  const key = { fileId: leased.fileId, part: 0, leaseId: leased.leaseId };
  await writer.beginPart(leased, 0);
  await files.write(key, pieces('Ada Byron'));
  await writer.release(leased, 0);
  expect(await scene.now(queued)).toMatchObject({ status: 'queued', fileId: leased.fileId });

  const destroy = (owners: Parameters<Keyring['destroy']>[0]) => scene.keyring.destroy(owners);
  const party = { kind: 'contact', id: payer, organizationId } as const;
  expect(await releasePersonalExports(scene.pool, destroy, party)).toBe(2);
  const owners = [canceled, leased].map(({ fileId }) => ownerOf.exportFile(fileId));
  expect(await scene.keyring.destroyedOf(owners)).toEqual(new Set(owners));
  expect((await scene.now(queued)).fileId).not.toBe(leased.fileId);
  expect(await releasePersonalExports(scene.pool, destroy, party)).toBe(0);
  expect(await scene.finish(scene.worker(), queued)).toMatchObject({ status: 'completed' });
});

async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

it('fails an export that is too large, and says so', async () => {
  const organizationId = randomUUID();
  await scene.listed(organizationId, rows);
  const failed = await scene.finish(
    scene.worker({ fileBytesMax: 1_000 }),
    await scene.asked({ organizationId }),
  );
  expect(failed.status).toBe('failed');
  expect(failed.reason).toMatch(/choose a shorter time/);
  expect(scene.failures.splice(0)).toHaveLength(1);
});

it('takes five exports of an organization at a time, also of requests at once', async () => {
  const organizationId = randomUUID();
  const given = await Promise.allSettled(
    Array.from({ length: 9 }, () => scene.asked({ organizationId })),
  );
  expect(given.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  await scene.asked();
});

it('keeps a bounded number of records, however many exports are created and canceled', async () => {
  const organizationId = randomUUID();
  await scene.pool.query(
    `INSERT INTO exports (id, organization_id, file_id, kind, format, until_at, through_position, requested_by,
        requested_at, status, finished_at)
      SELECT gen_random_uuid(), $1, gen_random_uuid(), 'payments', 'csv', now(), '', 'apiKey:1',
          now() - n * interval '1 second', 'canceled', now()
        FROM generate_series(1, $2::integer) AS n`,
    [organizationId, endedExportsMax + 5],
  );
  const { id: exportId } = await scene.asked({ organizationId });
  await scene.requests.cancel({ organizationId, exportId });
  const newest = await scene.asked({ organizationId });
  const { rows: kept } = await scene.pool.query<{ id: string; status: string }>(
    'SELECT id, status FROM exports WHERE organization_id = $1 ORDER BY requested_at DESC, id DESC',
    [organizationId],
  );
  expect(kept).toHaveLength(endedExportsMax + 1);
  expect(kept.map(({ id }) => id)).toEqual(expect.arrayContaining([newest.id, exportId]));
  // What never began has no file to remove.
  expect((await scene.pool.query('SELECT FROM export_removals')).rowCount).toBe(0);
});
