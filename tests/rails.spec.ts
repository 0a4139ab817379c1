/**
 * A payment of every rail and outcome, over the real formats and connections: NACHA files over SFTP, and
 * ISO 20022 messages over HTTPS with client certificates. Each process is one of its own. For each payment, the
 * API, its transitions and the books of the bank must agree.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { daysAfter, railReferenceOf } from '@pis/bank-rails';
import { bankBooks } from '@pis/bank-rails/sandbox';
import { bankToday } from '@pis/bank-statements/sandbox';
import type { Payment, PaymentEvent } from '@pis/client';
import { until } from '@pis/local-servers/testing';
import { pis, pisJson, root } from './support/process.js';
import { type RailsSystem, startRailsSystem } from './support/rails-system.js';
import {
  type ExpectedOutcome,
  outcomes,
  scenarios,
  type Transition,
} from './support/rails-outcomes.js';
import { type WayName, ways } from './support/rails-ways.js';

const startLimitMs = 240_000;
const testLimitMs = 400_000;
const arrivalLimitMs = 300_000;
/** No limit for what is confirmed: a slow machine must not turn it into FAILED_IN_FLIGHT. */
const patientMs = 3_600_000;
/** For what is not confirmed in this time on any machine. */
const impatientMs = 1_000;

interface Created {
  readonly way: WayName;
  readonly outcome: ExpectedOutcome;
  readonly paymentId: string;
}

const wayNames = Object.keys(ways) as WayName[];
let scratch: string;
let system: RailsSystem;
let originatorId: string;
const created: Created[] = [];

beforeAll(async () => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-scenarios-'));
  const scenariosFile = path.join(scratch, 'scenarios.yaml');
  const defaults = path.join(root, 'apps/bank-simulator/scenarios.yaml');
  writeFileSync(scenariosFile, readFileSync(defaults, 'utf8') + scenarios);
  system = await startRailsSystem({
    PIS_BANK_SCENARIOS_FILE: scenariosFile,
    PIS_RAIL_CONFIRMATION_TIMEOUT_MS: String(patientMs),
  });
  originatorId = await originator();
}, startLimitMs);
afterAll(async () => {
  await system?.stop();
  rmSync(scratch, { recursive: true, force: true });
}, startLimitMs);

it.each(wayNames)('%s is the rail that is chosen', async (name) => {
  const { paymentRail, achService } = ways[name];
  const payment = await paymentOver(name, '1234');
  const evaluation = await system.api.data(200, 'POST', '/v1/rails/evaluate', payment);
  expect(evaluation).toMatchObject({ paymentRail, achService });
});

it(
  'payments of every rail come to every outcome that the bank tells in time',
  async () => {
    await payAll(outcomes.filter(({ isLate }) => !isLate));
    await expectOutcomes(created);
    await expectNoDeadline(created.filter(({ outcome }) => outcome.ending === '0502'));
  },
  testLimitMs,
);

it(
  'what the bank does not confirm in time is FAILED_IN_FLIGHT on every rail, and may settle late',
  async () => {
    const before = [...created];
    await system.restartExecutor({ PIS_RAIL_CONFIRMATION_TIMEOUT_MS: String(impatientMs) });
    await payAll(outcomes.filter(({ isLate }) => isLate));
    await expectOutcomes(created.slice(before.length));
    // Nothing has changed since.
    await expectOutcomes(before);
  },
  testLimitMs,
);

it(
  'the bank has executed each payment that it took once, and no other',
  async () => {
    const books = await bankBooks(system.pool);
    const { rows: entries } = await system.pool.query<{ reference: string; trace_number: string }>(
      'SELECT reference, trace_number FROM ach_entries WHERE trace_number IS NOT NULL',
    );
    const traces = new Map(entries.map((entry) => [entry.reference, entry.trace_number]));
    const booked = created.map(({ way, outcome, paymentId }) => {
      const reference = railReferenceOf(paymentId);
      return {
        ...{ way, ending: outcome.ending },
        books: books
          .filter((entry) => [reference, traces.get(reference)].includes(entry.reference))
          .map(({ rail, direction, amount, state }) => ({ rail, direction, amount, state })),
      };
    });
    expect(booked).toEqual(
      created.map(({ way, outcome }) => {
        const { paymentRail: rail, direction, paymentAmount: amount } = ways[way];
        const { inTheBooks: state, ending } = outcome;
        return { way, ending, books: state === null ? [] : [{ rail, direction, amount, state }] };
      }),
    );
    expect(books).toHaveLength(booked.flatMap((payment) => payment.books).length);
  },
  testLimitMs,
);

it.each(['camt053', 'bai2'])(
  'the statements of the bank as %s reconcile without a finding',
  async (format) => {
    const { status, report } = await reconciled(await statements(format));
    const executed = created.filter(({ outcome }) => outcome.inTheBooks === 'executed').length;
    const returned = created.filter(({ outcome }) => outcome.inTheBooks === 'returned').length;
    expect(report).toMatchObject({
      ...{ pending: [], missingHere: [], differing: [], duplicates: [], missingAtBank: [] },
      ...{ contradictions: [], agrees: true },
    });
    expect(report.matched).toHaveLength(executed + 2 * returned);
    expect(status).toBe(0);
  },
  testLimitMs,
);

it(
  'what is altered in the statements of the bank is found',
  async () => {
    const files = await statements('camt053');
    const entries = files.flatMap(
      (file) => readFileSync(file, 'utf8').match(/^<Ntry>.*<\/Ntry>$/gm) ?? [],
    );
    const [gone, other, twice, foreign, flipped] = entries.filter(
      (entry) => !entry.includes('<RvslInd>'),
    );
    const [reference, strangers] = [/<(EndToEndId)>[^<]*/, '<$1>NOBODY'];
    const changes = new Map([
      [gone, ''],
      [other, other?.replaceAll(/>[\d.]+<\/Amt>/g, '>0.07</Amt>')],
      [twice, `${twice ?? ''}\n${twice ?? ''}`],
      [flipped, flipped?.replaceAll(/(?<=<CdtDbtInd>)(CRDT|DBIT)/g, (side) => opposite(side))],
      [
        foreign,
        foreign
          ?.replace(reference, strangers)
          .replaceAll(/<(AcctSvcrRef|ClrSysRef)>[^<]*<\/\1>/g, ''),
      ],
    ]);
    for (const file of files)
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replaceAll(
          /^<Ntry>.*$/gm,
          (entry) => changes.get(entry) ?? entry,
        ),
      );
    const { status, report } = await reconciled(files);
    expect(status).toBe(1);
    expect(report.agrees).toBe(false);
    expect(report.missingAtBank).toHaveLength(2);
    expect(report.missingHere).toHaveLength(1);
    expect(report.differing.map(({ differs }) => differs)).toEqual(
      expect.arrayContaining([['amount'], ['side']]),
    );
    expect(report.duplicates).toHaveLength(1);
    expect(report.contradictions).not.toEqual([]);
  },
  testLimitMs,
);

it.each([
  ['an ACH debit', [{ changeCode: 'C01' }]],
  ['RTP', []],
] as const)(
  'staff see what the bank says about an account: %s',
  async (name, expected) => {
    const corrected = created.find(({ way, outcome }) => way === name && outcome.isCorrected);
    const args = ['payments', 'show', '--id', corrected?.paymentId ?? ''];
    const { corrections } = await pisJson<{ corrections: unknown[] }>(args, system.environment);
    expect(corrections).toMatchObject(expected);
  },
  testLimitMs,
);

/** Of the two last days of the bank: the payments were made in the last minutes. */
async function statements(format: string): Promise<string[]> {
  const files: string[] = [];
  for (const date of [daysAfter(bankToday(), -1), bankToday()]) {
    const file = path.join(scratch, `${date}.${format}`);
    const args = ['--format', format, '--date', date, '--file', file];
    await pisJson(['sandbox', 'bank-statement', ...args], system.environment);
    files.push(file);
  }
  return files;
}

type Lists = 'pending' | 'missingHere' | 'differing' | 'duplicates' | 'missingAtBank' | 'matched';
type Report = Readonly<Record<Lists, readonly { readonly differs: readonly string[] }[]>> & {
  readonly agrees: boolean;
  readonly contradictions: readonly object[];
};

async function reconciled(files: readonly string[]): Promise<{ status: number; report: Report }> {
  const args = files.flatMap((file) => ['--file', file]);
  const { code, stdout } = await pis(['reconcile', ...args, '--json'], system.environment);
  return { status: code ?? -1, report: JSON.parse(stdout) as Report };
}

function opposite(side: string): string {
  return side === 'CRDT' ? 'DBIT' : 'CRDT';
}

/** All at once, over every way. */
async function payAll(endings: readonly ExpectedOutcome[]): Promise<void> {
  const payments = wayNames.flatMap((way) =>
    endings.map(async (outcome) => ({ way, outcome, paymentId: await pay(way, outcome.ending) })),
  );
  created.push(...(await Promise.all(payments)));
}

/** The transitions of each payment, and what the API shows of it in the end. */
async function expectOutcomes(payments: readonly Created[]): Promise<void> {
  const isThere = (seen: Awaited<ReturnType<typeof transitionsOf>>) =>
    payments.every(
      ({ paymentId, outcome }) => (seen.get(paymentId)?.length ?? 0) >= outcome.transitions.length,
    );
  let seen = await transitionsOf(payments);
  await until(
    async () => {
      seen = await transitionsOf(payments);
      return isThere(seen);
    },
    { timeoutMs: arrivalLimitMs, everyMs: 500 },
  ).catch(() => undefined); // The comparison shows what is missing.
  const found = payments.map(async ({ way, outcome, paymentId }) => ({
    ...{ way, ending: outcome.ending, transitions: seen.get(paymentId) },
    ...shownAs(await payment(paymentId), outcome.shown(ways[way])),
  }));
  expect(await Promise.all(found)).toEqual(
    payments.map(({ way, outcome }) => ({
      ...{ way, ending: outcome.ending, transitions: outcome.transitions },
      ...outcome.shown(ways[way]),
    })),
  );
}

/** The bank names no time for them, so none makes them FAILED_IN_FLIGHT. */
async function expectNoDeadline(payments: readonly Created[]): Promise<void> {
  const ids = payments.map(({ paymentId }) => paymentId);
  await until(
    async () => {
      const { rows } = await system.pool.query(
        'SELECT FROM rail_pending WHERE payment_id = ANY ($1) AND overdue_at IS NULL',
        [ids],
      );
      return rows.length === ids.length;
    },
    { timeoutMs: arrivalLimitMs, what: 'held payments without a deadline' },
  );
}

async function originator(): Promise<string> {
  const found = await until(
    async () =>
      (await system.api.data<{ originatorId: string }[]>(200, 'GET', '/v1/originators/'))[0],
    { timeoutMs: arrivalLimitMs, what: 'the originator in the list' },
  );
  return found.originatorId;
}

let contacts = 0;
/** The body of a payment to a fresh contact: a person or a company in turn. */
async function paymentOver(name: WayName, ending: string) {
  const { direction, paymentAmount, achRoutingNumber, swiftCode, legalAddress } = ways[name];
  contacts += 1;
  const party =
    contacts % 2 === 0
      ? { entityType: 'BUSINESS', companyName: `Supplies ${contacts}` }
      : { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: `Lovelace ${contacts}` };
  const { contactId } = await system.api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
    ...{ originatorId, ...party, email: `${randomUUID()}@example.com` },
    ...(legalAddress === null ? {} : { legalAddress }),
    bankAccount: {
      ...{ subType: contacts % 3 === 0 ? 'SAVINGS' : 'CHECKING', achRoutingNumber },
      achAccountNumber: `${randomInt(10_000_000, 99_999_999)}${ending}`,
      ...(swiftCode === null ? {} : { swiftCode }),
    },
  });
  return { originatorId, contactId, paymentAmount, direction };
}

async function pay(name: WayName, ending: string): Promise<string> {
  const body = await paymentOver(name, ending);
  const answer = await system.api.createPayment(body, randomUUID());
  expect(answer.status).toBe(201);
  return (answer.body.data as { paymentId: string }).paymentId;
}

function payment(paymentId: string): Promise<Payment> {
  return system.api.data(200, 'GET', `/v1/payments/${paymentId}`);
}

/** The fields of the payment that are expected. */
function shownAs(found: Payment, expected: Readonly<Record<string, unknown>>): Partial<Payment> {
  const names = Object.keys(expected) as (keyof Payment)[];
  return Object.fromEntries(names.map((name) => [name, found[name]]));
}

/** Of these payments, as the feed of events has them. */
async function transitionsOf(
  payments: readonly Created[],
): Promise<ReadonlyMap<string, readonly Transition[]>> {
  const found = new Map(payments.map(({ paymentId }): [string, Transition[]] => [paymentId, []]));
  const pageMax = 100;
  for (let after = ''; ; ) {
    const { body } = await system.api.call('GET', `/v1/events?limit=${pageMax}${after}`);
    const events = body.data as PaymentEvent[];
    for (const { data } of events)
      found.get(data.paymentId)?.push([data.previousStatus, data.status]);
    if (events.length < pageMax) return found;
    const { pagination } = body.meta as { pagination: { nextCursor: string } };
    after = `&after=${encodeURIComponent(pagination.nextCursor)}`;
  }
}
