/** Payments that the bank rejects after they were FAILED_IN_FLIGHT. They keep that status, and are no longer in progress. */
import { randomUUID } from 'node:crypto';
import { type DocumentStore, postgresDocuments, statementKey } from '@pis/documents';
import { type Month, type Statement } from '@pis/domain';
import { paymentEvents } from '@pis/domain/testing';
import { type EventStore, memoryEventStore, systemContext } from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import {
  directoryProjection,
  movementsProjection,
  ProjectionRunner,
  rebuildProjection,
} from '@pis/read-models';
import type pg from 'pg';
import { contentOf, generateStatement, statementIdOf } from './generation.js';
import * as past from './testing/past-log.js';
import { bytesOf, readPdf } from './testing/read-pdf.js';

const [october, november, december] = [10, 11, 12].map((month) => ({ year: 2026, month }));
const organizationId = randomUUID();
const originatorId = randomUUID();
const owner = { organizationId, originatorId };
const none = { count: 0, amountMinor: 0 };
const one = { count: 1, amountMinor: 700 };

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let documents: DocumentStore;
let runners: readonly ProjectionRunner[];
let paymentId: string;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 12);
  store = memoryEventStore();
  documents = postgresDocuments(pool, await testKeyringOn(pool));
  runners = [movementsProjection, directoryProjection].map(
    (projection) => new ProjectionRunner({ projection, store, pool }),
  );
  for (const runner of runners) runner.start();
  await past.addParties(store, owner);
  paymentId = await past.pay(store, owner, 700, 'OUTBOUND', ...past.minutes('2026-10-05', 2));
  await happens('failedInFlight', '2026-10-08T12:00:00.000Z');
});
afterEach(async () => {
  for (const runner of runners) await runner.stop();
  await pool.end();
  await database.drop();
});

const happens = (name: 'failedInFlight' | 'rejectedLate' | 'completed', at: string) =>
  past.append(store, `payment-${paymentId}`, { ...paymentEvents[name], at });

const context = () => ({
  ...{ store, pool, documents, by: systemContext('test') },
  now: () => new Date('2027-01-05T00:00:00.000Z'),
});

async function statementOf(month: Month = { year: 0, month: 0 }): Promise<Statement> {
  const made = await generateStatement(context(), { originatorId, ...month });
  if ('refused' in made) throw new Error(made.refused);
  return made.statement;
}

async function textOf(statement: Statement): Promise<string> {
  const read = documents.read(statementKey(statement), ownerOf.originator(originatorId));
  const { pages } = await readPdf(await bytesOf(read), { tags: false });
  return pages.flat().join(' ');
}

it('are in progress until the month of the rejection, and not after it', async () => {
  await happens('rejectedLate', '2026-11-20T12:00:00.000Z');
  const before = await statementOf(october);
  expect(before.figures).toMatchObject({ withoutMovement: one, closing: { inProgressOut: one } });
  expect(await textOf(before)).toContain('Failed in flight');
  const { figures, ...statement } = await statementOf(november);
  expect(figures).toMatchObject({
    ...{ opening: { inProgressOut: one }, withoutMovement: one, paymentsOut: none },
    ...{ fees: none, closing: { inProgressOut: none, feesDueMinor: 0 } },
  });
  expect(await textOf({ ...statement, figures })).toMatch(/Nov 20 .*Rejected by the bank/);
  expect((await statementOf(december)).figures).toMatchObject({
    ...{
      opening: { inProgressOut: none },
      withoutMovement: none,
      closing: { inProgressOut: none },
    },
  });
});

it('are payments all the same when the bank confirms them after that', async () => {
  await happens('rejectedLate', '2026-10-20T12:00:00.000Z');
  await happens('completed', '2026-11-20T12:00:00.000Z');
  expect((await statementOf(october)).figures).toMatchObject({
    ...{ withoutMovement: one, closing: { inProgressOut: none, feesDueMinor: 0 } },
  });
  const { figures } = await statementOf(november);
  expect(figures).toMatchObject({
    ...{ opening: { inProgressOut: none }, paymentsOut: one, withoutMovement: none },
    closing: { inProgressOut: none, feesDueMinor: figures.fees.amountMinor },
  });
});

it('are shown by the first statement after those of an earlier release, which had them in progress', async () => {
  await happens('rejectedLate', '2026-10-20T12:00:00.000Z');
  const through = await store.lastPosition();
  for (const runner of runners) await runner.waitFor(through, 60_000);
  const statementId = statementIdOf({ originatorId, year: 2026, month: 10 });
  const subject = {
    ...{ ...owner, statementId, timeZone: 'America/New_York', after: null, through },
    ...{ periodYear: 2026, periodMonth: 10, to: '2026-11-01T04:00:00.000Z' },
  };
  const content = await contentOf(context(), subject);
  const statuses: string[] = [];
  for await (const line of content.lines) if (line.kind === 'payment') statuses.push(line.status);
  expect(statuses).toEqual(['FAILED_IN_FLIGHT']);
  const figures = { opening: content.opening, ...content.totals() };
  expect(figures.closing.inProgressOut).toEqual(one);
  const recorded = { ...subject, figures, sha256: 'a'.repeat(64), sizeBytes: 1 };
  await past.append(store, `statement-${statementId}`, {
    ...{ type: 'StatementGenerated', at: '2026-11-01T05:00:00.000Z', data: recorded },
  });
  expect((await statementOf(november)).figures).toMatchObject({
    ...{ opening: figures.closing, withoutMovement: one, closing: { inProgressOut: none } },
  });
  expect((await statementOf(december)).figures).toMatchObject({
    ...{ opening: { inProgressOut: none }, withoutMovement: none },
  });
});

it('are in the tables of an earlier release once these are rebuilt, and statements wait until then', async () => {
  await happens('rejectedLate', '2026-10-20T12:00:00.000Z');
  for (const runner of runners) await runner.waitFor(await store.lastPosition(), 60_000);
  await pool.query('DELETE FROM payment_activity WHERE is_rejected_late');
  await pool.query('UPDATE payment_activity SET is_rejected_late = NULL');
  await expect(statementOf(october)).rejects.toMatchObject({
    name: 'StatementPostponed',
    message: expect.stringMatching(/late rejections: rebuild it$/) as string,
  });
  await rebuildProjection('movements', { store, pool });
  expect((await statementOf(october)).figures.closing.inProgressOut).toEqual(none);
});

it('are on no statement that would not begin as the one before it ended', async () => {
  await happens('rejectedLate', '2026-10-20T12:00:00.000Z');
  const { figures } = await statementOf(october);
  expect(figures.closing.inProgressOut).toEqual(none);
  await pool.query('DELETE FROM payment_activity WHERE is_rejected_late');
  await expect(statementOf(november)).rejects.toMatchObject({
    name: 'StatementPostponed',
    message: expect.stringMatching(/^the opening figures differ from the closing/) as string,
  });
  await rebuildProjection('movements', { store, pool });
  expect((await statementOf(november)).figures.opening).toEqual(figures.closing);
});
