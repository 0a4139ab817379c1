/** What could let a payment go whose account was not checked, or fail one whose account is right. */
import { until } from '@pis/local-servers/testing';
import { BankRefused, type TransferInstruction } from '../../bank-connection.js';
import { pauseConnections, resumeConnection } from '../../connections/connection-pauses.js';
import { testAchIdentity } from '../../testing/ach-identity.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';
import type { AckFile } from './ack-file.js';
import { applyAchFileAgain } from './ach-again.js';
import type { AchBankOptions } from './ach-bank.js';
import { atOnceSchedule } from './ach-schedule.js';

const waitMs = 3 * 24 * 3_600_000;
const identity = { ...testAchIdentity, prenotes: true };
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

let world: AchWorld;
let aheadMs: number;
beforeEach(async () => {
  world = await openAchWorld();
  aheadMs = 0;
});
afterEach(() => world.close());

const clock = () => Date.now() + aheadMs;
const schedule = { ...atOnceSchedule(), liveFrom: (sentAtMs: number) => sentAtMs + waitMs };
const open = (options: Partial<AchBankOptions> = {}) =>
  world.open({ identity, clock, schedule, ...options });
type Bank = ReturnType<typeof open>;

const outcome = async (bank: Bank, instruction: TransferInstruction) =>
  (await bank.prepare?.(instruction))?.outcome;
/** The first one. */
const prenoteEntry = async () => {
  const { rows } = await world.pool.query<{ trace: string; name: string; sha256: string }>(
    `SELECT e.trace_number AS trace, f.name, f.sha256
       FROM ach_entries e JOIN ach_files f ON f.id = e.file_id
      WHERE e.reference LIKE 'prenote-%' ORDER BY e.submitted_at LIMIT 1`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('no prenote is in a file');
  return row;
};
const renamed = () => instructionEnding('4321', { contactName: 'Ada King' });
const postNewName = async (individualName: string) =>
  world.desk.postCorrection((await prenoteEntry()).trace, 'C04', { individualName });
const acknowledge = async (
  status: AckFile['status'],
  answer: AckFile['entries'][number]['status'],
) => {
  const { trace, name, sha256 } = await prenoteEntry();
  const entry = { traceNumber: trace, status: answer, code: null, message: null };
  world.desk.postAck({ name, sha256, status, code: null, message: null, entries: [entry] });
};

it('a payment that was submitted needs no prenote: its entry says what became of it', async () => {
  const before = open({ identity: testAchIdentity });
  const instruction = instructionEnding('4321');
  await before.submit(instruction);
  await world.settle(before);
  const bank = open();
  expect(await outcome(bank, instruction)).toBe('ready');
  expect(await bank.submit(instruction)).toEqual({ outcome: 'accepted' });
  expect(await world.count('ach_prenotes')).toBe(0);
});

it('after a restore every account is checked again, and payments that wait are looked at', async () => {
  const bank = open();
  const instruction = instructionEnding('4321');
  await bank.prepare?.(instruction);
  await world.settle(bank);
  await world.pool.query(
    `INSERT INTO rail_pending (payment_id, reference, rail, stage, submitted_at, deadline_at, attempts, connection)
     VALUES ($1, $2, 'ACH', 'queued', now(), now() + interval '3 days', 1, 'test-ach')`,
    [instruction.paymentId, instruction.reference],
  );
  // The bank returned the prenote, and the database that knew it is lost.
  await pauseConnections(world.pool, {
    ...{ connection: 'test-ach', reason: 'restored', isRestored: true },
  });
  await resumeConnection(world.pool, 'test-ach');
  expect(await world.count('rail_pending', 'deadline_at <= now()')).toBe(1);
  aheadMs = waitMs + 1_000;
  const again = open();
  await again.rounds.inbound();
  expect(await outcome(again, instruction)).toBe('wait');
  expect(await world.count('ach_prenotes', "state = 'open'")).toBe(1);
  expect(await world.count('ach_prenotes', "state = 'dropped'")).toBe(1);
});

it('a connection is resumed while an executor changes the rows of payments that wait, without a deadlock', async () => {
  // An executor locks them by their IDs. Here they are stored, and sorted by their references, the other way around.
  const [first, second] = [
    { paymentId: '00000000-0000-4000-8000-000000000001', reference: 'R2' },
    { paymentId: '00000000-0000-4000-8000-000000000002', reference: 'R1' },
  ];
  // Without the free pages of the migrations, rows are stored in the order of the inserts.
  await world.pool.query('TRUNCATE rail_pending');
  for (const { paymentId, reference } of [second, first]) {
    await world.pool.query(
      `INSERT INTO rail_pending (payment_id, reference, rail, stage, submitted_at, deadline_at, attempts, connection)
       VALUES ($1, $2, 'ACH', 'queued', now(), now() + interval '3 days', 1, 'test-ach')`,
      [paymentId, reference],
    );
    await world.pool.query(
      "INSERT INTO ach_prenote_waits (reference, bank, prenote, until) VALUES ($1, 'test-ach', 'prenote-1', now())",
      [reference],
    );
  }
  await pauseConnections(world.pool, {
    ...{ connection: 'test-ach', reason: 'restored', isRestored: true },
  });
  const executor = await world.pool.connect();
  const change = (paymentId: string) =>
    executor.query('UPDATE rail_pending SET attempts = 2 WHERE payment_id = $1', [paymentId]);
  await executor.query('BEGIN');
  await change(first.paymentId);
  const resumed = resumeConnection(world.pool, 'test-ach');
  await until(
    async () => {
      const { rows } = await world.pool.query(
        `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      );
      return rows.length > 0;
    },
    { timeoutMs: 10_000 },
  );
  const changed = change(second.paymentId).finally(() => executor.query('COMMIT'));
  await Promise.all([changed, resumed]).finally(() => executor.release());
  expect(await world.count('rail_pending', 'deadline_at <= now() AND attempts = 2')).toBe(2);
});

it('a pause without a restore keeps the accounts that were checked', async () => {
  const bank = open();
  await bank.prepare?.(instructionEnding('4321'));
  await pauseConnections(world.pool, {
    ...{ connection: 'test-ach', reason: 'maintenance', isRestored: false },
  });
  await resumeConnection(world.pool, 'test-ach');
  expect(await world.count('ach_prenotes', "state = 'open'")).toBe(1);
});

it('a return in a file that the bank does not let us read stops the payment', async () => {
  const transport = world.desk.transport();
  let isDenied = true;
  const bank = open({
    transport: {
      ...transport,
      get: (name) =>
        isDenied && name.startsWith('returns')
          ? Promise.reject(new BankRefused('permission denied'))
          : transport.get(name),
    },
  });
  const instruction = instructionEnding('4321');
  await bank.prepare?.(instruction);
  await world.settle(bank);
  await world.desk.postReturns([(await prenoteEntry()).trace], 'R03', 'returns.ach');
  aheadMs = waitMs + 1_000;
  for (let round = 0; round < 3; round += 1) await bank.rounds.inbound();
  expect(await outcome(bank, instruction)).toBe('wait');
  isDenied = false;
  await world.pool.query(
    'UPDATE ach_inbox_files SET next_try_at = now() - make_interval(secs => 1)',
  );
  await bank.rounds.inbound();
  expect(await outcome(bank, instruction)).toBe('error');
});

it('a return in a file that is still being written stops the payment', async () => {
  const bank = open({ limits: { unreadableGraceMs: 300_000 } });
  const instruction = instructionEnding('4321');
  await bank.prepare?.(instruction);
  await world.settle(bank);
  const bytes = await world.desk.postReturns([(await prenoteEntry()).trace], 'R03', 'returns.ach');
  world.desk.inbox.set('returns.ach', bytes.subarray(0, 500));
  aheadMs = waitMs + 1_000;
  for (let round = 0; round < 2; round += 1) await bank.rounds.inbound();
  expect(await outcome(bank, instruction)).toBe('wait');
  world.desk.inbox.set('returns.ach', bytes);
  await bank.rounds.inbound();
  expect(await outcome(bank, instruction)).toBe('error');
});

it('a return in a file that has not settled stops the payment', async () => {
  const transport = world.desk.transport();
  let isUnsettled = true;
  const bank = open({
    transport: {
      ...transport,
      list: async (max) => (await transport.list(max)).map((file) => ({ ...file, isUnsettled })),
    },
  });
  const instruction = instructionEnding('4321');
  await bank.prepare?.(instruction);
  isUnsettled = false;
  await world.settle(bank);
  isUnsettled = true;
  await world.desk.postReturns([(await prenoteEntry()).trace], 'R03', 'returns.ach');
  aheadMs = waitMs + 1_000;
  await bank.rounds.inbound();
  expect(await outcome(bank, instruction)).toBe('wait');
  isUnsettled = false;
  await bank.rounds.inbound();
  expect(await outcome(bank, instruction)).toBe('error');
});

it('a file that was read and cannot be removed holds up no payment', async () => {
  const transport = world.desk.transport();
  const bank = open({
    transport: { ...transport, remove: () => Promise.reject(new BankRefused('no deletions')) },
  });
  const instruction = instructionEnding('4321');
  await bank.prepare?.(instruction);
  await world.settle(bank);
  aheadMs = waitMs + 1_000;
  for (let round = 0; round < 3; round += 1) await bank.rounds.inbound();
  expect(world.desk.inbox.size).toBeGreaterThan(0);
  expect(await outcome(bank, instruction)).toBe('ready');
});

it.each(['pending', 'held'] as const)(
  'a prenote that the bank kept %s counts from the day on which it let it go',
  async (answer) => {
    world.desk.answersAtOnce = false;
    const bank = open();
    const instruction = instructionEnding('4321');
    await bank.prepare?.(instruction);
    await bank.rounds.outbound();
    await acknowledge('accepted', answer);
    await bank.rounds.inbound();
    const later = 2 * 24 * 3_600_000;
    await world.pool.query(
      "UPDATE ach_files SET uploaded_at = uploaded_at - interval '2 days', created_at = created_at - interval '2 days'",
    );
    await acknowledge('update', 'accepted');
    await bank.rounds.inbound();
    aheadMs = waitMs - later + 60_000;
    await bank.rounds.inbound();
    expect(await outcome(bank, instruction)).toBe('wait');
    aheadMs = waitMs + 60_000;
    await bank.rounds.inbound();
    expect(await outcome(bank, instruction)).toBe('ready');
  },
);

it('a late acknowledgement of a prenote that was refused says nothing about the next one', async () => {
  world.desk.answersAtOnce = false;
  const bank = open();
  await bank.prepare?.(instructionEnding('4321'));
  await bank.rounds.outbound();
  await world.desk.answer();
  world.desk.inbox.clear();
  await postNewName('Ada King');
  await bank.rounds.inbound();
  const next = renamed();
  expect(await outcome(bank, next)).toBe('wait');
  await acknowledge('accepted', 'accepted');
  await bank.rounds.inbound();
  aheadMs = waitMs + 60_000;
  await bank.rounds.inbound();
  expect(await world.count('ach_prenotes', "state = 'open' AND received_at IS NULL")).toBe(1);
  expect(await outcome(bank, next)).toBe('wait');
});

const again = {
  'is sent again by the bank': async (bank: Bank) => {
    // Other bytes: the same ones are not applied twice.
    await postNewName('Ada B King');
    await bank.rounds.inbound();
  },
  'is applied again by an operator': async () => {
    const { rows } = await world.pool.query<{ id: string }>(
      "SELECT id FROM rail_files WHERE way = 'in' AND kind = 'nacha'",
    );
    const { pool, keyring } = world;
    await applyAchFileAgain(rows[0]?.id ?? '', { pool, keyring, log });
  },
};

it.each(Object.entries(again))(
  'a notification of change that %s fails no payment that waits for a newer prenote',
  async (_how, repeat) => {
    const bank = open();
    await bank.prepare?.(instructionEnding('4321'));
    await world.settle(bank);
    await postNewName('Ada King');
    await bank.rounds.inbound();
    const next = renamed();
    await bank.prepare?.(next);
    await world.settle(bank);
    await repeat(bank);
    expect(await outcome(bank, next)).toBe('wait');
    aheadMs = waitMs + 60_000;
    await bank.rounds.inbound();
    expect(await outcome(bank, next)).toBe('ready');
  },
);
