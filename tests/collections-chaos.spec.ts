/**
 * The fees of 30 originators are collected for two months each, while collectors, executors, the bank and PostgreSQL are
 * killed. In the end the books of the bank have one debit for each originator and month, and each period says what the
 * books say. The bank's books are in a database that nothing here kills.
 *
 * PIS_CHAOS_SEED repeats the plan of a run: originators and kills. It does not repeat the timing.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { type BookEntry, bankBooks } from '@pis/bank-rails/sandbox';
import { feePeriod as feePeriods, feesDueMinor, type FeePeriod } from '@pis/domain';
import { type EventStore, postgresEventStore, repository, sealedStore } from '@pis/event-store';
import { feePeriodIdOf } from '@pis/fees';
import type { Keyring } from '@pis/keyring';
import { generator, type Random, until } from '@pis/local-servers/testing';
import { keyringOf } from './support/living-keys.js';
import { createOrganization, createOwing, type OwedFees } from './support/owed-fees.js';
import { type RailsSystem, startRailsSystem } from './support/rails-chaos.js';
import { scenarios, shuffled } from './support/rails-chaos-payments.js';

const originatorsPerWave = 3;
/** One strike a wave, beside two at collectors. */
const strikes = [
  ...(['executor', 'executor', 'executor', 'executor', 'executor'] as const),
  ...(['bank', 'bank', 'bank', 'database', 'database'] as const),
];
type VictimName = (typeof strikes)[number];

/** By the last digits of the debited account: what its period says, and what the books of the bank say. */
const endings = {
  '7777': { status: 'COLLECTED', books: 'executed' },
  '0703': { status: 'COLLECTED', books: 'executed' },
  '0101': { status: 'RETRYING', books: 'returned' },
  '0204': { status: 'GIVEN_UP', books: null },
} as const;
const endingsOfWave = ['7777', '0703', '0101', '7777', '0204', '7777'] as const;
const amountBaseMinor = 100_000;

const startLimitMs = 300_000;
const testLimitMs = 900_000;
/** Longer than any recovery: a collector rests for a minute. */
const momentLimitMs = 180_000;
const settledLimitMs = 300_000;
const auditEveryMs = 500;
/** Nothing is to be FAILED_IN_FLIGHT because a machine is slow. */
const patientMs = 3_600_000;

const seed = Number(process.env['PIS_CHAOS_SEED'] ?? randomInt(1_000_000));

let system: RailsSystem;
let random: Random;
let store: EventStore;
let keyring: Keyring;

beforeAll(async () => {
  process.stderr.write(`collections-chaos: PIS_CHAOS_SEED=${seed}\n`);
  random = generator(seed);
  system = await startRailsSystem({
    ...{ onKafka: false, random: generator(seed + 1), scenarios, collectors: 2 },
    settings: { PIS_RAIL_CONFIRMATION_TIMEOUT_MS: String(patientMs) },
  });
  keyring = keyringOf(system, system.pool);
  store = sealedStore(postgresEventStore({ pool: system.pool }), keyring);
}, startLimitMs);
afterAll(async () => {
  await store?.close();
  await system?.stop();
}, startLimitMs);

it(
  'each originator is debited once for each month, and each period says what the books of the bank say',
  async () => {
    const owed: OwedFees[] = [];
    for (const victim of shuffled(strikes, random)) {
      const type =
        (['FeePeriodClosed', 'FeeCollectionStarted', 'PaymentQueued'] as const)[random(3)] ??
        'PaymentQueued';
      // Before the wave: a collector may be through with all of it before the next statement here.
      const before = await count(type);
      owed.push(...(await wave(owed.length)));
      await killCollector();
      // Each originator of the wave has two such events of each type, or more.
      await reached(() => count(type), before + 1 + random(2));
      await killCollector();
      const { length } = owed;
      const sent = Math.max(0, length - 2 * originatorsPerWave) + 1 + random(originatorsPerWave);
      await reached(() => count('PaymentProcessing'), sent);
      await strike(victim);
    }
    const { bank, executors, collectors } = system;
    await Promise.all([bank, ...executors, ...collectors].map((one) => one.up()));
    await settled(owed);
    expect(collectors.reduce((kills, one) => kills + one.kills, 0)).toBe(2 * strikes.length);
    expect(owed).toHaveLength(2 * originatorsPerWave * strikes.length);
  },
  testLimitMs,
);

/** An organization with originators that owe fees. */
async function wave(already: number): Promise<readonly OwedFees[]> {
  const organizationId = randomUUID();
  // The server may have been killed a moment ago, and connections of the pool be broken: one without originators finds out.
  await again(() => createOrganization(store, randomUUID()));
  const owed: OwedFees[] = [];
  for (let index = 0; index < originatorsPerWave; index += 1) {
    const place = already + 2 * index;
    const ending = endingsOfWave[(place / 2) % endingsOfWave.length] ?? '7777';
    const amountsMinor = [amountBaseMinor + place, amountBaseMinor + place + 1] as const;
    const owing = { organizationId, originatorId: randomUUID(), ending, amountsMinor };
    owed.push(...(await createOwing(store, keyring, owing)));
  }
  // Last: a collector that knew the organization before could close a month between two of its payments.
  await createOrganization(store, organizationId);
  // A collector that starts sees the organization.
  await until(
    async () => {
      const { rowCount } = await system.pool.query(
        'SELECT FROM organizations WHERE organization_id = $1',
        [organizationId],
      );
      return rowCount === 1;
    },
    { timeoutMs: momentLimitMs, what: 'the organization in the list' },
  );
  return owed;
}

async function again(work: () => Promise<void>): Promise<void> {
  await until(
    () =>
      work().then(
        () => true,
        () => false,
      ),
    { timeoutMs: momentLimitMs, what: 'the event store' },
  );
}

/** SIGKILL. It is started again at once, and begins with a round. */
async function killCollector(): Promise<void> {
  await system.collectors[random(system.collectors.length)]?.kill();
}

async function strike(victim: VictimName): Promise<void> {
  const { executors, bank } = system;
  if (victim === 'executor') await executors[random(executors.length)]?.kill();
  else if (victim === 'bank') await bank.kill();
  else await system.killPostgres();
}

/** Events of this type, of collections and periods. */
async function count(type: string): Promise<number> {
  const { rows } = await system.pool.query<{ events: number }>(
    `SELECT count(*)::int AS events FROM events
      WHERE type = $1 AND (stream_id LIKE 'collection-%' OR stream_id LIKE 'feePeriod-%')`,
    [type],
  );
  return rows[0]?.events ?? 0;
}

async function reached(fact: () => Promise<number>, goal: number): Promise<void> {
  const limit = { timeoutMs: momentLimitMs, what: `${goal} events` };
  await until(async () => (await fact()) >= goal, limit);
}

async function settled(owed: readonly OwedFees[]): Promise<void> {
  let problems: readonly string[] = [];
  await until(
    async () => {
      problems = await audit(owed);
      return problems.length === 0;
    },
    { timeoutMs: settledLimitMs, everyMs: auditEveryMs },
  ).catch((error: unknown) => {
    throw new Error(`PIS_CHAOS_SEED=${seed}:\n${problems.join('\n')}`, { cause: error });
  });
}

/** What is wrong, one line each. A transfer is found in the books by its amount, without any reference of ours. */
async function audit(owed: readonly OwedFees[]): Promise<readonly string[]> {
  const books = Map.groupBy(await bankBooks(system.bankPool), ({ amount }) => amount);
  const known = new Set(owed.map(({ amountMinor }) => amountMinor));
  const strangers = [...books.keys()].filter((amount) => !known.has(amount));
  const problems = strangers.map((amount) => `the bank debited ${amount}, which nobody owes`);
  for (const one of owed) {
    const feePeriodId = feePeriodIdOf(one.originatorId, one.month);
    const { state } = await repository(store, feePeriods).load(feePeriodId);
    const problem = problemOf(one, state, books.get(one.amountMinor) ?? []);
    if (problem !== null) problems.push(`${problem}: ${JSON.stringify({ ...one, feePeriodId })}`);
  }
  return problems;
}

function problemOf(
  { ending, amountMinor }: OwedFees,
  period: FeePeriod | null,
  booked: readonly BookEntry[],
): string | null {
  if (period === null) return 'no period';
  if (feesDueMinor(period) !== amountMinor) return `${feesDueMinor(period)} cents are due`;
  if (period.collections.length !== 1) return `${period.collections.length} collections`;
  const expected = endings[ending as keyof typeof endings];
  if (booked.length > 1) return `debited ${booked.length} times`;
  const [debit] = booked;
  if ((debit?.state ?? null) !== expected.books) return `${debit?.state ?? 'nothing'} in the books`;
  if (debit !== undefined && (debit.rail !== 'ACH' || debit.direction !== 'INBOUND'))
    return `${debit.rail} ${debit.direction} in the books`;
  return period.status === expected.status ? null : `the period is ${period.status}`;
}
