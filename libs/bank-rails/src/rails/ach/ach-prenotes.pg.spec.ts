import { ownerOf } from '@pis/keyring';
import type pg from 'pg';
import { correctionPlace, type TransferInstruction } from '../../bank-connection.js';
import { testAchIdentity } from '../../testing/ach-identity.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';
import { atOnceSchedule } from './ach-schedule.js';

const waitMs = 3 * 24 * 3_600_000;
const identity = { ...testAchIdentity, prenotes: true };

let world: AchWorld;
let aheadMs: number;
let bank: ReturnType<AchWorld['open']>;
beforeEach(async () => {
  world = await openAchWorld();
  aheadMs = 0;
  bank = open();
});
afterEach(() => world.close());

const clock = () => Date.now() + aheadMs;
const schedule = { ...atOnceSchedule(), liveFrom: (sentAtMs: number) => sentAtMs + waitMs };
const open = () => world.open({ identity, clock, schedule });
const readiness = async (instruction: TransferInstruction, by = bank) => {
  const result = await by.prepare?.(instruction);
  return result?.outcome === 'wait' ? 'wait' : result;
};
const prenoteTraces = async () => {
  const { rows } = await world.pool.query<{ trace_number: string }>(
    "SELECT trace_number FROM ach_entries WHERE reference LIKE 'prenote-%' ORDER BY submitted_at",
  );
  return rows.map((row) => row.trace_number);
};
const prenotes = async () => (await prenoteTraces()).map((trace) => world.desk.entry(trace)?.entry);
const feed = async () => (await world.feed()).map(({ reference, type }) => ({ reference, type }));
/** The time of the prenotes is over, and the inbox was read since. */
const timePasses = async () => {
  aheadMs += waitMs + 1_000;
  await bank.rounds.inbound();
};

it('a connection without prenotes prepares nothing', () => {
  expect(world.bank.prepare).toBeUndefined();
});

it.each([
  ['OUTBOUND', 'CHECKING', 'INDIVIDUAL', 'PPD', '23', ''],
  ['OUTBOUND', 'SAVINGS', 'BUSINESS', 'CCD', '33', ''],
  ['INBOUND', 'CHECKING', 'INDIVIDUAL', 'WEB', '28', 'S'],
  ['INBOUND', 'SAVINGS', 'BUSINESS', 'CCD', '38', ''],
] as const)(
  'the prenote of a payment %s, %s, %s is %s with code %s',
  async (direction, subType, contactEntityType, sec, transactionCode, discretionaryData) => {
    const instruction = instructionEnding('4321', { direction, contactEntityType });
    const contactAccount = { ...instruction.contactAccount, subType };
    expect(await readiness({ ...instruction, contactAccount, achService: 'same_day' })).toBe(
      'wait',
    );
    await world.settle(bank);
    const [trace = ''] = await prenoteTraces();
    expect(world.desk.entry(trace)).toMatchObject({
      batch: { standardEntryClass: sec, descriptiveDate: '' },
      entry: {
        ...{ transactionCode, discretionaryData, amountMinor: 0, addenda: null },
        ...{ accountNumber: '776655444321', individualName: 'Ada Lovelace' },
      },
    });
    expect(world.desk.executions.size).toBe(0);
  },
);

it('the payment is ready when the time of its prenote is over, and the next one at once', async () => {
  const first = instructionEnding('4321');
  expect(await bank.prepare?.(first)).toEqual({
    outcome: 'wait',
    untilMs: expect.closeTo(clock() + waitMs, -5) as number,
  });
  await world.settle(bank);
  expect(await readiness(first)).toBe('wait');
  await timePasses();
  expect(await readiness(first)).toEqual({ outcome: 'ready' });
  expect(await readiness(instructionEnding('4321'))).toEqual({ outcome: 'ready' });
  expect(await prenotes()).toHaveLength(1);
  expect(await world.count('ach_prenote_waits')).toBe(0);
  // The file is built when PostgreSQL's clock says so, which did not move.
  aheadMs = 0;
  await bank.submit(first);
  await world.settle(bank);
  expect(world.desk.executions.size).toBe(1);
  expect(world.desk.uploads).toHaveLength(2);
});

it('nothing is ready before the inbox was read after that time', async () => {
  const instruction = instructionEnding('4321');
  await readiness(instruction);
  await world.settle(bank);
  aheadMs = waitMs + 1_000;
  expect(await bank.prepare?.(instruction)).toEqual({ outcome: 'wait', untilMs: null });
  await bank.rounds.inbound();
  expect(await readiness(instruction)).toEqual({ outcome: 'ready' });
});

it('another process, after a crash, finds the same prenote and sends no second one', async () => {
  const instruction = instructionEnding('4321');
  await readiness(instruction);
  expect(await readiness(instruction, open())).toBe('wait');
  await world.settle(bank);
  expect(await readiness(instruction, open())).toBe('wait');
  expect(await prenotes()).toHaveLength(1);
});

it('payments at the same instant in two processes share one prenote', async () => {
  const other = open();
  const instructions = Array.from({ length: 40 }, () => instructionEnding('4321'));
  const answers = await Promise.all(
    instructions.map((one, index) => readiness(one, index % 2 === 0 ? bank : other)),
  );
  expect(new Set(answers)).toEqual(new Set(['wait']));
  await world.settle(bank);
  expect(await prenotes()).toHaveLength(1);
  expect(await world.count('ach_prenote_waits')).toBe(instructions.length);
});

it.each([
  ['another account', { contactAccount: { ...instructionEnding('4444').contactAccount } }],
  ['the other direction', { direction: 'INBOUND' }],
  ['another organization', { organizationId: '9b9e6a4e-5a5c-4f3c-9d3e-3f1d6c5b2a19' }],
] as const)('%s needs a prenote of its own', async (_what, changes) => {
  await readiness(instructionEnding('4321'));
  await world.settle(bank);
  await timePasses();
  expect(await readiness(instructionEnding('4321', changes))).toBe('wait');
  await world.settle(bank);
  expect(await prenotes()).toHaveLength(2);
});

it.each([
  ['R02', 'bankAccount.achAccountNumber'],
  ['R03', 'bankAccount.achAccountNumber'],
  ['R16', 'bankAccount.achAccountNumber'],
  ['R13', 'bankAccount.achRoutingNumber'],
  [null, 'bankAccount.achAccountNumber'],
] as const)('a return %s fails the payments that wait, and no later one', async (reason, field) => {
  const waiting = [instructionEnding('4321'), instructionEnding('4321')];
  for (const one of waiting) await readiness(one);
  await world.settle(bank);
  await world.desk.postReturns(await prenoteTraces(), reason);
  await bank.rounds.inbound();
  // Once it is accepted, once it is returned.
  expect(await feed()).toHaveLength(4);
  expect(await feed()).toEqual(
    expect.arrayContaining(waiting.map(({ reference }) => ({ reference, type: 'prenote' }))),
  );
  for (const one of [...waiting, ...waiting]) {
    const rejection = { failureCode: 'INVALID_CONTACT_DATA', field, railCode: reason };
    expect(await readiness(one)).toMatchObject({ outcome: 'error', rejection });
  }
  expect(await readiness(instructionEnding('4321'))).toBe('wait');
  await world.settle(bank);
  expect(await prenotes()).toHaveLength(2);
});

it('a return in the moment in which the time is over fails the payment that waits', async () => {
  const instruction = instructionEnding('4321');
  await readiness(instruction);
  await world.settle(bank);
  await timePasses();
  const refuse =
    'UPDATE ach_prenotes SET state = \'refused\', rejection = \'{ "failureCode": "INVALID_CONTACT_DATA" }\'';
  const pool = new Proxy(world.pool, {
    get: (target, name) => {
      if (name !== 'query') return Reflect.get(target, name) as unknown;
      return async (query: { readonly name?: string }) => {
        if (query.name === 'ach-prenote-used') await target.query(refuse);
        return target.query(query as pg.QueryConfig);
      };
    },
  });
  const racing = world.open({ identity, clock, schedule, pool });
  await racing.rounds.inbound();
  expect(await readiness(instruction, racing)).toBe('wait');
  expect(await readiness(instruction)).toMatchObject({ outcome: 'error' });
});

it('a late return makes an account that was valid wait for a new prenote', async () => {
  await readiness(instructionEnding('4321'));
  await world.settle(bank);
  await timePasses();
  expect(await readiness(instructionEnding('4321'))).toEqual({ outcome: 'ready' });
  await world.desk.postReturns(await prenoteTraces(), 'R02');
  await bank.rounds.inbound();
  expect(await readiness(instructionEnding('4321'))).toBe('wait');
});

it.each([
  ['C01', 'INVALID_CONTACT_DATA', 'bankAccount.achAccountNumber'],
  ['C02', 'INVALID_CONTACT_DATA', 'bankAccount.achRoutingNumber'],
  ['C05', 'INVALID_CONTACT_DATA', 'bankAccount.subType'],
  ['C04', 'INVALID_CONTACT_DATA', 'lastName'],
  ['C10', 'INTERNAL_ERROR', null],
] as const)(
  'a notification of change %s fails the payments that wait',
  async (code, failureCode, field) => {
    const instruction = instructionEnding('4321');
    await readiness(instruction);
    await world.settle(bank);
    const [trace = ''] = await prenoteTraces();
    const correction = {
      ...{ accountNumber: '1918171614', routingNumber: '021000021', transactionCode: '22' },
      ...{ individualName: 'Ada King', text: 'ANOTHER NAME' },
    };
    await world.desk.postCorrection(trace, code, correction);
    await bank.rounds.inbound();
    const rejection = { failureCode, field, railCode: code };
    expect(await readiness(instruction)).toMatchObject({ outcome: 'error', rejection });
  },
);

it('a notification of change is told with the right data sealed for the payment', async () => {
  const instruction = instructionEnding('4321');
  await readiness(instruction);
  await world.settle(bank);
  const [trace = ''] = await prenoteTraces();
  await world.desk.postCorrection(trace, 'C01', { accountNumber: '1918171614' });
  await bank.rounds.inbound();
  const { reference, contactId } = instruction;
  const told = (await world.feed()).at(-1);
  expect(told).toMatchObject({ reference, type: 'prenote', correction: { changeCode: 'C01' } });
  const sealed = told?.correction?.corrected ?? '';
  const place = correctionPlace('test-ach', reference);
  expect(JSON.parse(await world.keyring.open(sealed, ownerOf.contact(contactId), place))).toEqual({
    achAccountNumber: '1918171614',
  });
});

it('a contact that was erased before the file leaves the account to other contacts', async () => {
  const erased = instructionEnding('4321');
  const other = instructionEnding('4321', { contactId: '00000000-0000-4000-8000-000000000001' });
  await readiness(erased);
  await readiness(other);
  await world.keyring.destroy([ownerOf.contact(erased.contactId)]);
  await world.settle(bank);
  expect(world.desk.uploads).toEqual([]);
  expect(await feed()).toEqual(
    expect.arrayContaining([{ reference: other.reference, type: 'prenote' }]),
  );
  expect(await readiness(other)).toBe('wait');
  await world.settle(bank);
  expect(world.desk.uploads).toHaveLength(1);
});

it('the bank rejects the entry or the file: the payments that wait fail', async () => {
  const rejected = instructionEnding('0205');
  await readiness(rejected);
  await world.settle(bank);
  expect(await readiness(rejected)).toMatchObject({
    outcome: 'error',
    rejection: { failureCode: 'INVALID_CONTACT_DATA', field: 'bankAccount.achAccountNumber' },
  });
});

it('without an acknowledgement the payment waits on, and another prenote is sent in the end', async () => {
  world.desk.answersAtOnce = false;
  const instruction = instructionEnding('4321');
  await readiness(instruction);
  await bank.rounds.outbound();
  await timePasses();
  expect(await readiness(instruction)).toBe('wait');
  expect(await world.count('ach_prenotes')).toBe(1);
  await timePasses();
  expect(await readiness(instruction)).toBe('wait');
  expect(await world.count('ach_prenotes', "state = 'open'")).toBe(1);
  expect(await world.count('ach_prenotes', "state = 'dropped'")).toBe(1);
  // The first one was accepted after all, and is as good as the second one.
  await world.desk.answer();
  await bank.rounds.inbound();
  await timePasses();
  expect(await readiness(instruction)).toEqual({ outcome: 'ready' });
});

it('an entry that an operator voided is replaced', async () => {
  const instruction = instructionEnding('4321');
  await readiness(instruction);
  await world.pool.query("UPDATE ach_entries SET status = 'voided', sealed_receiver = NULL");
  expect(await readiness(instruction)).toBe('wait');
  await world.settle(bank);
  expect(world.desk.uploads).toHaveLength(1);
});

it('a file that is applied again says nothing new', async () => {
  await readiness(instructionEnding('0102'));
  await world.settle(bank);
  const before = await feed();
  expect(before).toHaveLength(2);
  await world.pool.query("UPDATE ach_prenotes SET state = 'open', rejection = NULL");
  const { applyAchFileAgain } = await import('./ach-again.js');
  const { rows } = await world.pool.query<{ id: string }>(
    "SELECT id FROM rail_files WHERE way = 'in' AND kind = 'nacha'",
  );
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const { pool, keyring } = world;
  await applyAchFileAgain(rows[0]?.id ?? '', { pool, keyring, log });
  expect(await feed()).toEqual(before);
});

it('no account number or name is in a table, and old rows are deleted', async () => {
  await readiness(instructionEnding('4321'));
  await world.settle(bank);
  for (const table of ['ach_prenotes', 'ach_prenote_waits', 'ach_entries', 'ach_feed']) {
    const { rows } = await world.pool.query(`SELECT * FROM ${table}`);
    for (const secret of ['776655444321', '011000138', 'Lovelace'])
      expect(JSON.stringify(rows)).not.toContain(secret);
  }
  await world.pool.query("UPDATE ach_prenotes SET created_at = now() - interval '401 days'");
  await world.pool.query("UPDATE ach_prenote_waits SET until = now() - interval '96 days'");
  await bank.rounds.prune();
  expect(await world.count('ach_prenotes')).toBe(0);
  expect(await world.count('ach_prenote_waits')).toBe(0);
});
