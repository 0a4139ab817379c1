/** Two banks: ACH goes to the first one, RTP to the second one. Each has books and a feed of its own. */
import {
  type BankConnection,
  BankUnavailable,
  directBankConnection,
  type NamedConnection,
} from '@pis/bank-rails';
import { BankSimulator } from '@pis/bank-simulator/module';
import { memoryEventStore } from '@pis/event-store';
import {
  closeAfterEach,
  createTestDatabase,
  openTestPool,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { Banks } from './banks.js';
import { unclearMax } from './payment-execution.js';
import type { RailExecutor } from './rail-executor.js';
import { openWorld, type QueuedMessage, type World } from './testing/world.js';

const atEnd = closeAfterEach();

/** Connections that are not configured any more are looked at every 15 s, and others every 10 s when nothing is new. */
const timeoutMs = 60_000;
const completed = ['Queued', 'Processing', 'Completed'];
const silent = () => Promise.reject(new BankUnavailable('no answer'));
const never = () => new Promise<never>(() => undefined);

let world: World;
let secondBooks: { pool: pg.Pool; close: () => Promise<void> };
let second: BankConnection;
beforeEach(async () => {
  world = await openWorld();
  const database = await createTestDatabase();
  const pool = openTestPool(database.url, 4);
  const close = async () => {
    await pool.end();
    await database.drop();
  };
  secondBooks = { pool, close };
  second = directBankConnection(new BankSimulator(pool, { delayMs: 0 }));
});
afterEach(async () => {
  await secondBooks.close();
  await world.close();
});

const banksWith = (first: BankConnection, other: BankConnection): readonly NamedConnection[] => [
  { name: 'first', rails: ['ACH'], connection: first },
  { name: 'second', rails: ['RTP'], connection: other },
];
const both = () => banksWith(world.bank, second);
const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);
const executionsAt = async (pool: pg.Pool) =>
  (await pool.query('SELECT reference FROM bank_transfers WHERE executions > 0')).rowCount;

it('a payment goes to the bank of its rail, and its claim says so', async () => {
  const executor = world.executor({ banks: both() });
  const [ach, rtp] = [await world.queue('4321'), await world.queue('4321', 'OUTBOUND', 'RTP')];
  for (const message of [ach, rtp]) await handle(executor, message);
  expect(await world.payment(ach.paymentId)).toMatchObject({ connection: 'first' });
  expect(await world.payment(rtp.paymentId)).toMatchObject({ connection: 'second' });
  for (const { paymentId } of [ach, rtp]) expect(await world.history(paymentId)).toEqual(completed);
  expect(await executionsAt(world.pool)).toBe(1);
  expect(await executionsAt(secondBooks.pool)).toBe(1);
});

it('a claimed payment stays with its bank when the rails move to another one', async () => {
  const lost = async (instruction: Parameters<BankConnection['submit']>[0]) => {
    await world.bank.submit(instruction);
    return silent();
  };
  const message = await world.queue('4321');
  await handle(
    world.executor({ banks: banksWith({ ...world.bank, submit: lost }, second) }),
    message,
  );
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  const moved: readonly NamedConnection[] = [
    { name: 'first', rails: [], connection: world.bank },
    { name: 'second', rails: ['RTP', 'ACH'], connection: second },
  ];
  await world.timePasses(message.paymentId);
  await world.executor({ banks: moved }).sweepRound();
  expect(await world.history(message.paymentId)).toEqual(completed);
  expect(await executionsAt(world.pool)).toBe(1);
  expect(await executionsAt(secondBooks.pool)).toBe(0);
});

it('a payment that a restored log shows as queued stays with the bank that may have it', async () => {
  const lost = async (instruction: Parameters<BankConnection['submit']>[0]) => {
    await world.bank.submit(instruction);
    return silent();
  };
  const message = await world.queue('4321');
  const banks = banksWith({ ...world.bank, submit: lost }, second);
  await handle(world.executor({ banks }), message);
  const store = memoryEventStore();
  const stream = `payment-${message.paymentId}`;
  const [first] = await world.store.readStream(stream);
  await store.append(stream, 'noStream', first === undefined ? [] : [first]);
  const moved: readonly NamedConnection[] = [
    { name: 'first', rails: [], connection: world.bank },
    { name: 'second', rails: ['RTP', 'ACH'], connection: second },
  ];
  await handle(world.executor({ store, banks: moved }), message);
  const events = await store.readStream(stream);
  expect(events.map(({ type }) => type.replace(/^Payment/, ''))).toEqual(completed);
  expect(await executionsAt(world.pool)).toBe(1);
  expect(await executionsAt(secondBooks.pool)).toBe(0);
});

it('the feeds of two banks are read side by side, each with its own checkpoint and order', async () => {
  const executor = world.executor({ banks: both() });
  const messages = [await world.queue('0101'), await world.queue('0102', 'OUTBOUND', 'RTP')];
  for (const message of messages) await handle(executor, message);
  await executor.feedRound();
  for (const { paymentId } of messages)
    expect(await world.history(paymentId)).toEqual([...completed, 'Returned']);
  const { rows } = await world.pool.query('SELECT feed FROM rail_feed_checkpoint ORDER BY feed');
  expect(rows).toEqual([{ feed: 'first' }, { feed: 'second' }]);
});

it('a bank cannot report on a payment of another bank', async () => {
  const message = await world.queue('0401');
  const executor = world.executor({ banks: both() });
  await handle(executor, message);
  const { railReference } = await world.payment(message.paymentId);
  await secondBooks.pool.query(
    `INSERT INTO bank_notifications (reference, type, due_at, created_at)
     VALUES ($1, 'returned', now(), now())`,
    [railReference],
  );
  await executor.feedRound();
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  const { rows } = await world.pool.query('SELECT feed, reason FROM rail_notifications');
  expect(rows).toEqual([{ feed: 'second', reason: 'reported by second, but submitted to first' }]);
  // The first bank's own report is recorded, and does not wait for the other one.
  await world.report(railReference ?? '', 'confirmed');
  await executor.feedRound();
  expect(await world.history(message.paymentId)).toEqual(completed);
});

it.each([
  ['does not answer', { submit: silent, inquire: silent, void: silent, notifications: silent }],
  ['hangs', { submit: never, inquire: never, void: never, notifications: never }],
])('a bank that %s holds up only its own payments', async (_what, changes) => {
  const executor = world.executor({ banks: banksWith({ ...world.bank, ...changes }, second) });
  atEnd(() => executor.stop());
  const stuck = await Promise.all(Array.from({ length: 30 }, () => world.queue('4321')));
  for (const message of stuck) void handle(executor, message).catch(() => undefined);
  await world.pool.query('UPDATE rail_pending SET deadline_at = now() - make_interval(secs => 1)');
  executor.start();
  const others = await Promise.all(
    Array.from({ length: 10 }, () => world.queue('0102', 'OUTBOUND', 'RTP')),
  );
  // Of these, no message ever comes: the log, the sweep and the feed of the second bank do it all.
  await world.followLog({ banks: new Banks(both()) });
  for (const { paymentId } of others) await world.timePasses(paymentId);
  for (const { paymentId } of others)
    await until(async () => (await world.history(paymentId)).at(-1) === 'Returned', { timeoutMs });
});

it('deadlines of a bank that hangs are met, and those of other banks too', async () => {
  const hanging = { ...world.bank, submit: silent, inquire: never, notifications: never };
  const executor = world.executor({ banks: banksWith(hanging, second) });
  atEnd(() => executor.stop());
  const messages = [await world.queue('0401'), await world.queue('0401', 'OUTBOUND', 'RTP')];
  for (const message of messages) await handle(executor, message);
  for (const { paymentId } of messages) await world.timePasses(paymentId);
  executor.start();
  for (const { paymentId } of messages)
    await until(async () => (await world.history(paymentId)).at(-1) === 'FailedInFlight', {
      timeoutMs,
    });
});

describe('a payment whose connection is not configured any more', () => {
  const remaining = (): readonly NamedConnection[] => [
    { name: 'second', rails: ['ACH', 'RTP'], connection: second },
  ];
  const untilInFlight = async (executor: RailExecutor, paymentId: string) => {
    executor.start();
    await until(
      async () => {
        await world.timePasses(paymentId);
        return (await world.history(paymentId)).at(-1) === 'FailedInFlight';
      },
      { timeoutMs },
    );
    await executor.stop();
    expect(await executionsAt(secondBooks.pool)).toBe(0);
  };

  it.each([
    ['taken', {}],
    ['not answered', { submit: silent, inquire: silent, void: silent }],
  ])('is overdue in time and never FAILED when its bank had %s it', async (_what, changes) => {
    const message = await world.queue('0401');
    await handle(
      world.executor({ banks: banksWith({ ...world.bank, ...changes }, second) }),
      message,
    );
    await untilInFlight(world.executor({ banks: remaining() }), message.paymentId);
  });

  it('is overdue at last when its bank held it without a time', async () => {
    const message = await world.queue('0502');
    await handle(world.executor({ banks: banksWith(world.bank, second) }), message);
    const aheadMs = world.bank.terms.referenceMemoryMs + 1_000;
    const clock = () => Date.now() + aheadMs;
    await using ahead = await world.poolWithClockAhead(`${aheadMs} milliseconds`);
    const executor = world.executor({ banks: remaining(), clock, pool: ahead.pool });
    await untilInFlight(executor, message.paymentId);
  });

  it('is overdue in time when its row was lost and its message comes again', async () => {
    const message = await world.queue('0401');
    await handle(
      world.executor({ banks: banksWith({ ...world.bank, submit: silent }, second) }),
      message,
    );
    await world.pool.query('DELETE FROM rail_pending');
    const executor = world.executor({ banks: remaining() });
    await handle(executor, message);
    await untilInFlight(executor, message.paymentId);
  });

  it('is never sent over the bank that has its rail now, when the restored log lacks the claim', async () => {
    const message = await world.queue('4321');
    const lost = async (instruction: Parameters<BankConnection['submit']>[0]) => {
      await world.bank.submit(instruction);
      return silent();
    };
    const asked = { submit: lost, inquire: silent, void: silent };
    await handle(
      world.executor({ banks: banksWith({ ...world.bank, ...asked }, second) }),
      message,
    );
    const store = memoryEventStore();
    const stream = `payment-${message.paymentId}`;
    await store.append(stream, 'noStream', (await world.store.readStream(stream)).slice(0, 1));
    const executor = world.executor({ store, banks: remaining() });
    executor.start();
    await until(
      async () => {
        await world.timePasses(message.paymentId);
        const types = (await store.readStream(stream)).map(({ type }) => type);
        return types.at(-1) === 'PaymentFailedInFlight';
      },
      { timeoutMs },
    );
    await executor.stop();
    const claim = (await store.readStream(stream))[1];
    expect(claim?.data).toMatchObject({ connection: 'first' });
    expect(await executionsAt(secondBooks.pool)).toBe(0);
  });

  it('goes on when its connection is configured again', async () => {
    const message = await world.queue('4321');
    const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 3_600_000 };
    const silentFirst = banksWith({ ...world.bank, submit: silent }, second);
    await handle(world.executor({ config, banks: silentFirst }), message);
    await world.timePasses(message.paymentId);
    await world.executor({ config, banks: remaining() }).sweepRound();
    const executor = world.executor({ config, banks: both() });
    await world.timePasses(message.paymentId);
    await executor.sweepRound();
    await world.timePasses(message.paymentId);
    await executor.sweepRound();
    expect(await world.history(message.paymentId)).toEqual(completed);
    expect(await executionsAt(world.pool)).toBe(1);
  });
});

it('a payment of a rail without a bank waits for hours, and then fails without being sent', async () => {
  const executor = world.executor({ banks: both() });
  const message = await world.queue('4321', 'OUTBOUND', 'FEDNOW');
  await handle(executor, message);
  for (let tries = 2; tries < unclearMax; tries += 1) {
    await world.timePasses(message.paymentId);
    await executor.sweepRound();
  }
  expect(await world.history(message.paymentId)).toEqual(['Queued']);
  // A round may come a moment before the row is due, whose time is rounded to milliseconds.
  await until(
    async () => {
      await world.timePasses(message.paymentId);
      await executor.sweepRound();
      return (await world.history(message.paymentId)).length > 1;
    },
    { timeoutMs: 60_000, what: 'the end of the payment' },
  );
  expect(await world.payment(message.paymentId)).toMatchObject({ failureCode: 'INTERNAL_ERROR' });
});

it('a row of an older release is handed over to the bank of its payment', async () => {
  const message = await world.queue('4321', 'OUTBOUND', 'RTP');
  await world.followLog({ banks: new Banks(both()) });
  await world.pool.query(`UPDATE rail_pending SET connection = ''`);
  const executor = world.executor({ banks: both() });
  await world.timePasses(message.paymentId);
  await executor.sweepRound();
  await executor.sweepRound();
  expect(await world.history(message.paymentId)).toEqual(completed);
  expect(await executionsAt(secondBooks.pool)).toBe(1);
});
