/** What staff found in the bank's books, in the rows of ACH entries. */
import { openAchWorld, type AchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing.js';
import type { TransferInstruction } from '../../bank-connection.js';
import { referencesOfAchEntry, settleAchEntry } from './ach-by-hand.js';
import { individualIdOf } from './ach-entry.js';

const traceNumber = '021000029000123';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

const settle = (
  instruction: TransferInstruction,
  as: 'executed' | 'never-sent',
  trace: string | null = traceNumber,
) => {
  const { reference, paymentId, organizationId, originatorId, contactId, direction, amountMinor } =
    instruction;
  const entry = {
    ...{ bank: 'test-ach', reference, paymentId, organizationId, originatorId, contactId },
    ...{ direction, amountMinor, traceNumber: trace, contactIsBusiness: false },
  };
  return settleAchEntry(world.pool, entry, as);
};

it('an entry that waits in the restored table and was executed is never put into a file', async () => {
  const instruction = await world.submit('4321');
  expect(await settle(instruction, 'executed')).toBe('accepted');
  await world.settle();
  expect(world.desk.uploads).toEqual([]);
  expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'accepted' });
});

it('an entry whose row was lost is accepted when it is submitted again, and found by what the bank calls it', async () => {
  const instruction = instructionEnding('4321');
  expect(await settle(instruction, 'executed')).toBe('accepted');
  expect(await world.bank.submit(instruction)).toEqual({ outcome: 'accepted' });
  await world.settle();
  expect(world.desk.uploads).toEqual([]);
  const { reference } = instruction;
  const individualId = individualIdOf(reference);
  for (const name of [{ traceNumber }, { individualId }])
    expect(await referencesOfAchEntry(world.pool, name, null)).toEqual([reference]);
});

it('a trace number that two connections used names an entry only beside its connection', async () => {
  const [mine, other] = [instructionEnding('4321'), instructionEnding('4321')];
  await settle(mine, 'executed');
  await settle(other, 'executed');
  await world.pool.query("UPDATE ach_entries SET bank = 'other-ach' WHERE reference = $1", [
    other.reference,
  ]);
  const named = (bank: string | null) => referencesOfAchEntry(world.pool, { traceNumber }, bank);
  expect(await named(null)).toHaveLength(2);
  expect(await named('test-ach')).toEqual([mine.reference]);
  expect(await named('other-ach')).toEqual([other.reference]);
  expect(await named('typo')).toEqual([]);
});

it('a file that the bank has is not uploaded again, and its other entries wait for the answer', async () => {
  const instructions = [await world.unacknowledged(), instructionEnding('4321')];
  const [first, other] = instructions as [TransferInstruction, TransferInstruction];
  // As in a backup that was made before the upload was noted.
  await world.pool.query(
    "UPDATE ach_files SET status = 'recorded', upload_due_at = now() - make_interval(secs => 1)",
  );
  await world.bank.submit(other);
  await world.pool.query(
    "UPDATE ach_entries SET status = 'filed', file_id = (SELECT id FROM ach_files) WHERE reference = $1",
    [other.reference],
  );
  expect(await settle(first, 'executed', null)).toBe('accepted');
  await world.bank.rounds.outbound();
  expect(world.desk.uploads).toHaveLength(1);
  expect(await world.count('ach_files', "status = 'uploaded' AND overdue_at <= now()")).toBe(1);
  expect(await settle(other, 'executed', null)).toBe('accepted');
  expect(await world.count('ach_files', "status = 'acknowledged'")).toBe(1);
});

describe('an entry in a file that is recorded and not sent', () => {
  const recorded = async () => {
    const instruction = await world.submit('4321');
    const transport = { ...world.desk.transport(), put: () => Promise.reject(new Error('away')) };
    await world.open({ transport }).rounds.outbound();
    return instruction;
  };

  it('cannot be settled as never sent: the file goes up with it', async () => {
    const instruction = await recorded();
    expect(await settle(instruction, 'never-sent')).toBe('filed');
    await world.pool.query('UPDATE ach_files SET upload_due_at = now() - make_interval(secs => 1)');
    await world.settle();
    expect(world.desk.uploads).toHaveLength(1);
    expect(await world.bank.inquire(instruction.reference)).toEqual({ outcome: 'accepted' });
  });

  it('can be settled as never sent once the file was given up, and the file never goes up', async () => {
    const instruction = await recorded();
    await world.pool.query("UPDATE ach_files SET status = 'unsendable' WHERE status = 'recorded'");
    expect(await settle(instruction, 'never-sent')).toBe('rejected');
    await world.settle();
    expect(world.desk.uploads).toEqual([]);
  });
});

it.each([
  ['as it was', 'rejection = NULL'],
  ['with a rejection that was not believed', `rejection = '{"railCode":"AMOUNT"}'`],
])(
  'a file with an entry that staff settled as never sent, %s, is not recorded again',
  async (_what, change) => {
    const instruction = await world.unacknowledged();
    await world.pool.query(`UPDATE ach_entries SET ${change}`);
    expect(await settle(instruction, 'never-sent')).toBe('rejected');
    await world.pool.query(
      "UPDATE ach_files SET status = 'recorded', upload_due_at = now() - make_interval(secs => 1)",
    );
    await world.bank.rounds.outbound();
    expect(world.desk.uploads).toHaveLength(1);
    expect(await world.count('ach_files', "status = 'unsendable'")).toBe(1);
    expect(await world.feed()).toMatchObject([
      { type: 'unreadable', reference: `ACH file ${world.desk.upload().name}` },
    ]);
  },
);

it('an acceptance of the whole file is told of an entry that staff settled as never sent, too', async () => {
  const lost = await world.unacknowledged();
  expect(await settle(lost, 'never-sent')).toBe('rejected');
  await world.desk.answer();
  await world.bank.rounds.inbound();
  const { reference } = lost;
  expect(await world.feed()).toMatchObject([{ type: 'confirmed', reference }]);
  expect(await world.count('ach_entries', "status = 'rejected'")).toBe(1);
});

it.each(['held', 'pending'] as const)(
  'a listed entry that staff settled as never sent, and that the bank calls %s, is told once and stays so',
  async (status) => {
    const lost = await world.unacknowledged();
    expect(await settle(lost, 'never-sent')).toBe('rejected');
    const { rows } = await world.pool.query<{ trace: string }>(
      'SELECT trace_number AS trace FROM ach_entries',
    );
    const traceNumber = rows[0]?.trace ?? '';
    const { name, sha256 } = world.desk.upload();
    const entries = [{ traceNumber, status, code: null, message: null }];
    for (const file of ['accepted', 'update'] as const) {
      world.desk.postAck({ name, sha256, status: file, entries });
      await world.bank.rounds.inbound();
    }
    const { reference } = lost;
    expect(await world.feed()).toMatchObject([{ type: 'held', reference }]);
    expect(await world.count('ach_entries', "status = 'rejected'")).toBe(1);
  },
);

it.each(['uploaded', 'unsendable'])(
  'an answer that the bank has the %s file of an entry that staff settled as never sent is told',
  async (status) => {
    const lost = await world.unacknowledged();
    expect(await settle(lost, 'never-sent')).toBe('rejected');
    await world.pool.query('UPDATE ach_files SET status = $1', [status]);
    const { name, sha256 } = world.desk.upload();
    world.desk.postAck({ name, sha256, status: 'duplicate' });
    await world.bank.rounds.inbound();
    expect(await world.feed()).toMatchObject([
      { type: 'unreadable', reference: `ACH file ${name}` },
    ]);
  },
);

it.each([
  ['waiting', 'voided'],
  ['filed', 'rejected'],
  ['accepted', 'accepted'],
  ['returned', 'returned'],
])('an entry that is %s and was never sent is %s', async (before, after) => {
  const instruction = await world.submit('4321');
  await world.pool.query('UPDATE ach_entries SET status = $1', [before]);
  expect(await settle(instruction, 'never-sent')).toBe(after);
});

it('an entry that the bank returned stays returned', async () => {
  const instruction = await world.submit('4321');
  await world.pool.query("UPDATE ach_entries SET status = 'returned'");
  expect(await settle(instruction, 'executed')).toBe('returned');
});
