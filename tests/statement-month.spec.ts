/**
 * Two months of 10,000 payments and 300 collections of fees with every outcome that the domain knows. The statements must equal a
 * computation from the raw events that shares no code with them, to the cent.
 */
import { randomUUID } from 'node:crypto';
import { postgresDocuments, statementKey } from '@pis/documents';
import {
  collectionDetails,
  organization,
  originator,
  payment,
  type PaymentDetails,
  type PaymentEvent,
} from '@pis/domain';
import {
  bankAccountExample,
  organizationExample,
  originatorExample,
  originatorParty,
  paymentEvents,
  stepsOfRejectedLives,
} from '@pis/domain/testing';
import {
  beginning,
  type EventStore,
  memoryEventStore,
  type Position,
  systemContext,
} from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import {
  createTestDatabase,
  generator,
  openTestPool,
  type Random,
  type TestDatabase,
} from '@pis/local-servers/testing';
import { directoryProjection, movementsProjection, ProjectionRunner } from '@pis/read-models';
import { eventToAppend } from '@pis/read-models/testing';
import { generateStatement, type GenerationContext } from '@pis/statements/generation';
import { bytesOf, readPdf } from '@pis/statements/testing';
import type pg from 'pg';

const payments = 10_000;
const collections = 300;
/** On a busy machine. */
const testLimitMs = 600_000;
const organizationId = randomUUID();
const originatorId = randomUUID();
/** In New York. Everything begins in September. */
const september = {
  ...{ year: 2026, month: 9 },
  ...{ from: '2026-09-01T04:00:00.000Z', to: '2026-10-01T04:00:00.000Z' },
};
const october = {
  ...{ year: 2026, month: 10 },
  ...{ from: september.to, to: '2026-11-01T04:00:00.000Z' },
};
type Period = Pick<typeof october, 'from' | 'to'>;
const firstMs = Date.parse('2026-09-05T00:00:00.000Z');
const creationSpanMs = 55 * 24 * 3_600_000;
const stepMaxMs = 9 * 24 * 3_600_000;
const schemaVersions: Readonly<Record<string, number>> = {
  ...organization.schemaVersions,
  ...originator.schemaVersions,
  ...payment.schemaVersions,
};

interface Fact {
  readonly streamId: string;
  readonly revision: number;
  readonly event: RawEvent;
}

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
let runners: readonly ProjectionRunner[];

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 12);
  store = memoryEventStore();
  runners = [movementsProjection, directoryProjection].map(
    (projection) => new ProjectionRunner({ projection, store, pool }),
  );
  const random = generator(15);
  await appendAll([...parties(), ...lives(random), ...collectionLives(random)]);
  for (const runner of runners) runner.start();
});
afterAll(async () => {
  for (const runner of runners) await runner.stop();
  await pool.end();
  await database.drop();
});

it(
  'gives statements whose totals equal, to the cent, a computation from the raw events',
  async () => {
    for (const runner of runners)
      expect(await runner.waitFor(await store.lastPosition(), 300_000)).toBe(true);
    const keyring = await testKeyringOn(pool);
    const documents = postgresDocuments(pool, keyring);
    const now = () => new Date('2026-12-20T00:00:00.000Z');
    const context = { store, pool, documents, by: systemContext('test'), now };
    // The first month is generated with the one after it.
    const { statement } = await generated(context, october);
    const before = await generated(context, september);
    expect(before.isNew).toBe(false);
    expect(before.statement.figures).toEqual((await computedFromLog(september)).figures);
    const expected = await computedFromLog(october);
    expect(statement.figures).toEqual(expected.figures);
    // The comparison means something only if everything happened.
    expect([...expected.types].toSorted()).toEqual(Object.keys(payment.schemaVersions).toSorted());
    const { returnsIn, returnsOut, withoutMovement, collectionReturns } = expected.figures;
    for (const { count } of [returnsIn, returnsOut, withoutMovement, collectionReturns])
      expect(count).toBeGreaterThan(5);
    expect(expected.lateReturns).toBeGreaterThan(20);
    expect(expected.lateRejections).toBeGreaterThan(5);

    const owner = ownerOf.originator(originatorId);
    const file = await bytesOf(documents.read(statementKey(statement), owner));
    const { pages } = await readPdf(file, { tags: false });
    const texts = pages.flat();
    expect(texts.slice(texts.lastIndexOf('Total') + 1)).toEqual(
      expect.arrayContaining([...expected.totalRow]),
    );
    const references = texts.filter((text) => /^(order-\d+|[0-9a-f]{8})$/.test(text));
    expect(references.toSorted()).toEqual(expected.references.toSorted());
  },
  testLimitMs,
);

async function generated(context: GenerationContext, { year, month }: typeof october) {
  const made = await generateStatement(context, { originatorId, year, month });
  if ('refused' in made) throw new Error(made.refused);
  return made;
}

function parties(): Fact[] {
  const at = '2026-09-01T00:00:00.000Z';
  const created = organizationExample({ organizationId });
  const record = originatorExample({ organizationId, originatorId });
  return [
    {
      ...{ streamId: `organization-${organizationId}`, revision: 0 },
      event: { type: 'OrganizationCreated', at, data: created },
    },
    {
      ...{ streamId: `originator-${originatorId}`, revision: 0 },
      event: { type: 'OriginatorCreated', at, data: record },
    },
  ];
}

/** Every life of the domain in turn, whole or up to some step, with times and terms of its own. */
function lives(random: Random): Fact[] {
  const histories = stepsOfRejectedLives().map(({ history }) => history);
  return Array.from({ length: payments }, (_, number) => {
    const paymentId = randomUUID();
    const terms = termsOf(paymentId, number, random);
    const history = histories[number % histories.length] ?? [];
    const isCorrected = random(4) === 0 && history.at(-1)?.type === 'PaymentCompleted';
    const events = isCorrected ? [...history, paymentEvents.corrected] : history;
    const returns = random(3) === 0 ? inParts(events, terms.amountMinor ?? 0, random) : events;
    return dated(`payment-${paymentId}`, returns, terms, random);
  }).flat();
}

/** The bank returns what was returned at once in two parts, and keeps some of it. */
function inParts(
  history: readonly PaymentEvent[],
  amountMinor: number,
  random: Random,
): readonly PaymentEvent[] {
  const last = history.at(-1);
  if (last?.type !== 'PaymentReturned' || amountMinor < 3) return history;
  const first = 1 + random(amountMinor - 2);
  const rest = 1 + random(amountMinor - first - 1);
  const { returnedAgain } = paymentEvents;
  return [
    ...history.slice(0, -1),
    { ...last, data: { ...last.data, returnReference: 'bank-7', returnedAmountMinor: first } },
    { ...returnedAgain, data: { ...returnedAgain.data, returnedAmountMinor: rest } },
  ];
}

/** Lives without a link: nobody opens one for a collection. */
function collectionLives(random: Random): Fact[] {
  const histories = stepsOfRejectedLives()
    .map(({ history }) => history)
    .filter(([first]) => first?.type === 'PaymentQueued');
  return Array.from({ length: collections }, (_, number) => {
    const collectionId = randomUUID();
    const terms = collectionDetails({
      ...{ collectionId, organizationId, amountMinor: 1 + random(5_000), note: 'Fees 2026-09' },
      settlement: { name: 'Operator Inc', bankAccount: bankAccountExample() },
      originator: { ...originatorParty, id: originatorId },
    });
    const history = histories[number % histories.length] ?? [];
    return dated(`collection-${collectionId}`, history, terms, random);
  }).flat();
}

function dated(
  streamId: string,
  history: readonly PaymentEvent[],
  terms: Partial<PaymentDetails>,
  random: Random,
): Fact[] {
  let at = firstMs + random(creationSpanMs);
  return history.map((event, revision) => {
    if (revision > 0) at += 1 + random(stepMaxMs);
    const data = 'paymentId' in event.data ? { ...event.data, ...terms } : event.data;
    return { streamId, revision, event: { ...event, at: new Date(at).toISOString(), data } };
  });
}

function termsOf(paymentId: string, number: number, random: Random): Partial<PaymentDetails> {
  return {
    ...{ paymentId, organizationId, originatorId },
    amountMinor: 1 + random(number % 100 === 0 ? 99_999_999_999 : 5_000_000),
    discountFeeMinor: random(500),
    flatFeeMinor: random(100),
    returnFeeMinor: random(2_000),
    direction: random(2) === 0 ? 'INBOUND' : 'OUTBOUND',
    externalPaymentId: random(2) === 0 ? null : `order-${number}`,
  };
}

/** As they would have been recorded: in the order of time. */
async function appendAll(facts: readonly Fact[]): Promise<void> {
  const inTime = facts.toSorted(
    (one, other) => one.event.at.localeCompare(other.event.at) || one.revision - other.revision,
  );
  for (const { streamId, revision, event } of inTime) {
    const { metadata, ...record } = eventToAppend(event);
    const versioned = { ...metadata, schemaVersion: schemaVersions[event.type] ?? 1 };
    const expected = revision === 0 ? 'noStream' : revision - 1;
    await store.append(streamId, expected, [{ ...record, metadata: versioned }]);
  }
}

/** Sums in BigInt, from the events as they are in the log. */
class Tally {
  #sums = new Map<string, { count: number; cents: bigint }>();

  add(name: string, cents: bigint): void {
    const { count, cents: before } = this.#sums.get(name) ?? { count: 0, cents: 0n };
    this.#sums.set(name, { count: count + 1, cents: before + cents });
  }

  cents(...names: readonly string[]): bigint {
    return names.reduce((sum, name) => sum + (this.#sums.get(name)?.cents ?? 0n), 0n);
  }

  of(name: string) {
    const { count, cents } = this.#sums.get(name) ?? { count: 0, cents: 0n };
    return { count, amountMinor: Number(cents) };
  }
}

async function computedFromLog({ from, to }: Period) {
  const tally = new Tally();
  const references: string[] = [];
  const types = new Set<string>();
  let lateReturns = 0;
  let lateRejections = 0;
  for (const recorded of (await transfersOfLog('payment-')).values()) {
    for (const { type, at } of recorded) if (at >= from && at < to) types.add(type);
    // Of an account: no statement shows it.
    const events = recorded.filter(({ type }) => type !== 'PaymentCorrected');
    const { terms, isLink } = termsInLog(events);
    const isIn = terms.direction === 'INBOUND';
    const charge = BigInt(terms.discountFeeMinor + terms.flatFeeMinor);
    const moves = BigInt(terms.amountMinor) + (isLink && isIn ? charge : 0n);
    const reference = terms.externalPaymentId ?? terms.paymentId.slice(0, 8);
    const inMonth = events.filter(({ at }) => at >= from && at < to);
    const completed = events.find(({ type }) => type === 'PaymentCompleted');
    const returned = events.find(({ type }) => type === 'PaymentReturned');
    const returnedAgain = events.find(({ type }) => type === 'PaymentReturnedAgain');
    const fee = (name: string, cents: bigint) =>
      cents === 0n ? undefined : tally.add(name, cents);
    if (completed !== undefined && inMonth.includes(completed)) {
      tally.add(isIn ? 'paymentsIn' : 'paymentsOut', moves);
      fee('fees', charge);
      references.push(reference);
    } else if (inMonth.some((event) => event !== returned && event !== returnedAgain)) {
      tally.add('withoutMovement', moves);
      references.push(reference);
    }
    if (inMonth.some(({ type }) => type === 'PaymentRejectedLate')) lateRejections += 1;
    if (returned !== undefined && inMonth.includes(returned)) {
      tally.add(isIn ? 'returnsOut' : 'returnsIn', cameBack(returned) ?? moves);
      fee('fees', BigInt(terms.returnFeeMinor));
      references.push(reference);
      if ((completed?.at ?? from) < from) lateReturns += 1;
    }
    if (returnedAgain !== undefined && inMonth.includes(returnedAgain)) {
      tally.add(isIn ? 'returnsOut' : 'returnsIn', cameBack(returnedAgain) ?? 0n);
      references.push(reference);
    }
    for (const [name, end] of [
      ['opening', from],
      ['closing', to],
    ] as const) {
      const past = events.filter(({ at }) => at < end);
      if (isOpen(past.at(-1)?.type)) tally.add(`${name}${isIn ? 'In' : 'Out'}`, moves);
      if (past.some(({ type }) => type === 'PaymentCompleted')) tally.add(`${name}Due`, charge);
      if (past.some(({ type }) => type === 'PaymentReturned'))
        tally.add(`${name}Due`, BigInt(terms.returnFeeMinor));
    }
  }
  references.push(...(await collectionsInLog(tally, { from, to })));
  return {
    ...{ figures: figuresOf(tally), totalRow: totalRowOf(tally), references },
    ...{ lateReturns, lateRejections, types },
  };
}

/** @returns the references of their movements in the month */
async function collectionsInLog(tally: Tally, { from, to }: Period): Promise<readonly string[]> {
  const references: string[] = [];
  for (const events of (await transfersOfLog('collection-')).values()) {
    const { terms } = termsInLog(events);
    const cents = BigInt(terms.amountMinor);
    for (const { type, at } of events) {
      const isReturn = type === 'PaymentReturned';
      if (type !== 'PaymentCompleted' && !isReturn) continue;
      for (const [name, end] of [
        ['opening', from],
        ['closing', to],
      ] as const)
        if (at < end) tally.add(`${name}Due`, isReturn ? cents : -cents);
      if (at < from || at >= to) continue;
      tally.add(isReturn ? 'collectionReturns' : 'collections', cents);
      references.push(terms.paymentId.slice(0, 8));
    }
  }
  return references;
}

/** Null when all of it came back. */
function cameBack({ data }: RawEvent): bigint | null {
  const { returnedAmountMinor } = data as { readonly returnedAmountMinor?: number };
  return returnedAmountMinor === undefined ? null : BigInt(returnedAmountMinor);
}

function isOpen(type: string | undefined): boolean {
  return ['PaymentQueued', 'PaymentProcessing', 'PaymentFailedInFlight'].includes(type ?? '');
}

interface RawEvent {
  readonly type: string;
  readonly at: string;
  readonly data: object;
}

async function transfersOfLog(prefix: string): Promise<ReadonlyMap<string, readonly RawEvent[]>> {
  const streams = new Map<string, RawEvent[]>();
  for (let after: Position = beginning; ; ) {
    const page = await store.readLog({ after, pageMax: 1_000 });
    if (page.events.length === 0) return streams;
    for (const { streamId, type, data, metadata } of page.events) {
      if (!streamId.startsWith(prefix)) continue;
      const events = streams.get(streamId) ?? [];
      events.push({ type, at: metadata.at, data });
      streams.set(streamId, events);
    }
    after = page.position;
  }
}

function termsInLog(events: readonly RawEvent[]): { terms: PaymentDetails; isLink: boolean } {
  const [first] = events;
  return {
    terms: first?.data as PaymentDetails,
    isLink: first?.type === 'PaymentAwaitingConfirmation',
  };
}

function figuresOf(tally: Tally) {
  const position = (name: string) => ({
    inProgressIn: tally.of(`${name}In`),
    inProgressOut: tally.of(`${name}Out`),
    feesDueMinor: Number(tally.cents(`${name}Due`)),
  });
  return {
    opening: position('opening'),
    paymentsIn: tally.of('paymentsIn'),
    paymentsOut: tally.of('paymentsOut'),
    withoutMovement: tally.of('withoutMovement'),
    returnsIn: tally.of('returnsIn'),
    returnsOut: tally.of('returnsOut'),
    collections: tally.of('collections'),
    collectionReturns: tally.of('collectionReturns'),
    fees: tally.of('fees'),
    closing: position('closing'),
  };
}

/** The amounts as they are printed: 1,234.56. */
function totalRowOf(tally: Tally): readonly string[] {
  const sums = [
    tally.cents('paymentsIn', 'returnsIn', 'collectionReturns'),
    tally.cents('paymentsOut', 'returnsOut', 'collections'),
    tally.cents('fees'),
  ];
  return sums.map((cents) => {
    const digits = (cents / 100n).toString().replace(/\B(?=(\d{3})+$)/g, ',');
    return `${digits}.${(cents % 100n).toString().padStart(2, '0')}`;
  });
}
