/**
 * The simulated bank of `npm start`: it is in the same process, and yet every payment reaches it as a NACHA file or
 * an ISO 20022 message. After a crash at any point on the way the bank has executed the payment once. Payments that
 * an older release sent over the direct connection go on over it.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { railReferenceOf } from '@pis/bank-rails';
import { reportByHand } from '@pis/bank-rails/sandbox';
import { connectionOf } from '@pis/local-servers';
import { createTestDatabase, openTestPool, until } from '@pis/local-servers/testing';
import type pg from 'pg';
import { Api } from './support/api.js';
import { heldStatement } from './support/held-statement.js';
import { pisJson, type RunningProcess, startProcess } from './support/process.js';
import { type WayName, ways } from './support/rails-ways.js';

const startLimitMs = 240_000;
const testLimitMs = 240_000;
const arrivalLimitMs = 120_000;
/** No limit for what is confirmed: a slow machine must not turn it into FAILED_IN_FLIGHT. */
const patient = { PIS_RAIL_CONFIRMATION_TIMEOUT_MS: '3600000', PIS_RATE_LIMIT_PER_KEY: '0' };
const fullKey = 'pis_test_all_in_one_bank_0001';

let dataDir: string;
let environment: Record<string, string>;
let running: RunningProcess | undefined;
let pool: pg.Pool;
let api: Api;

beforeAll(() => {
  dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-own-bank-'));
  environment = { ...patient, PIS_DATA_DIR: dataDir, PIS_BOOTSTRAP_API_KEY: fullKey };
});
afterEach(stop, startLimitMs);
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

/** `npm start`, with connections to its database. */
async function start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
  running = await startProcess(null, { ...environment, ...settings });
  const embedded = connectionOf(path.join(dataDir, 'postgres'), 'pis') ?? '';
  pool = openTestPool(settings['DATABASE_URL'] ?? embedded, 2);
  // It ends with the server that a test kills.
  pool.on('error', () => undefined);
  api = new Api(String(running.ready['apiUrl']), fullKey);
}

async function kill(): Promise<void> {
  await running?.kill();
  await stop();
}

async function stop(): Promise<void> {
  if (pool !== undefined && !pool.ending) await pool.end();
  await running?.stop();
  running = undefined;
}

async function health(): Promise<{ readonly code: number; readonly text: string }> {
  const response = await fetch(`${String(running?.ready['apiUrl'])}/health/ready`);
  return { code: response.status, text: await response.text() };
}

let lastAmount = 10_000;

interface Paid {
  readonly paymentId: string;
  readonly amount: number;
}

/** A payment whose amount no other one has. */
async function pay(name: WayName, ending = '4321'): Promise<Paid> {
  const { achRoutingNumber, swiftCode, legalAddress, direction, paymentAmount } = ways[name];
  const [originator] = await until(
    async () => {
      const all = await api.data<{ originatorId: string }[]>(200, 'GET', '/v1/originators/');
      return all.length > 0 && all;
    },
    { timeoutMs: arrivalLimitMs, what: 'the originators in the list' },
  );
  const originatorId = originator?.originatorId;
  const achAccountNumber = `000${String(Date.now()).slice(-6)}${ending}`;
  const { contactId } = await api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
    ...{ originatorId, entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
    email: `${randomUUID()}@example.com`,
    ...(legalAddress !== null && { legalAddress }),
    bankAccount: {
      ...{ subType: 'CHECKING', achRoutingNumber, achAccountNumber },
      ...(swiftCode !== null && { swiftCode }),
    },
  });
  lastAmount += 1;
  const amount = paymentAmount + lastAmount;
  const payment = { originatorId, contactId, paymentAmount: amount, direction };
  const { status, body } = await api.createPayment(payment, randomUUID());
  expect([status, body.error]).toEqual([201, undefined]);
  return { ...(body.data as { paymentId: string }), amount };
}

async function reaches({ paymentId }: Paid, status: string): Promise<void> {
  const read = () => api.data<{ status: string }>(200, 'GET', `/v1/payments/${paymentId}`);
  await until(async () => (await read()).status === status, {
    timeoutMs: arrivalLimitMs,
    what: `${paymentId} is ${status}`,
  });
}

interface Execution {
  readonly channel: string;
  readonly executed: boolean;
}

/** What the bank has in its books. */
async function executions({ amount }: Paid): Promise<readonly Execution[]> {
  const { rows } = await pool.query<Execution>(
    `SELECT t.channel, e.executed_at IS NOT NULL AS executed
       FROM bank_executions e JOIN bank_transfers t USING (reference) WHERE e.amount_minor = $1`,
    [amount],
  );
  return rows;
}

/** The files and messages about a payment, the oldest first. */
async function files({ paymentId }: Paid): Promise<readonly string[]> {
  const { data } = await pisJson<{ data: { way: string; kind: string }[] }>(
    ['rails', 'files', 'list', '--payment', paymentId],
    environment,
  );
  return data.map(({ way, kind }) => `${way} ${kind}`).toReversed();
}

it(
  'every payment goes to the bank and comes back as a NACHA file or an ISO 20022 message',
  async () => {
    await start();
    const byFiles = { channel: 'ach', files: ['out nacha', 'in ack'] };
    const byMessages = { channel: 'messages', files: ['out pacs.008', 'in pacs.002'] };
    const expected = {
      'an ACH debit': byFiles,
      'a standard ACH credit': byFiles,
      RTP: byMessages,
      FEDNOW: byMessages,
      SWIFT: byMessages,
    } as const;
    for (const name of Object.keys(expected) as (keyof typeof expected)[]) {
      const paid = await pay(name);
      await reaches(paid, 'COMPLETED');
      expect({ name, executions: await executions(paid), files: await files(paid) }).toEqual({
        name,
        executions: [{ channel: expected[name].channel, executed: true }],
        files: expected[name].files,
      });
    }
  },
  testLimitMs,
);

it.each(['an ACH debit', 'RTP'] as const)(
  'over %s the bank reports what was simulated by hand as a file or a message, too',
  async (name) => {
    await start();
    const held = await pay(name, '0502');
    await reaches(held, 'PROCESSING');
    await until(async () => (await executions(held)).length === 1, { timeoutMs: arrivalLimitMs });
    const simulate = `/v1/sandbox/payments/${held.paymentId}/simulate`;
    await api.data(200, 'POST', simulate, { outcome: 'complete' });
    await api.data(200, 'POST', simulate, { outcome: 'return', returnReasonCode: 'R03' });
    const report = name === 'RTP' ? 'in pacs.004' : 'in nacha';
    await until(async () => (await files(held)).includes(report), {
      timeoutMs: arrivalLimitMs,
      everyMs: 1_000,
      what: report,
    });
    await reaches(held, 'RETURNED');
    expect(await executions(held)).toHaveLength(1);
  },
  testLimitMs,
);

/** A statement on the way, before which the machine dies, and what the bank has executed until then. */
const crashes = [
  [
    'between the building of an ACH file and its arrival at the bank',
    { way: 'an ACH debit', table: 'bank_files_received', on: 'INSERT', executed: 0 },
  ],
  [
    'after the bank has executed an ACH file, before the upload is noted',
    { way: 'an ACH debit', table: 'ach_files', on: 'UPDATE', executed: 1 },
  ],
  [
    'before the acknowledgement of an ACH file is recorded',
    { way: 'an ACH debit', table: 'ach_feed', on: 'INSERT', executed: 1 },
  ],
  [
    'between the recording of a message and its arrival at the bank',
    { way: 'RTP', table: 'bank_transfers', on: 'INSERT', executed: 0 },
  ],
  [
    'after the bank has executed a message, before its answer is recorded',
    { way: 'RTP', table: 'iso_transfers', on: 'UPDATE', executed: 1 },
  ],
] as const;

it.each(crashes)(
  'a kill -9 %s leaves one transfer after the restart',
  async (_when, { way, table, on, executed }) => {
    await start();
    const held = await heldStatement(pool, { table, on });
    const paid = await pay(way);
    await held.isReached(arrivalLimitMs);
    expect(await executions(paid)).toHaveLength(executed);
    await Promise.all([kill(), held.ended()]);

    await start();
    await reaches(paid, 'COMPLETED');
    expect(await executions(paid)).toEqual([expect.objectContaining({ executed: true })]);
    await held.remove(pool);
  },
  testLimitMs,
);

it(
  'payments that an older release has sent, or was about to send, end as one transfer each',
  async () => {
    const database = await createTestDatabase();
    const bankDir = mkdtempSync(path.join(os.tmpdir(), 'pis-former-bank-'));
    const stores = {
      DATABASE_URL: database.url,
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    };
    await pisJson(['migrate'], stores);
    const bank = await startProcess('bank-simulator', { ...stores, PIS_DATA_DIR: bankDir });
    try {
      // The older release: one connection for all rails, called without files and messages.
      await start({ ...stores, PIS_BANK_URL: String(bank.ready['url']) });
      const completed = await pay('RTP');
      await reaches(completed, 'COMPLETED');
      const held = await pay('an ACH debit', '0502');
      await until(async () => (await executions(held)).length === 1, { timeoutMs: arrivalLimitMs });
      const onItsWay = await heldStatement(pool, { table: 'bank_transfers', on: 'INSERT' });
      const sent = await pay('RTP');
      await onItsWay.isReached(arrivalLimitMs);
      await bank.kill();
      const withoutBank = await until(
        async () => {
          const answer = await health();
          return answer.text.includes('"bank":{"status":"down"') && answer;
        },
        { timeoutMs: arrivalLimitMs },
      );
      // The API is not taken out of service: this payment waits for the bank.
      expect(withoutBank.code).toBe(200);
      const waiting = await pay('RTP');
      expect(await executions(waiting)).toEqual([]);
      await Promise.all([kill(), onItsWay.ended()]);

      await start(stores);
      await onItsWay.remove(pool);
      await reportByHand(pool, railReferenceOf(held.paymentId), { type: 'confirmed' });
      const returned = { type: 'returned', returnReasonCode: 'R03' } as const;
      await reportByHand(pool, railReferenceOf(completed.paymentId), returned);
      await reaches(held, 'COMPLETED');
      await reaches(completed, 'RETURNED');
      await reaches(sent, 'COMPLETED');
      await reaches(waiting, 'COMPLETED');
      for (const paid of [completed, held, sent])
        expect(await executions(paid)).toEqual([{ channel: 'json', executed: true }]);
      expect(await executions(waiting)).toEqual([{ channel: 'messages', executed: true }]);
    } finally {
      await stop();
      await bank.stop();
      await database.drop();
      rmSync(bankDir, { recursive: true, force: true });
    }
  },
  testLimitMs,
);
