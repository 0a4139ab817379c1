/** Exports in the dashboard: who asks, who downloads, and what is recorded. */
import { randomUUID } from 'node:crypto';
import { postgresDocuments } from '@pis/documents';
import { ExportFiles, ExportWorker, pieceSources } from '@pis/exports';
import type { ExportItem } from './operations/export-files.js';
import { type Board, type BoardReply, startBoard } from './testing/board.js';

let board: Board;
beforeAll(async () => {
  board = await startBoard();
});
afterAll(() => board?.close());

const dataOf = <Data>({ body, text, status }: BoardReply): Data => {
  if (status !== 200) throw new Error(text);
  return body.data as Data;
};

async function tenant() {
  const organizationId = await board.newOrganization();
  const [operator, viewer] = [
    await board.newUser('operator', organizationId),
    await board.newUser('viewer', organizationId),
  ];
  const cookies = {
    operator: await board.signedIn(operator),
    viewer: await board.signedIn(viewer),
  };
  const list = async (cookie = cookies.viewer) =>
    dataOf<ExportItem[]>(await board.call('/exports', { cookie }));
  const ask = (body: object, cookie = cookies.operator) =>
    board.call('/exports', { method: 'POST', cookie, body });
  return { organizationId, operator, viewer, cookies, list, ask };
}

/** Writes what was asked for, as the process of the worker does. */
async function written(): Promise<void> {
  const { pool, keyring } = board;
  const worker = new ExportWorker({
    ...{ pool, sources: pieceSources(pool), progressOf: () => null },
    isHeld: () => Promise.resolve(false),
    files: new ExportFiles(pool, postgresDocuments(pool, keyring)),
    destroyKeys: (owners) => keyring.destroy(owners),
    onFailure: (error) => {
      throw error;
    },
    onRemovalFailure: (error) => {
      throw error;
    },
  });
  const open = "SELECT FROM exports WHERE status IN ('queued', 'running')";
  while (((await pool.query(open)).rowCount ?? 0) > 0) await worker.round();
}

const fileOf = (exportId: string, cookie: string, headers: Record<string, string> = {}) =>
  board.call(`/exports/${exportId}/file`, { cookie, headers });

async function downloadsOf(exportId: string) {
  const { rows } = await board.pool.query<{ organization_id: string; downloaded_by: string }>(
    'SELECT organization_id, downloaded_by FROM export_downloads WHERE export_id = $1 ORDER BY id',
    [exportId],
  );
  return rows;
}

/** The actors of the recorded downloads after a position. */
async function recordedSince(after: string) {
  const { events } = await board.store.readLog({ after, streamPrefixes: ['userAction-'] });
  const started = events.filter(({ data }) => data['action'] === 'downloadExport');
  return started.map(({ metadata, data }) => [metadata.actor, data['subject']]);
}

it('an operator asks for a file, everybody of the organization downloads it, and each download is recorded', async () => {
  const mine = await tenant();
  const asked = { kind: 'movements', format: 'csv', from: '2026-01-01', to: '2026-01-31' };
  const { exportId, status } = dataOf<ExportItem>(await mine.ask(asked));
  expect(status).toBe('queued');
  expect((await fileOf(exportId, mine.cookies.viewer)).status).toBe(409);
  await written();
  expect(await mine.list()).toMatchObject([
    {
      ...{ exportId, status: 'completed', kind: 'movements', format: 'csv', rows: 0 },
      ...{ from: '2026-01-01T00:00:00.000Z', lastDownload: null },
    },
  ]);
  expect(await downloadsOf(exportId)).toEqual([]);

  const before = await board.store.lastPosition();
  const file = await fileOf(exportId, mine.cookies.viewer);
  expect([file.status, file.headers['content-disposition']]).toEqual([
    ...[200, 'attachment; filename="movements.csv"'],
  ]);
  expect(file.text).toMatch(/^movementId,originatorId,/);
  const part = await fileOf(exportId, mine.cookies.operator, { range: 'bytes=0-9' });
  expect([part.status, part.text]).toEqual([206, 'movementId']);
  const by = ({ userId }: { userId: string }) => ({
    organization_id: mine.organizationId,
    downloaded_by: `user:${userId}`,
  });
  expect(await downloadsOf(exportId)).toEqual([by(mine.viewer), by(mine.operator)]);
  expect(await mine.list()).toMatchObject([
    { lastDownload: { count: 2, email: mine.operator.email, at: expect.any(String) } },
  ]);
  // What the browser has already is no download, nor is what is refused.
  const etag = String(file.headers['etag']);
  const same = await fileOf(exportId, mine.cookies.viewer, { 'if-none-match': etag });
  expect([same.status, same.text]).toEqual([304, '']);
  const beyond = await fileOf(exportId, mine.cookies.viewer, { range: 'bytes=100000-' });
  expect(beyond.status).toBe(416);
  expect(await downloadsOf(exportId)).toHaveLength(2);
  expect(await recordedSince(before)).toEqual([
    [`user:${mine.viewer.userId}`, { exportId }],
    [`user:${mine.operator.userId}`, { exportId }],
  ]);
});

it('a file that cannot be recorded as downloaded is not given', async () => {
  const mine = await tenant();
  const { exportId } = dataOf<ExportItem>(await mine.ask({ kind: 'fees', format: 'csv' }));
  await written();
  await board.pool.query('ALTER TABLE export_downloads RENAME TO export_downloads_away');
  try {
    const refused = await fileOf(exportId, mine.cookies.viewer);
    expect(refused.status).toBeGreaterThanOrEqual(500);
    expect(refused.text).not.toContain('paymentId,');
  } finally {
    await board.pool.query('ALTER TABLE export_downloads_away RENAME TO export_downloads');
  }
  expect((await fileOf(exportId, mine.cookies.viewer)).status).toBe(200);
});

it('a canceled export and one whose time is over have no file', async () => {
  const mine = await tenant();
  const { exportId } = dataOf<ExportItem>(await mine.ask({ kind: 'payments', format: 'jsonl' }));
  const cancel = (cookie: string) =>
    board.call(`/exports/${exportId}/cancel`, { method: 'POST', cookie });
  expect((await cancel(mine.cookies.viewer)).status).toBe(403);
  expect(dataOf(await cancel(mine.cookies.operator))).toMatchObject({ status: 'canceled' });
  expect((await fileOf(exportId, mine.cookies.viewer)).status).toBe(409);

  const old = dataOf<ExportItem>(await mine.ask({ kind: 'payments', format: 'jsonl' }));
  await board.pool.query(
    "UPDATE exports SET status = 'expired', reason = 'old', finished_at = now() WHERE id = $1",
    [old.exportId],
  );
  expect((await fileOf(old.exportId, mine.cookies.viewer)).status).toBe(409);
  const statuses = (await mine.list()).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual(['canceled', 'expired']);
});

it('of another organization nothing can be asked for, seen, canceled or downloaded', async () => {
  const [mine, other] = [await tenant(), await tenant()];
  const originatorId = await board.newOriginator(mine.organizationId);
  const { exportId } = dataOf<ExportItem>(
    await mine.ask({ kind: 'fees', format: 'csv', originatorId }),
  );
  expect((await other.ask({ kind: 'fees', format: 'csv', originatorId })).status).toBe(404);
  expect(await other.list()).toEqual([]);
  for (const id of [exportId, randomUUID()]) {
    expect((await fileOf(id, other.cookies.operator)).status).toBe(404);
    const cookie = other.cookies.operator;
    const cancel = { method: 'POST', cookie } as const;
    expect((await board.call(`/exports/${id}/cancel`, cancel)).status).toBe(404);
  }
  expect(await mine.list()).toMatchObject([{ exportId, status: 'queued' }]);
});

it('what cannot be exported is refused with its field, and so is a sixth export at a time', async () => {
  const mine = await tenant();
  const wrong = await mine.ask({ kind: 'payments', format: 'bai2', from: '2026-13-01' });
  expect(wrong.status).toBe(400);
  expect(wrong.body.error?.details?.map(({ field }) => field).toSorted()).toEqual([
    'format',
    'from',
  ]);
  for (let count = 0; count < 5; count += 1)
    expect((await mine.ask({ kind: 'payments', format: 'csv' })).status).toBe(200);
  expect((await mine.ask({ kind: 'payments', format: 'csv' })).status).toBe(409);
});
