/**
 * A connection with prenotes, over SFTP: each process is one of its own, and three banking days are three seconds. The
 * API, the books of the bank and the files in the archive must agree.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { railReferenceOf } from '@pis/bank-rails';
import { bankBooks } from '@pis/bank-rails/sandbox';
import type { Payment } from '@pis/client';
import { until } from '@pis/local-servers/testing';
import { pisJson } from './support/process.js';
import { type RailsSystem, startRailsSystem } from './support/rails-system.js';

const startLimitMs = 240_000;
const testLimitMs = 200_000;
const arrivalLimitMs = 150_000;
/** No limit for what is confirmed: a slow machine must not turn it into FAILED_IN_FLIGHT. */
const patientMs = 3_600_000;
const paymentAmount = 12_345;

let system: RailsSystem;
let originatorId: string;

beforeAll(async () => {
  const settings = { PIS_RAIL_CONFIRMATION_TIMEOUT_MS: String(patientMs) };
  system = await startRailsSystem(settings, ({ ach }) => {
    if (ach != null) ach.prenotes = true;
  });
  const originator = await until(
    async () =>
      (await system.api.data<{ originatorId: string }[]>(200, 'GET', '/v1/originators/'))[0],
    { timeoutMs: arrivalLimitMs, what: 'the originator in the list' },
  );
  originatorId = originator.originatorId;
}, startLimitMs);
afterAll(() => system?.stop(), startLimitMs);

it(
  'the first payment with an account waits for its prenote, the second one does not',
  async () => {
    const contactId = await contactEnding('4321');
    const first = await pay(contactId);
    await expectStatus(first, 'COMPLETED');
    const second = await pay(contactId);
    await expectStatus(second, 'COMPLETED');
    expect(await prenotesOf([first, second])).toEqual([{ amount: 0, code: '28' }]);
    expect(await booksOf([first, second])).toEqual([
      { amount: paymentAmount, state: 'executed' },
      { amount: paymentAmount, state: 'executed' },
    ]);
    // The file with the prenote belongs to the payment that waited, and so does that of the payment.
    const { rows } = await system.pool.query(
      `SELECT DISTINCT f.name FROM rail_files f JOIN rail_file_parts p ON p.file_id = f.id
        WHERE p.payment_id = $1 AND f.way = 'out' AND f.kind = 'nacha'`,
      [first],
    );
    expect(rows).toHaveLength(2);
  },
  testLimitMs,
);

it.each([
  ['0211', 'R03', []],
  ['0212', 'C01', [{ changeCode: 'C01' }]],
] as const)(
  'an account that ends in %s: the payment is FAILED, and nothing is executed',
  async (ending, code, corrections) => {
    const paymentId = await pay(await contactEnding(ending));
    const failed = await expectStatus(paymentId, 'FAILED');
    expect(failed).toMatchObject({ failureCode: 'INVALID_CONTACT_DATA' });
    expect(failed.failureMessage).toContain('bankAccount.achAccountNumber');
    expect(await shownToStaff(paymentId)).toMatchObject({
      prenote: { state: 'refused', code },
      corrections,
    });
    expect(await booksOf([paymentId])).toEqual([]);
  },
  testLimitMs,
);

it(
  'a payment whose account passed is returned as before, and a restart loses no wait',
  async () => {
    const paymentId = await pay(await contactEnding('0102'));
    await system.restartExecutor({});
    const returned = await expectStatus(paymentId, 'RETURNED');
    expect(returned).toMatchObject({ returnReasonCode: 'R02' });
    expect(await prenotesOf([paymentId])).toHaveLength(1);
  },
  testLimitMs,
);

async function contactEnding(ending: string): Promise<string> {
  const { contactId } = await system.api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
    ...{ originatorId, entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
    email: `${randomUUID()}@example.com`,
    bankAccount: {
      ...{ subType: 'CHECKING', achRoutingNumber: '110000000' },
      achAccountNumber: `${randomInt(10_000_000, 99_999_999)}${ending}`,
    },
  });
  return contactId;
}

async function pay(contactId: string): Promise<string> {
  const body = { originatorId, contactId, paymentAmount, direction: 'INBOUND' };
  const answer = await system.api.createPayment(body, randomUUID());
  expect(answer.status).toBe(201);
  return (answer.body.data as { paymentId: string }).paymentId;
}

async function expectStatus(paymentId: string, status: Payment['status']): Promise<Payment> {
  return until(
    async () => {
      const found = await system.api.data<Payment>(200, 'GET', `/v1/payments/${paymentId}`);
      return found.status === status ? found : undefined;
    },
    { timeoutMs: arrivalLimitMs, everyMs: 200, what: `a payment that is ${status}` },
  );
}

function shownToStaff(paymentId: string) {
  const args = ['payments', 'show', '--id', paymentId];
  return pisJson<{ prenote: unknown; corrections: unknown[] }>(args, system.environment);
}

/** The entries of zero dollars that were sent for these payments. */
async function prenotesOf(paymentIds: readonly string[]) {
  const { rows } = await system.pool.query<{ amount: number; code: string }>(
    `SELECT amount_minor::int AS amount, transaction_code AS code FROM ach_entries
      WHERE payment_id = ANY ($1) AND reference LIKE 'prenote-%' AND trace_number IS NOT NULL`,
    [paymentIds],
  );
  return rows;
}

async function booksOf(paymentIds: readonly string[]) {
  const { rows } = await system.pool.query<{ trace_number: string }>(
    'SELECT trace_number FROM ach_entries WHERE reference = ANY ($1)',
    [paymentIds.map(railReferenceOf)],
  );
  const traces = rows.map((row) => row.trace_number);
  return (await bankBooks(system.pool))
    .filter(({ reference }) => traces.includes(reference))
    .map(({ amount, state }) => ({ amount, state }));
}
