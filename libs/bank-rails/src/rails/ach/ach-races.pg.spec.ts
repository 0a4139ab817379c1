/**
 * What another process does to the same ACH rows at the same time. Each statement here waits for a row that the other
 * one has changed, and must decide by the row as it is then.
 */
import { setImmediate } from 'node:timers/promises';
import { until } from '@pis/local-servers/testing';
import type { TransferInstruction } from '../../bank-connection.js';
import { testAchIdentity } from '../../testing/ach-identity.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';
import { atOnceSchedule } from './ach-schedule.js';

const timeoutMs = 10_000;
const hourMs = 3_600_000;
const waitMs = 3 * 24 * hourMs;
const identity = { ...testAchIdentity, prenotes: true };
const schedule = { ...atOnceSchedule(), liveFrom: (sentAtMs: number) => sentAtMs + waitMs };

let world: AchWorld;
let aheadMs: number;
beforeEach(async () => {
  world = await openAchWorld();
  aheadMs = 0;
});
afterEach(() => world.close());

const openWithPrenotes = () =>
  world.open({ identity, schedule, clock: () => Date.now() + aheadMs });
type Bank = ReturnType<typeof openWithPrenotes>;

const waitingSessions = async () => {
  const { rows } = await world.pool.query(
    `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
  );
  return rows.length;
};

/**
 * Does `works`, each after the one before waits, while another transaction has made `change` and is not committed.
 * Commits it once all of them wait.
 */
async function during<Result>(
  change: string,
  values: readonly unknown[],
  ...works: readonly (() => Promise<Result>)[]
): Promise<readonly Result[]> {
  const client = await world.pool.connect();
  try {
    await client.query('BEGIN');
    await client.query(change, [...values]);
    const done: Promise<Result>[] = [];
    for (const work of works) {
      done.push(work());
      await until(async () => (await waitingSessions()) === done.length, { timeoutMs });
    }
    await client.query('COMMIT');
    return await Promise.all(done);
  } finally {
    client.release();
  }
}

const statusOf = async ({ reference }: TransferInstruction) =>
  (await world.bank.recordOf?.(reference))?.status;

describe('an entry', () => {
  it('that the bank accepts while it is inquired about is not asked about any more', async () => {
    const instruction = await world.unacknowledged();
    const { reference } = instruction;
    await during(
      "UPDATE ach_entries SET status = 'accepted' WHERE reference = $1",
      [reference],
      () => world.bank.inquire(reference),
    );
    expect(await world.count('ach_entries', 'inquiry_wanted_at IS NOT NULL')).toBe(0);
    expect(await statusOf(instruction)).toBe('accepted');
  });

  it('that two processes inquire about at once is in one inquiry', async () => {
    const { reference } = await world.unacknowledged();
    const open = () => world.open({ limits: { inquiryFileEveryMs: hourMs } });
    const others = [open(), open()];
    await during(
      'UPDATE ach_entries SET submissions = submissions + 1 WHERE reference = $1',
      [reference],
      ...others.map((one) => () => one.inquire(reference)),
    );
    await Promise.all(others.map((one) => one.rounds.outbound()));
    for (const one of others) await one.rounds.outbound();
    expect(world.desk.uploads.filter(({ name }) => name.includes('INQUIRY'))).toHaveLength(1);
  });

  it('that is put into a file while it is voided is not void', async () => {
    const instruction = await world.submit('4321');
    const { reference } = instruction;
    const [result] = await during(
      "UPDATE ach_entries SET status = 'filed', file_id = 1 WHERE reference = $1",
      [reference],
      () => world.bank.void(reference),
    );
    expect(result).toEqual({ outcome: 'received' });
    expect(await statusOf(instruction)).toBe('filed');
  });

  it('that is voided while a file is built is not in the file', async () => {
    const [voided, other] = [await world.submit('4321'), await world.submit('4321')];
    const client = await world.pool.connect();
    await client.query('BEGIN');
    await client.query(
      "UPDATE ach_entries SET status = 'voided', sealed_receiver = NULL WHERE reference = $1",
      [voided.reference],
    );
    await world.bank.rounds.outbound();
    await client.query('COMMIT');
    client.release();
    await world.settle();
    expect([await statusOf(voided), await statusOf(other)]).toEqual(['voided', 'accepted']);
    expect([...world.desk.executions.values()]).toEqual([1]);
  });

  it('that comes back while processes ask about it, submit it and void it stays returned', async () => {
    const instruction = await world.unacknowledged('0102');
    const { reference } = instruction;
    await world.desk.answer();
    const others = [world.open(), world.open(), world.open()];
    await Promise.all([
      ...others.map((one) => one.rounds.inbound()),
      ...others.map((one) => one.inquire(reference)),
      ...others.map((one) => one.submit(instruction)),
      ...others.map((one) => one.void(reference)),
    ]);
    await world.settle();
    expect(await statusOf(instruction)).toBe('returned');
    expect((await world.feed()).map(({ type }) => type)).toEqual(['confirmed', 'returned']);
  });

  it('is executed once or is void, whatever processes do to it at the same time', async () => {
    const banks = [world.open(), world.open(), world.open()];
    const instructions = Array.from({ length: 60 }, () => instructionEnding('4321'));
    const voided = new Set<string>();
    await Promise.all([
      ...banks.flatMap((bank, nth) =>
        (nth === 0 ? instructions : [...instructions].reverse()).map((one) => bank.submit(one)),
      ),
      ...instructions.map(async ({ reference }, nth) => {
        for (let turns = 0; turns < nth; turns += 1) await setImmediate();
        const { outcome } = await world.bank.void(reference);
        if (outcome === 'voided') voided.add(reference);
      }),
      ...banks.map((bank) => world.settle(bank)),
    ]);
    await world.settle();
    const executed: string[] = [];
    for (const instruction of instructions) {
      const isVoid = voided.has(instruction.reference);
      expect(await statusOf(instruction)).toBe(isVoid ? 'voided' : 'accepted');
      if (!isVoid) executed.push(await world.traceOf(instruction));
    }
    expect([...world.desk.executions.keys()].sort()).toEqual(executed.sort());
    expect(new Set(world.desk.executions.values())).toEqual(
      new Set(executed.length > 0 ? [1] : []),
    );
  });
});

describe('a prenote', () => {
  const outcome = async (bank: Bank, instruction: TransferInstruction) =>
    (await bank.prepare?.(instruction))?.outcome;

  const refuseSql = `UPDATE ach_prenotes SET state = 'refused',
    rejection = '{ "failureCode": "INVALID_CONTACT_DATA" }' WHERE state = 'open'`;

  /** A payment that waits for a prenote. */
  async function waiting(bank: Bank): Promise<TransferInstruction> {
    const instruction = instructionEnding('4321');
    expect(await outcome(bank, instruction)).toBe('wait');
    return instruction;
  }

  /** Nothing was said about it for so long that another one is to be sent. */
  async function waitingForLost(bank: Bank): Promise<TransferInstruction> {
    world.desk.answersAtOnce = false;
    const instruction = await waiting(bank);
    await bank.rounds.outbound();
    aheadMs = 2 * waitMs + 1_000;
    await bank.rounds.inbound();
    return instruction;
  }

  it('that is refused while a payment uses it lets no payment go', async () => {
    const banks = [openWithPrenotes(), openWithPrenotes()] as const;
    const instruction = await waiting(banks[0]);
    await world.settle(banks[0]);
    aheadMs = waitMs + 1_000;
    for (const bank of banks) await bank.rounds.inbound();
    const outcomes = await during(
      refuseSql,
      [],
      ...banks.map((bank) => () => outcome(bank, instruction)),
    );
    expect(outcomes).toEqual(['wait', 'wait']);
    for (const bank of banks) expect(await outcome(bank, instruction)).toBe('error');
  });

  it('that is refused while another payment begins to wait for it holds up that one only until it asks again', async () => {
    const bank = openWithPrenotes();
    const first = await waiting(bank);
    const second = instructionEnding('4321');
    const [readiness] = await during(refuseSql, [], () => Promise.resolve(bank.prepare?.(second)));
    expect(readiness).toEqual({ outcome: 'wait', untilMs: null });
    expect(await outcome(bank, first)).toBe('error');
    expect(await world.count('ach_prenote_waits')).toBe(1);
  });

  it('whose return is read while another one takes its place fails the payment that waits', async () => {
    const [bank, other] = [openWithPrenotes(), openWithPrenotes()];
    const instruction = await waitingForLost(bank);
    await world.desk.answer();
    world.desk.inbox.clear();
    const { rows } = await world.pool.query<{ trace: string }>(
      'SELECT trace_number AS trace FROM ach_entries',
    );
    await world.desk.postReturns([rows[0]?.trace ?? ''], 'R03');
    await during<unknown>(
      'SELECT FROM ach_prenote_waits WHERE reference = $1 FOR UPDATE',
      [instruction.reference],
      () => outcome(bank, instruction),
      () => other.rounds.inbound(),
    );
    expect(await outcome(bank, instruction)).toBe('error');
    expect(await world.count('ach_prenotes', "state = 'open'")).toBe(0);
  });

  it('that is refused in the moment in which another one is to take its place fails the payment', async () => {
    const bank = openWithPrenotes();
    const instruction = await waitingForLost(bank);
    await during(refuseSql, [], () => outcome(bank, instruction));
    expect(await outcome(bank, instruction)).toBe('error');
    expect(await world.count('ach_prenotes')).toBe(1);
  });

  it('that is accepted in the moment in which another one is to take its place stays', async () => {
    const bank = openWithPrenotes();
    const instruction = await waitingForLost(bank);
    await during('UPDATE ach_prenotes SET received_at = now()', [], () =>
      outcome(bank, instruction),
    );
    expect(await outcome(bank, instruction)).toBe('ready');
    expect(await world.count('ach_prenotes')).toBe(1);
  });

  it('that two processes replace at once is replaced by one', async () => {
    const banks = [openWithPrenotes(), openWithPrenotes()] as const;
    const instruction = await waitingForLost(banks[0]);
    const outcomes = await Promise.all(banks.map((bank) => outcome(bank, instruction)));
    expect(outcomes).toEqual(['wait', 'wait']);
    expect(await world.count('ach_prenotes', "state = 'open'")).toBe(1);
    expect(await world.count('ach_prenotes')).toBe(2);
  });
});

it('a file is not sent by a process that has stopped for long since it recorded it, but by another one', async () => {
  await world.submit('4321');
  // It stops once the file is committed, and goes on when the upload may have been given up.
  const stops = {
    info: () => void (aheadMs = hourMs),
    warn: () => undefined,
    error: () => undefined,
  };
  const stopped = world.open({ clock: () => Date.now() + aheadMs, log: stops });
  expect(await stopped.rounds.outbound()).toBeGreaterThan(0);
  expect(world.desk.uploads).toEqual([]);
  await world.settle();
  await stopped.rounds.outbound();
  expect(world.desk.uploads).toHaveLength(1);
});
