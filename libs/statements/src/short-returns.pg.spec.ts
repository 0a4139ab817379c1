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

beforeAll(() => past.addParties(store, owner));

it('is the amount that came back, and says what banks kept', async () => {
  const times = past.minutes('2026-10-05', 3);
  const paymentId = await past.pay(store, owner, 10_000, 'OUTBOUND', ...times);
  await past.append(store, `payment-${paymentId}`, {
    ...{ type: 'PaymentReturned', at: '2026-10-09T12:00:00.000Z' },
    data: { returnReasonCode: null, returnReference: 'RTR1', returnedAmountMinor: 9_975 },
  });
  const { figures, text } = await statementOf(10);
  const { discountFeeMinor, flatFeeMinor, returnFeeMinor } = paymentExample();
  expect(figures).toMatchObject({
    paymentsOut: { count: 1, amountMinor: 10_000 },
    returnsIn: { count: 1, amountMinor: 9_975 },
    fees: { amountMinor: discountFeeMinor + flatFeeMinor + returnFeeMinor },
  });
  expect(text).toContain('99.75');
  expect(text).toContain('less 0.25 that banks kept');

  // More of it comes back in November: no fee is charged again.
  await past.append(store, `payment-${paymentId}`, {
    ...{ type: 'PaymentReturnedAgain', at: '2026-11-09T12:00:00.000Z' },
    data: { returnReasonCode: null, returnReference: 'RTR2', returnedAmountMinor: 20 },
  });
  const november = await statementOf(11);
  expect(november.figures).toMatchObject({
    opening: { feesDueMinor: discountFeeMinor + flatFeeMinor + returnFeeMinor },
    closing: { feesDueMinor: discountFeeMinor + flatFeeMinor + returnFeeMinor },
    paymentsOut: { count: 0, amountMinor: 0 },
    returnsIn: { count: 1, amountMinor: 20 },
    fees: { count: 0, amountMinor: 0 },
  });
  expect(november.text).toContain('Another return of the payment of Oct 5, 2026');
});

async function statementOf(month: number) {
  const { originatorId } = owner;
  const documents = postgresDocuments(pool, await testKeyringOn(pool));
  const made = await generateStatement(
    {
      ...{ store, pool, documents, by: systemContext('test') },
      now: () => new Date(`2026-${month + 1}-01T12:00:00.000Z`),
    },
    { originatorId, year: 2026, month },
  );
  if ('refused' in made) throw new Error(made.refused);
  const read = documents.read(statementKey(made.statement), ownerOf.originator(originatorId));
  const { pages } = await readPdf(await bytesOf(read), { tags: false });
  return { figures: made.statement.figures, text: pages.flat().join(' ') };
}
