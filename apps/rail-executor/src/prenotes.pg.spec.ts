/**
 * A connection with prenotes, over NACHA files to the simulated bank: the first payment with an account waits until an
 * entry of zero dollars has checked it. The clock of the connection is set.
 */
import { instantOf, type NamedConnection } from '@pis/bank-rails';
import { achBank, atOnceSchedule, cutoffSchedule } from '@pis/bank-rails/ach';
import { fileArchive, type FileTransport } from '@pis/bank-rails/connections';
import { bankBooks } from '@pis/bank-rails/sandbox';
import { type BankConnection, BankUnavailable, defaultCutoffs } from '@pis/bank-rails';
import { AchDesk, BankCore, inProcessFiles, sandboxAchIdentity } from '@pis/bank-simulator/module';
import { contact } from '@pis/domain';
import { contactExample } from '@pis/domain/testing';
import { type EventStore, memoryEventStore, repository } from '@pis/event-store';
import type { RailExecutor } from './rail-executor.js';
import { keyring, openWorld, type QueuedMessage, type World } from './testing/world.js';

const waitMs = 5 * 24 * 3_600_000;
const roundsMax = 20;
const completed = ['Queued', 'Processing', 'Completed'];

let world: World;
let files: FileTransport;
let aheadMs: number;
beforeEach(async () => {
  world = await openWorld({ confirmationTimeoutMs: 3_600_000 });
  files = inProcessFiles(new AchDesk(new BankCore(world.pool, { delayMs: 0 })));
  aheadMs = 0;
});
afterEach(() => world.close());

const clock = () => Date.now() + aheadMs;
const schedule = { ...atOnceSchedule(), liveFrom: (sentAtMs: number) => sentAtMs + waitMs };

/** A process: an executor over its own connection to the same bank. */
function life({
  prenotes = true,
  transport = files,
  store = world.store,
  /** Called once, before the first answer of `prepare` arrives. */
  onPrepared = () => Promise.resolve(),
} = {}) {
  const { pool } = world;
  const connection = achBank({
    ...{ name: 'test-ach', pool, keyring, transport, clock, schedule },
    archive: fileArchive({ pool, keyring }),
    terms: { submissionInFlightMaxMs: 600_000, referenceMemoryMs: 90 * 24 * 3_600_000 },
    identity: { ...sandboxAchIdentity, prenotes },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
  let isFirst = true;
  const prepare: BankConnection['prepare'] = async (instruction) => {
    const readiness = (await connection.prepare?.(instruction)) ?? { outcome: 'ready' };
    if (isFirst) await onPrepared();
    isFirst = false;
    return readiness;
  };
  const prepared = { ...connection, prepare };
  const banks: readonly NamedConnection[] = [
    { name: 'test-ach', rails: ['ACH'], connection: prepared },
  ];
  const executor = world.executor({ banks, clock, store });
  return {
    executor,
    connection,
    /** Sends, reads and records until nothing is left to do. */
    async settle(): Promise<void> {
      for (let rounds = 0; rounds < roundsMax; rounds += 1) {
        await connection.rounds.outbound();
        await connection.rounds.inbound();
        await executor.feedRound();
        await executor.sweepRound();
      }
    },
  };
}

const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);
/** The time of the prenote is over, for the connection and for the row. */
const timePasses = async ({ paymentId }: QueuedMessage) => {
  aheadMs += waitMs + 60_000;
  await world.timePasses(paymentId);
};
/** The entry of the payment is built when PostgreSQL's clock says so, which does not move. */
const entriesAreDue = () =>
  world.pool.query("UPDATE ach_entries SET due_at = now() - interval '1 second'");
const dueInMs = async ({ paymentId }: QueuedMessage) => {
  const { rows } = await world.pool.query<{ ms: number }>(
    `SELECT (extract(epoch FROM deadline_at - now()) * 1000)::float8 AS ms
       FROM rail_pending WHERE payment_id = $1 AND stage = 'queued'`,
    [paymentId],
  );
  return rows[0]?.ms ?? null;
};
const prenotesSent = async () =>
  (await world.pool.query("SELECT FROM ach_entries WHERE reference LIKE 'prenote-%'")).rowCount;

it('the first payment with an account stays QUEUED until its prenote is over, then it is executed once', async () => {
  const message = await world.queue('4321');
  const { executor, settle } = life();
  await handle(executor, message);
  await handle(executor, message);
  await settle();
  expect(await world.history(message.paymentId)).toEqual(['Queued']);
  expect(await bankBooks(world.pool)).toEqual([]);
  // Durable, and nothing looks before: the time is in the row.
  expect(await dueInMs(message)).toBeGreaterThan(waitMs - 600_000);
  expect(await executor.deadlineRound()).toBeNull();
  expect(await executor.sweepRound()).toBeGreaterThan(waitMs - 600_000);

  await timePasses(message);
  const [one, other] = [life(), life()];
  await Promise.all([one.connection.rounds.inbound(), other.connection.rounds.inbound()]);
  await Promise.all([one.executor.sweepRound(), other.executor.sweepRound()]);
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  await entriesAreDue();
  await one.settle();
  expect(await world.history(message.paymentId)).toEqual(completed);
  expect(await bankBooks(world.pool)).toMatchObject([{ amount: 12_345, state: 'executed' }]);
  expect(await prenotesSent()).toBe(1);
});

it.each([
  ['0211', 'bankAccount.achAccountNumber of the contact did not pass the check by its bank (R03'],
  ['0212', 'bankAccount.achAccountNumber of the contact is not what its bank has (C01'],
] as const)(
  'an account that ends in %s fails the payment at once, and its message says what to do',
  async (ending, beginning) => {
    const message = await world.queue(ending);
    const { executor, settle } = life();
    await handle(executor, message);
    await settle();
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Failed']);
    const { failureCode, failureMessage } = await world.payment(message.paymentId);
    expect(failureCode).toBe('INVALID_CONTACT_DATA');
    expect(failureMessage?.startsWith(beginning)).toBe(true);
    expect(failureMessage).toContain('update the contact, then create a new payment');
    expect(await bankBooks(world.pool)).toEqual([]);
    expect(await world.count('rail_notifications')).toBe(0);
    expect(await world.pending(message.paymentId)).toBeNull();
  },
);

it('a notification of change about a prenote is noted on the contact, and not applied', async () => {
  const message = await world.queue('0212');
  const { contactId, contact: party } = await world.payment(message.paymentId);
  const bankAccount = party?.bankAccount ?? null;
  const data = contactExample({ contactId: contactId ?? '', bankAccount });
  const contacts = repository(world.store, contact);
  const by = { actor: 'apiKey:test', requestId: null, correlationId: 'c', causationId: null };
  const at = new Date().toISOString();
  await contacts.create(
    contactId ?? '',
    { type: 'CreateContact', at, data },
    { ...by, traceparent: null },
  );
  const { executor, settle } = life();
  await handle(executor, message);
  await settle();
  const { state } = await contacts.load(contactId ?? '');
  expect(state?.correction).toMatchObject({ changeCode: 'C01', paymentId: message.paymentId });
  expect(state?.bankAccount).toEqual(data.bankAccount);
});

/** The log of a payment as an older backup has it. */
async function restoredLog(events: number, { paymentId }: QueuedMessage): Promise<EventStore> {
  const restored = memoryEventStore();
  const stream = await world.store.readStream(`payment-${paymentId}`);
  await restored.append(`payment-${paymentId}`, 'noStream', stream.slice(0, events));
  return restored;
}

it('a payment that was executed before the log was restored is not failed by a prenote', async () => {
  const message = await world.queue('0211');
  const before = life({ prenotes: false });
  await handle(before.executor, message);
  await before.settle();
  await entriesAreDue();
  await before.settle();
  const { paymentId } = message;
  expect(await world.history(paymentId)).toEqual(completed);
  expect(await world.pending(paymentId)).toBeNull();

  const store = await restoredLog(1, message);
  const after = life({ store });
  await handle(after.executor, message);
  await after.settle();
  const history = await store.readStream(`payment-${paymentId}`);
  expect(history.map(({ type }) => type)).toEqual([
    'PaymentQueued',
    'PaymentProcessing',
    'PaymentCompleted',
  ]);
  expect(await prenotesSent()).toBe(0);
  expect(await bankBooks(world.pool)).toMatchObject([{ state: 'executed' }]);
});

it('an answer that comes before the wait is noted is not overlooked', async () => {
  const message = await world.queue('0211');
  const one: ReturnType<typeof life> = life({
    onPrepared: async () => {
      await one.connection.rounds.outbound();
      await one.connection.rounds.inbound();
      await one.executor.feedRound();
    },
  });
  await handle(one.executor, message);
  await one.settle();
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Failed']);
  expect(await bankBooks(world.pool)).toEqual([]);
});

it('while the bank is away the payment waits, and fails for no deadline', async () => {
  const message = await world.queue('4321');
  const away = () => Promise.reject(new BankUnavailable('no answer'));
  const down = life({ transport: { ...files, put: away, list: away } });
  await handle(down.executor, message);
  await down.connection.rounds.outbound();
  await timePasses(message);
  await down.executor.sweepRound();
  await down.executor.deadlineRound();
  expect(await world.history(message.paymentId)).toEqual(['Queued']);
  expect(await prenotesSent()).toBe(1);
  expect(await dueInMs(message)).toBeGreaterThan(waitMs - 600_000);

  // The file goes out late, and its time counts from then.
  aheadMs = 0;
  await world.pool.query("UPDATE ach_files SET upload_due_at = now() - interval '1 second'");
  const up = life();
  await up.settle();
  expect(await world.history(message.paymentId)).toEqual(['Queued']);
  await timePasses(message);
  await up.connection.rounds.inbound();
  await up.executor.sweepRound();
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
});

it('a payment does not go while a return may be in an inbox that was not read', async () => {
  const message = await world.queue('4321');
  const { executor, settle } = life();
  await handle(executor, message);
  await settle();
  await timePasses(message);
  const away = () => Promise.reject(new BankUnavailable('no answer'));
  const deaf = life({ transport: { ...files, list: away } });
  await expect(deaf.connection.rounds.inbound()).rejects.toBeInstanceOf(BankUnavailable);
  await deaf.executor.sweepRound();
  expect(await world.history(message.paymentId)).toEqual(['Queued']);
});

it('a payment that waited goes when the operator turns prenotes off', async () => {
  const message = await world.queue('4321');
  const { executor } = life();
  await handle(executor, message);
  await world.timePasses(message.paymentId);
  const without = life({ prenotes: false });
  await without.executor.sweepRound();
  await without.settle();
  expect(await world.history(message.paymentId)).toEqual(completed);
});

const eastern = (text: string) => {
  const [date = '', time = ''] = text.split(' ');
  return instantOf(date, time);
};

it.each([
  ['on a Monday', '2026-12-07 10:00', '2026-12-11 00:00'],
  ['after the last cutoff', '2026-12-07 23:59', '2026-12-14 00:00'],
  ['on a Friday', '2026-12-11 10:00', '2026-12-17 00:00'],
  ['before Thanksgiving', '2026-11-24 10:00', '2026-12-01 00:00'],
] as const)(
  'in production a prenote that is sent %s lets payments go on the third banking day after it settles',
  (_when, sent, live) => {
    const { liveFrom } = cutoffSchedule(defaultCutoffs, 0);
    expect(liveFrom(eastern(sent))).toBe(eastern(live));
  },
);
