/** `pis payments`: what staff see beside a running system and its clients do not. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { railReferenceOf } from '@pis/bank-rails';
import { PisClient } from '@pis/client';
import { connectionOf } from '@pis/local-servers';
import { openTestPool, until } from '@pis/local-servers/testing';
import { paymentTo } from './support/payable.js';
import { pis, pisJson, type RunningProcess, startProcess } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(120_000);
const startLimitMs = 240_000;
const statusLimitMs = 60_000;
const fullKey = 'pis_test_cli_payments_spec_01';
const ruleName = 'no-business-with-lovelace';

let scratch: string;
let environment: Record<string, string>;
let running: RunningProcess;
let client: PisClient;

beforeAll(async () => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-payments-'));
  const rules = path.join(scratch, 'rules.yaml');
  writeFileSync(path.join(scratch, 'list.txt'), '42;LOVELACE, Ada\n');
  writeFileSync(
    rules,
    `lists: { people: { file: list.txt } }
rules:
  - name: ${ruleName}
    when: { nameOn: { list: people }, amountAbove: 50000 }
    then: block
`,
  );
  environment = { PIS_DATA_DIR: path.join(scratch, 'data') };
  running = await startProcess(null, {
    ...environment,
    PIS_BOOTSTRAP_API_KEY: fullKey,
    PIS_REVIEW_RULES_FILE: rules,
  });
  client = new PisClient({ baseUrl: String(running.ready['apiUrl']), apiKey: fullKey });
}, startLimitMs);
afterAll(async () => {
  await running?.stop();
  rmSync(scratch, { recursive: true, force: true });
}, startLimitMs);

async function paid(
  account: string,
  paymentAmount: number,
  status: string,
  direction: 'OUTBOUND' | 'INBOUND' = 'OUTBOUND',
): Promise<string> {
  const request = { ...(await paymentTo(client, account)), paymentAmount, direction };
  const { paymentId } = await client.payments.create(request);
  await until(async () => (await client.payments.get(paymentId)).status === status, {
    timeoutMs: statusLimitMs,
  });
  return paymentId;
}

/** For what was sent, and for the pauses. */
async function anHourPasses(): Promise<void> {
  await using database = openDatabase();
  const { pool } = database;
  await pool.query(
    "UPDATE rail_pending SET last_submission_at = last_submission_at - interval '1 hour'",
  );
  await pool.query("UPDATE rail_connections SET paused_at = paused_at - interval '1 hour'");
}

function openDatabase() {
  const url = connectionOf(path.join(scratch, 'data', 'postgres'), 'pis') ?? '';
  const pool = openTestPool(url, 1);
  return { pool, [Symbol.asyncDispose]: () => pool.end() };
}

it('shows why the review blocked a payment to staff, and to no client', async () => {
  const paymentId = await paid('000123456789', 50_001, 'BLOCKED');
  const shown = await pisJson<unknown>(
    ['payments', 'show', '--id', paymentId, '--reason', 'a question'],
    environment,
  );
  expect(shown).toMatchObject({
    paymentId,
    status: 'BLOCKED',
    review: {
      rules: [ruleName],
      reasons: ['the amount 50001 is above 50000'],
      contact: { reasons: ['the name is 1.00 like "LOVELACE, Ada" (42 of people)'] },
    },
    events: [{ type: 'PaymentQueued' }, { type: 'PaymentBlocked' }],
  });
  const seen = [
    await client.payments.get(paymentId),
    (await client.payments.page({ limit: 10 })).data,
    await (
      await fetch(`${String(running.ready['apiUrl'])}/v1/events?limit=100`, {
        headers: { authorization: `Bearer ${fullKey}` },
      })
    ).json(),
  ];
  expect(JSON.stringify(seen)).toContain(paymentId);
  for (const hidden of [ruleName, 'LOVELACE', 'is above 50000'])
    expect(JSON.stringify(seen)).not.toContain(hidden);
});

it('lists payments in doubt with everything known, and leaves out the others', async () => {
  const paymentId = await paid('000123450401', 1_234, 'FAILED_IN_FLIGHT');
  await paid('000123456789', 1_234, 'COMPLETED');
  expect(await pisJson<unknown>(['payments', 'in-doubt'], environment)).toMatchObject({
    data: [
      {
        paymentId,
        status: 'FAILED_IN_FLIGHT',
        paymentAmount: 1_234,
        currencyCode: 'USD',
        direction: 'OUTBOUND',
        reference: expect.any(String) as string,
        connection: expect.any(String) as string,
        lateRejection: null,
        inquiries: { submissions: 1, nextInquiryAt: expect.any(String) as string },
        unmatchedNotifications: [],
      },
    ],
  });
});

it('lists a payment that the bank has held for longer than a day', async () => {
  const paymentId = await paid('000123450502', 1_234, 'PROCESSING');
  await using database = openDatabase();
  const { pool } = database;
  const listed = async () => {
    const { data } = await pisJson<{ data: { paymentId: string; status: string }[] }>(
      ['payments', 'in-doubt'],
      environment,
    );
    return data.filter((payment) => payment.paymentId === paymentId).map(({ status }) => status);
  };
  await until(
    async () => {
      const { rowCount } = await pool.query(
        `UPDATE rail_pending SET submitted_at = now() - interval '23 hours'
          WHERE payment_id = $1 AND stage = 'submitted' AND overdue_at IS NULL`,
        [paymentId],
      );
      return rowCount === 1;
    },
    { timeoutMs: statusLimitMs },
  );
  expect(await listed()).toEqual([]);
  await pool.query(
    "UPDATE rail_pending SET submitted_at = now() - interval '25 hours' WHERE payment_id = $1",
    [paymentId],
  );
  expect(await listed()).toEqual(['PROCESSING']);
});

it('refuses to show a payment that does not exist, or what is no ID', async () => {
  const show = (id: string) => pis(['payments', 'show', '--id', id], environment);
  expectRefusal(await show(randomUUID()), /there is no payment/);
  expectRefusal(await show('secret'), /--id is not a UUID/);
});

describe('while connections are paused', () => {
  const rails = (...args: string[]) => pisJson<unknown>(['rails', ...args], environment);
  const because = ['--actor', 'ada', '--reason', 'compared with the books of the bank'];
  const names = async () =>
    ((await rails('connections')) as { data: { connection: string }[] }).data.map(
      ({ connection }) => connection,
    );
  const isPaused = async () => {
    const answer = await fetch(`${String(running.ready['apiUrl'])}/health/ready`);
    return (await answer.text()).includes('"status":"down"');
  };

  it('payments wait, staff settle them by the books of the bank, and the others go afterwards', async () => {
    const inFlight = await paid('000123450401', 1_234, 'FAILED_IN_FLIGHT');
    const connections = await names();
    expect(connections).not.toEqual([]);
    expectRefusal(
      await pis(['rails', 'pause', '--connection', 'typo', ...because], environment),
      new RegExp(`no connection has this name: .*${connections[0]}`),
    );
    expect(await rails('pause', '--restored', ...because)).toEqual({ paused: connections });
    await until(isPaused, { timeoutMs: statusLimitMs });

    const [executed, waiting] = [
      await paid('000123456789', 1_234, 'QUEUED'),
      await paid('000123456789', 1_234, 'QUEUED'),
    ];
    const shown = (await rails('connections')) as { data: unknown[] };
    for (const connection of shown.data)
      expect(connection).toMatchObject({ reason: 'compared with the books of the bank' });
    // Of its rail: the payment's row may name it by now.
    const connection = connections.find((name) => name.endsWith('messages')) ?? '';
    const settle = (...args: string[]) =>
      pis(['rails', 'settle', ...args, ...because], environment);
    expectRefusal(
      await settle('--payment', waiting, '--as', 'never-sent', '--connection', connection),
      /the payment is QUEUED: it is sent when its connection is resumed/,
    );
    expectRefusal(await settle('--as', 'executed'), /give --payment, --reference or --trace/);
    expectRefusal(
      await settle('--reference', 'unheard-of', '--as', 'executed'),
      /no payment of this system/,
    );
    const reference = railReferenceOf(executed);
    expect(
      await rails('settle', '--reference', reference, '--as', 'executed', ...because),
    ).toMatchObject({ paymentId: executed, reference, status: 'COMPLETED' });
    expect((await client.payments.get(executed)).status).toBe('COMPLETED');
    expectRefusal(
      await settle('--payment', inFlight, '--as', 'never-sent'),
      /the payment may still reach the bank until \d{4}-\S+Z: ask the bank after that time/,
    );
    await anHourPasses();
    for (let times = 0; times < 2; times += 1)
      expect(
        await rails('settle', '--payment', inFlight, '--as', 'never-sent', ...because),
      ).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
    expect(
      await pisJson<unknown>(['payments', 'show', '--id', inFlight], environment),
    ).toMatchObject({
      lateRejection: { reason: 'The bank does not have the payment. No funds were moved.' },
      events: expect.arrayContaining([
        expect.objectContaining({ type: 'PaymentRejectedLate', actor: 'user:cli:ada' }),
      ]) as unknown,
    });
    expectRefusal(
      await settle('--payment', inFlight, '--as', 'executed', '--connection', 'typo'),
      /the payment goes over the connection /,
    );
    expectRefusal(
      await settle('--payment', executed, '--as', 'never-sent'),
      /the payment is COMPLETED: it cannot be settled as never-sent/,
    );

    expect((await client.payments.get(waiting)).status).toBe('QUEUED');
    for (const name of connections)
      expect(await rails('resume', '--connection', name, ...because)).toEqual({
        resumed: name,
        voidedEntries: 0,
      });
    expectRefusal(
      await pis(['rails', 'resume', '--connection', connection, ...because], environment),
      /no connection of this name is paused/,
    );
    await until(async () => (await client.payments.get(waiting)).status === 'COMPLETED', {
      timeoutMs: statusLimitMs,
    });
    await until(async () => !(await isPaused()), { timeoutMs: statusLimitMs });
  });

  it('the refusal to settle a payment says what to do', async () => {
    const settle = (...args: string[]) =>
      pis(['rails', 'settle', ...args, ...because], environment);
    const held = await paid('000123450502', 1_234, 'PROCESSING', 'INBOUND');
    const reference = railReferenceOf(held);
    await using database = openDatabase();
    const { pool } = database;
    const entry = await until(
      async () => {
        const { rows } = await pool.query<{ bank: string; trace: string }>(
          `SELECT bank, trace_number AS trace FROM ach_entries
            WHERE reference = $1 AND status = 'filed' AND answer = 'held'`,
          [reference],
        );
        return rows[0];
      },
      { timeoutMs: statusLimitMs },
    );
    expectRefusal(
      await settle('--payment', held, '--reference', reference, '--as', 'executed'),
      /give either --payment or --reference/,
    );
    expectRefusal(
      await settle('--trace', '12', '--as', 'executed'),
      /--trace is not a trace number of 15 digits/,
    );
    expectRefusal(
      await settle('--payment', randomUUID(), '--as', 'executed'),
      /payment \S+ does not exist/,
    );
    expectRefusal(
      await settle('--payment', held, '--as', 'executed'),
      `the payment is under way: run "pis rails pause --connection ${entry.bank}" first`,
    );

    await rails('pause', '--connection', entry.bank, ...because);
    await anHourPasses();
    const setFile = (status: string) =>
      pool.query(
        `UPDATE ach_files SET status = $2, upload_due_at = now() - make_interval(secs => 1)
          WHERE id = (SELECT file_id FROM ach_entries WHERE reference = $1)`,
        [reference, status],
      );
    await setFile('recorded');
    expectRefusal(
      await settle('--payment', held, '--as', 'never-sent'),
      /its file is not sent yet: .*to give the file up, see PisAchFileNotSent/,
    );
    await setFile('acknowledged');
    const setEntry = (status: string) =>
      pool.query('UPDATE ach_entries SET status = $2 WHERE reference = $1', [reference, status]);
    await setEntry('accepted');
    expectRefusal(
      await settle('--payment', held, '--as', 'never-sent'),
      /the bank has answered for this payment: its row is 'accepted'/,
    );
    await setEntry('filed');
    const [other, copy] = ['other-bank', railReferenceOf(randomUUID())];
    await pool.query(
      `INSERT INTO ach_entries SELECT (jsonb_populate_record(e,
         jsonb_build_object('reference', $2::text, 'bank', $3::text, 'file_id', null))).*
         FROM ach_entries e WHERE reference = $1`,
      [reference, copy, other],
    );
    expectRefusal(
      await settle('--trace', entry.trace, '--as', 'executed'),
      /several ACH entries have this number: give --connection, or name the payment with --payment/,
    );
    await pool.query('DELETE FROM ach_entries WHERE reference = $1', [copy]);
    expect(
      await rails('settle', '--trace', entry.trace, '--as', 'executed', ...because),
    ).toMatchObject({ paymentId: held, status: 'COMPLETED' });
    await rails('resume', '--connection', entry.bank, ...because);
  });
});
