/** The record of who downloaded which file. */
import { randomUUID } from 'node:crypto';
import { ExportDownloads } from './export-downloads.js';
import { type ExportScene, startExportScene } from './testing.js';

let scene: ExportScene;
let downloads: ExportDownloads;
beforeEach(async () => {
  scene = await startExportScene();
  downloads = new ExportDownloads(scene.pool);
});
afterEach(() => scene.close());

const organizationId = randomUUID();
const rows = async () =>
  (
    await scene.pool.query<{ downloaded_by: string; requests: number }>(
      'SELECT downloaded_by, requests FROM export_downloads ORDER BY downloaded_by, id',
    )
  ).rows;
const earlier = (time: string) =>
  scene.pool.query(
    `UPDATE export_downloads SET downloaded_at = downloaded_at - $1::interval,
      downloaded_on = (downloaded_at - $1::interval)::date`,
    [time],
  );

it('has one row for all requests of a user for a file on a day, and counts them', async () => {
  const [exportId, other] = [randomUUID(), randomUUID()];
  const note = (by: string, of = exportId) =>
    downloads.note({ organizationId, exportId: of, by: `user:${by}` });
  for (let range = 0; range < 3; range += 1) await note('ada');
  await note('ada', other);
  await earlier('2 days');
  await note('bob');
  // At once, as a browser does that downloads in parts.
  await Promise.all([note('ada'), note('ada'), note('ada')]);
  expect(await rows()).toEqual([
    { downloaded_by: 'user:ada', requests: 3 },
    { downloaded_by: 'user:ada', requests: 1 },
    { downloaded_by: 'user:ada', requests: 3 },
    { downloaded_by: 'user:bob', requests: 1 },
  ]);
  const found = await downloads.of(organizationId, [exportId, other]);
  expect(found.get(exportId)).toMatchObject({ count: 7, by: 'user:ada' });
  expect(found.get(other)).toMatchObject({ count: 1, by: 'user:ada' });
});

it('counts the rows of an earlier release, which has one for each request', async () => {
  const exportId = randomUUID();
  for (let count = 0; count < 2; count += 1)
    await scene.pool.query(
      `INSERT INTO export_downloads (organization_id, export_id, downloaded_by) VALUES ($1, $2, 'user:ada')`,
      [organizationId, exportId],
    );
  await downloads.note({ organizationId, exportId, by: 'user:bob' });
  const found = await downloads.of(organizationId, [exportId]);
  expect(found.get(exportId)).toMatchObject({ count: 3, by: 'user:bob' });
});

it('outlives a record that its client pushes out, and is removed after its time', async () => {
  const kept = await scene.asked({ organizationId });
  const gone = randomUUID();
  for (const exportId of [kept.id, gone])
    await downloads.note({ organizationId, exportId, by: 'user:ada' });
  await earlier('29 days');
  await scene.worker().round();
  expect(await rows()).toHaveLength(2);
  await earlier('2 days');
  await scene.worker().round();
  const found = await downloads.of(organizationId, [kept.id, gone]);
  expect([...found.keys()]).toEqual([kept.id]);
});
