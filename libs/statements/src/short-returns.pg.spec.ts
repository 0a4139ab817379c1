/** A return of less than was sent on the statement of its month. */
import { randomUUID } from 'node:crypto';
import { postgresDocuments, statementKey } from '@pis/documents';
import { paymentExample } from '@pis/domain/testing';
import { memoryEventStore, systemContext } from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import { directoryProjection, movementsProjection, ProjectionRunner } from '@pis/read-models';
import type pg from 'pg';
import { generateStatement } from './generation.js';
import * as past from './testing/past-log.js';
import { bytesOf, readPdf } from './testing/read-pdf.js';

const owner = { organizationId: randomUUID(), originatorId: randomUUID() };
const store = memoryEventStore();

let database: TestDatabase;
let pool: pg.Pool;
let runners: readonly ProjectionRunner[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
  runners = [movementsProjection, directoryProjection].map(
    (projection) => new ProjectionRunner({ projection, store, pool }),
  );
  for (const runner of runners) runner.start();
});
afterAll(async () => {
  for (const runner of runners) await runner.stop();
  await pool?.end();
  await database?.drop();
});

it('is the amount that came back, and says what banks kept', async () => {
  await past.addParties(store, owner);
  const times = past.minutes('2026-10-05', 3);
  const paymentId = await past.pay(store, owner, 10_000, 'OUTBOUND', ...times);
  await past.append(store, `payment-${paymentId}`, {
    ...{ type: 'PaymentReturned', at: '2026-10-09T12:00:00.000Z' },
    data: { returnReasonCode: null, returnReference: 'RTR1', returnedAmountMinor: 9_975 },
  });
  const documents = postgresDocuments(pool, await testKeyringOn(pool));
  const made = await generateStatement(
    {
      ...{ store, pool, documents, by: systemContext('test') },
      now: () => new Date('2026-11-01T12:00:00.000Z'),
    },
    { originatorId: owner.originatorId, year: 2026, month: 10 },
  );
  if ('refused' in made) throw new Error(made.refused);
  const { discountFeeMinor, flatFeeMinor, returnFeeMinor } = paymentExample();
  expect(made.statement.figures).toMatchObject({
    paymentsOut: { count: 1, amountMinor: 10_000 },
    returnsIn: { count: 1, amountMinor: 9_975 },
    fees: { amountMinor: discountFeeMinor + flatFeeMinor + returnFeeMinor },
  });
  const { originatorId } = owner;
  const read = documents.read(statementKey(made.statement), ownerOf.originator(originatorId));
  const { pages } = await readPdf(await bytesOf(read), { tags: false });
  const text = pages.flat().join(' ');
  expect(text).toContain('99.75');
  expect(text).toContain('less 0.25 that banks kept');
});
