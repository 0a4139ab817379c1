/** Which bank files end by themselves. */
import { randomUUID } from 'node:crypto';
import { type FileArchive, fileArchive } from '@pis/bank-rails/connections';
import { at, organizationExample } from '@pis/domain/testing';
import { type EventStore, memoryEventStore, UnreadableEvent } from '@pis/event-store';
import { type Keyring, type Owner, ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import {
  directoryProjection,
  holdStreams,
  paymentsProjection,
  projectionReader,
  ProjectionRunner,
} from '@pis/read-models';
import { appendEvents, queuePayment } from '@pis/read-models/testing';
import { createLogger } from '@pis/service-kit';
import type pg from 'pg';
import { ArchiveUpkeep } from './archive-upkeep.js';

let database: TestDatabase;
let pool: pg.Pool;
let keyring: Keyring;
let archive: FileArchive;
let store: EventStore;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  keyring = await testKeyringOn(pool);
  archive = fileArchive({ pool, keyring });
  store = memoryEventStore();
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const logger = createLogger('test', 'silent');
const upkeep = (defaultRetentionYears: number) =>
  new ArchiveUpkeep({ pool, store, keyring, defaultRetentionYears, logger });

async function keepFile(
  name: string,
  ageDays: number,
  owner: Owner | 'file',
  paymentIds: readonly (string | null)[] = [null],
): Promise<string> {
  const { id } = await archive.keep({
    ...({ connection: 'bank', rail: 'ACH', way: 'in', kind: 'nacha', name } as const),
    segments: paymentIds.map((paymentId) => ({ bytes: Buffer.from(name), owner, paymentId })),
  });
  await pool.query(
    `UPDATE rail_files SET created_at = created_at - $2 * interval '1 day',
       blank_at = blank_at - $2 * interval '1 day' WHERE id = $1`,
    [id, ageDays],
  );
  return id;
}
const names = async () => (await archive.list({ max: 10 })).map(({ name }) => name).sort();

it('deletes files after the retention period', async () => {
  const owner = ownerOf.contact(randomUUID());
  await keepFile('after 6 years', 6 * 366, owner);
  await keepFile('after 8 years', 8 * 366, owner);
  await upkeep(7).round();
  expect(await names()).toEqual(['after 6 years']);
});

it('keeps files for more than a year even without a retention period', async () => {
  const owner = ownerOf.contact(randomUUID());
  await keepFile('after 399 days', 399, owner);
  await keepFile('after 401 days', 401, owner);
  await upkeep(0).round();
  expect(await names()).toEqual(['after 399 days']);
});

it('destroys what may speak of anybody after half a year, and nothing else', async () => {
  const old = await keepFile('old', 181, 'file');
  const young = await keepFile('young', 179, 'file');
  const known = await keepFile('known', 181, ownerOf.contact(randomUUID()));
  await upkeep(7).round();
  const erased = async (id: string) => ((await archive.read(id))?.erasedBytes ?? 0) > 0;
  expect([await erased(old), await erased(young), await erased(known)]).toEqual([
    ...[true, false, false],
  ]);
});

describe('with organizations of different periods', () => {
  const owner = ownerOf.contact(randomUUID());
  const yearDays = 366;
  const timeoutMs = 60_000;
  const streamOf = (organizationId: string) => `organization-${organizationId}`;
  const setYears = (organizationId: string, retentionYears: number | null) =>
    appendEvents(store, streamOf(organizationId), [
      { type: 'OrganizationRetentionSet', at, data: { retentionYears } },
    ]);
  /** An organization with a payment. */
  async function payer(retentionYears: number) {
    const organizationId = randomUUID();
    const data = organizationExample({ organizationId });
    await appendEvents(store, streamOf(organizationId), [
      { type: 'OrganizationCreated', at, data },
    ]);
    await setYears(organizationId, retentionYears);
    const { paymentId } = await queuePayment(store, at, { organizationId });
    return { organizationId, paymentId };
  }
  /** The lists have everything of the log. */
  async function project() {
    const end = await store.lastPosition();
    for (const projection of [directoryProjection, paymentsProjection]) {
      const runner = new ProjectionRunner({ projection, store, pool });
      runner.start();
      expect(await runner.waitFor(end, timeoutMs)).toBe(true);
      await runner.stop();
    }
  }

  it('deletes a file after the longest of the periods of the organizations in it', async () => {
    const [short, long] = [await payer(2), await payer(10)];
    await project();
    await keepFile('short', 3 * yearDays, owner, [short.paymentId]);
    await keepFile('both after 8', 8 * yearDays, owner, [short.paymentId, long.paymentId]);
    await keepFile('both after 11', 11 * yearDays, owner, [long.paymentId, short.paymentId]);
    await keepFile('of nobody', 8 * yearDays, owner);
    await upkeep(7).round();
    expect(await names()).toEqual(['both after 8', 'of nobody']);
  });

  it('deletes nothing by a list of organizations that is behind the log', async () => {
    const { organizationId, paymentId } = await payer(2);
    await project();
    await keepFile('file', 8 * yearDays, owner, [paymentId]);
    await setYears(organizationId, 10);
    expect(await upkeep(7).round()).toBeLessThan(3_600_000);
    expect(await names()).toEqual(['file']);
    await project();
    await upkeep(7).round();
    expect(await names()).toEqual(['file']);
  });

  it('deletes nothing while an organization is in quarantine', async () => {
    const { organizationId, paymentId } = await payer(2);
    await project();
    await keepFile('file', 8 * yearDays, owner, [paymentId]);
    const [first] = await store.readStream(streamOf(organizationId));
    if (first === undefined) throw new Error('the organization has no events');
    const reader = projectionReader('directory');
    const cause = new UnreadableEvent(first, 'of a newer release');
    await holdStreams(pool, reader, [{ first, cause }]);
    await upkeep(7).round();
    expect(await names()).toEqual(['file']);
    await pool.query('DELETE FROM quarantined_streams');
    await upkeep(7).round();
    expect(await names()).toEqual([]);
  });

  it('deletes a file that was held once the period is lowered, with two executors at work', async () => {
    const { organizationId, paymentId } = await payer(10);
    await project();
    await keepFile('file', 8 * yearDays, owner, [paymentId]);
    const executors = [upkeep(7), upkeep(7)];
    await Promise.all(executors.map((executor) => executor.round()));
    expect(await names()).toEqual(['file']);
    await setYears(organizationId, 2);
    await project();
    await Promise.all(executors.map((executor) => executor.round()));
    expect(await names()).toEqual([]);
  });

  it('keeps a file for 400 days also for an organization with a period of 0 years', async () => {
    const { paymentId } = await payer(0);
    await project();
    await keepFile('after 399 days', 399, owner, [paymentId]);
    await keepFile('after 401 days', 401, owner, [paymentId]);
    await upkeep(7).round();
    expect(await names()).toEqual(['after 399 days']);
  });
});
