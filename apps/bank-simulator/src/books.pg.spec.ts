import { feedBeginning } from '@pis/bank-rails';
import { bankBooks, type ReportByHand, reportByHand } from '@pis/bank-rails/sandbox';
import { instructionEnding } from '@pis/bank-rails/testing';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { BankSimulator } from './bank-simulator.module.js';

let pool: pg.Pool;
let database: TestDatabase;
let bank: BankSimulator;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 4);
  bank = new BankSimulator(pool, { delayMs: 0 });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const submit = async (ending: string) => {
  const instruction = instructionEnding(ending);
  await bank.submit(instruction);
  return instruction.reference;
};
const feed = async () =>
  (await bank.notifications({ after: feedBeginning, max: 100 })).notifications;
const stateOf = async (reference: string) =>
  (await bankBooks(pool)).find((entry) => entry.reference === reference)?.state ?? null;

describe('the books of the simulated bank', () => {
  it('have one entry per execution, and none for what was rejected or voided', async () => {
    const references = {
      accepted: await submit('4321'),
      returned: await submit('0101'),
      rejected: await submit('0204'),
      held: await submit('0502'),
      voided: instructionEnding('4321').reference,
    };
    await bank.void(references.voided);
    await feed();
    const books = new Map((await bankBooks(pool)).map((entry) => [entry.reference, entry]));
    expect(books.size).toBe(3);
    const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown;
    expect(books.get(references.accepted)).toEqual({
      reference: references.accepted,
      rail: 'ACH',
      direction: 'OUTBOUND',
      amount: 12_345,
      accountLastFour: '4321',
      receivedAt: isoTime,
      executedAt: isoTime,
      state: 'executed',
    });
    expect(books.get(references.returned)).toMatchObject({
      state: 'returned',
      executedAt: isoTime,
    });
    expect(books.get(references.held)).toMatchObject({ state: 'pending', executedAt: null });
  });

  it('count a transfer again that is executed after the bank has forgotten its reference', async () => {
    const instruction = instructionEnding('4321');
    await bank.submit(instruction);
    await bank.submit(instruction);
    await pool.query(`UPDATE bank_transfers SET submitted_at = now() - interval '91 days'`);
    await bank.submit(instruction);
    expect((await bankBooks(pool)).map(({ reference }) => reference)).toEqual([
      instruction.reference,
      instruction.reference,
    ]);
  });
});

describe('a report by hand', () => {
  const report = (reference: string, wanted: ReportByHand) => reportByHand(pool, reference, wanted);

  it('changes the books and reaches the feed', async () => {
    const held = await submit('0502');
    expect(await report(held, { type: 'confirmed' })).toBe('reported');
    expect(await stateOf(held)).toBe('executed');
    expect(await report(held, { type: 'returned', returnReasonCode: 'R03' })).toBe('reported');
    expect(await stateOf(held)).toBe('returned');
    expect(await feed()).toMatchObject([
      { reference: held, type: 'confirmed' },
      { reference: held, type: 'returned', returnReasonCode: 'R03' },
    ]);
  });

  it('rejects only what was not executed', async () => {
    const held = await submit('0502');
    expect(await report(held, { type: 'rejected' })).toBe('reported');
    expect(await stateOf(held)).toBeNull();
    expect(await feed()).toMatchObject([{ reference: held, type: 'rejected' }]);
    expect(await bank.inquire(held)).toMatchObject({ outcome: 'error' });
    const executed = await submit('4321');
    expect(await report(executed, { type: 'rejected' })).toBe('contradicts');
    expect(await report(held, { type: 'confirmed' })).toBe('contradicts');
    expect(await stateOf(executed)).toBe('executed');
  });

  it('says when the bank does not have the transfer', async () => {
    expect(await report('none', { type: 'confirmed' })).toBe('unknown');
  });
});
