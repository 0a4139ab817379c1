import { randomUUID } from 'node:crypto';
import {
  type BankConnection,
  BankAnswerUnclear,
  BankUnavailable,
  firstConnectionName,
} from '@pis/bank-rails';
import {
  type EventStore,
  EventsLost,
  type LogPage,
  memoryEventStore,
  postgresEventStore,
  sealedStore,
  StoreUnavailable,
} from '@pis/event-store';
import { countingStore } from '@pis/event-store/testing';
import type { Keyring } from '@pis/keyring';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import { failuresMax } from './payment-execution.js';
import type { RailExecutor, RailExecutorOptions } from './rail-executor.js';
import { keyring, openWorld, type QueuedMessage, settle, type World } from './testing/world.js';

const atEnd = closeAfterEach();

const timeoutMs = 20_000;
/** Of an executor. */
const loops = 5;

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);
const completed = ['Queued', 'Processing', 'Completed'];
const silent = () => Promise.reject(new BankUnavailable('no answer'));

describe('a payment without its message', () => {
  it('is found in the log and taken to its end', async () => {
    const [lost, returned] = [await world.queue('4321'), await world.queue('0101')];
    const executor = world.executor();
    await world.followLog();
    await executor.sweepRound();
    // It has a minute to be executed by its message.
    expect(await world.history(lost.paymentId)).toEqual(['Queued']);
    for (const { paymentId } of [lost, returned]) await world.timePasses(paymentId);
    await executor.sweepRound();
    await settle(executor);
    expect(await world.history(lost.paymentId)).toEqual(completed);
    expect(await world.history(returned.paymentId)).toEqual([...completed, 'Returned']);
    expect(await world.count('rail_pending')).toBe(0);
  });

  it('and without its row after the claim becomes FAILED_IN_FLIGHT in time, with or without the bank', async () => {
    const bank = { ...world.bank, submit: silent, inquire: silent, void: silent };
    const message = await world.queue('4321');
    const executor = world.executor({ bank });
    await handle(executor, message);
    await world.pool.query('DELETE FROM rail_pending');
    await world.followLog();
    await world.timePasses(message.paymentId);
    await executor.deadlineRound();
    expect(await world.payment(message.paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
  });

  it('costs no read when its end comes in the next batch', async () => {
    const message = await world.queue('4321');
    await handle(world.executor(), message);
    expect(await world.count('rail_pending')).toBe(0);
    // The log lags: it has the claim, and not yet the end, of a payment whose row is deleted already.
    const behind: EventStore = {
      ...world.store,
      readLog: async (options) => {
        const page = await world.store.readLog(options);
        return { ...page, events: page.events.slice(0, 2) };
      },
      async *subscribe(options) {
        for await (const page of world.store.subscribe(options))
          yield { ...page, events: page.events.slice(0, 2) };
      },
    };
    await world.followLog({ store: behind });
    expect(await world.count('rail_pending')).toBe(1);
    const counting = countingStore(world.store);
    const executor = world.executor({ store: counting });
    await executor.deadlineRound();
    await executor.sweepRound();
    expect(counting.counted()).toMatchObject({ reads: 0, appends: 0 });
    await world.followLog();
    expect(await world.count('rail_pending')).toBe(0);
  });

  it('costs nothing after it has ended, however often the log is read', async () => {
    const executor = world.executor();
    for (const ending of ['4321', '0101', '0201', '0301']) {
      await handle(executor, await world.queue(ending));
    }
    await settle(executor);
    for (let times = 0; times < 2; times += 1) {
      await world.followLog();
      expect(await world.count('rail_pending')).toBe(0);
      await world.pool.query('DELETE FROM rail_log_place');
    }
    expect(await world.count('rail_pending')).toBe(0);
  });

  it.each([
    ['stands behind the log, in a row of an older release', "position = '9', event_id = NULL"],
    ['stands on an event that the log does not have', 'event_id = gen_random_uuid()'],
  ])('is found when the stored position %s', async (_what, changes) => {
    const message = await world.queue('4321');
    await world.followLog();
    await world.pool.query(`DELETE FROM rail_pending`);
    await world.pool.query(`UPDATE rail_log_place SET ${changes}`);
    await world.followLog();
    expect(await world.pending(message.paymentId)).toMatchObject({ stage: 'queued' });
  });

  it('is not acted on from memory after the log has lost events, also if no connection was lost', async () => {
    await world.queue('4321');
    const subscribe = async function* () {
      yield await Promise.reject<LogPage>(new EventsLost('1'));
    };
    let losses = 0;
    const onLost = () => void (losses += 1);
    const following = world.followLog({ store: { ...world.store, subscribe }, onLost });
    await expect(following).rejects.toThrow(EventsLost);
    expect(losses).toBe(1);
  });

  it('keeps its row on a replica when its end was read in the log of the lost database', async () => {
    const { paymentId, ...message } = await world.queue('4321');
    await handle(world.executor(), { paymentId, ...message });
    expect(await world.pending(paymentId)).toBeNull();
    await world.pool.query(
      `INSERT INTO rail_pending (payment_id, reference, rail, stage, connection, submitted_at, deadline_at)
       VALUES ($1, 'R1', 'ACH', 'claimed', $2, now(), now() + interval '1 day')`,
      [paymentId, firstConnectionName],
    );
    await world.pool.query("UPDATE rail_connections SET identity = 'lost'");
    await world.followLog();
    expect(await world.pending(paymentId)).toMatchObject({ stage: 'claimed' });
  });

  it('is found in a log that loses its end after it was checked and before it is read', async () => {
    const read = await world.queue('4321');
    await world.followLog();
    const [event] = await world.store.readStream(`payment-${read.paymentId}`);
    if (event === undefined) throw new Error('the payment has no event');
    const paymentIds = Array.from({ length: 20 }, () => randomUUID());
    const restored = memoryEventStore();
    atEnd(() => restored.close());
    for (const paymentId of paymentIds)
      await restored.append(`payment-${paymentId}`, 'noStream', [{ ...event, id: randomUUID() }]);
    expect((await restored.lastPosition()) > event.position).toBe(true);
    let store = world.store;
    const executor = world.executor({
      store: {
        ...world.store,
        readStream: (...args) => store.readStream(...args),
        lastPosition: () => store.lastPosition(),
        subscribe: (options) => {
          store = restored;
          return restored.subscribe(options);
        },
      },
    });
    atEnd(() => executor.stop());
    executor.start();
    const first = paymentIds[0] ?? '';
    await until(() => world.pending(first), { timeoutMs });
  });

  it('is found in another log that comes with the connection that was lost', async () => {
    const read = await world.queue('4321');
    const restored = memoryEventStore();
    atEnd(() => restored.close());
    let store = world.store;
    const listeners: ((failure: Error | null) => void)[] = [];
    const away: EventStore = {
      ...world.store,
      readStream: (...args) => store.readStream(...args),
      lastPosition: () => store.lastPosition(),
      subscribe: (options) => {
        listeners.push((failure) => options.onConnection?.(failure));
        return store.subscribe(options);
      },
    };
    const executor = world.executor({ store: away });
    atEnd(() => executor.stop());
    executor.start();
    await until(() => world.count('rail_log_place'), { timeoutMs });
    // As long as the log that was read: only its events tell that it is another one.
    const [event] = await world.store.readStream(`payment-${read.paymentId}`);
    if (event === undefined) throw new Error('the payment has no event');
    const paymentId = randomUUID();
    const other = { ...event, id: randomUUID() };
    await restored.append(`payment-${paymentId}`, 'noStream', [other]);
    listeners[0]?.(new StoreUnavailable('lost'));
    store = restored;
    listeners[0]?.(null);
    await until(() => world.pending(paymentId), { timeoutMs });
  });

  it('is found in the log of a replica that PostgreSQL failed over to, which lacks the last payment', async () => {
    const open = () => sealedStore(postgresEventStore({ pool: world.pool }), keyring);
    const [store, gateway] = [open(), open()];
    const queue = async () => {
      const { paymentId } = await world.queue('4321');
      const [event] = await world.store.readStream(`payment-${paymentId}`, { leaveSealed: true });
      if (event === undefined) throw new Error('the payment has no event');
      await gateway.append(`payment-${paymentId}`, 'noStream', [event]);
      return paymentId;
    };
    const executor = world.executor({ store });
    executor.start();
    try {
      await queue();
      await until(() => world.count('rail_log_place'), { timeoutMs });
      const listeners = `FROM pg_stat_activity WHERE datname = current_database() AND query ~ '^LISTEN' AND state = 'idle'`;
      const { rows } = await until(
        async () => {
          const found = await world.pool.query<{ pid: number }>(`SELECT pid ${listeners}`);
          return found.rows.length > 0 && found;
        },
        { timeoutMs },
      );
      await world.pool.query('DELETE FROM events');
      await world.pool.query('UPDATE event_log_head SET position = 0');
      const paymentId = await queue();
      for (const { pid } of rows) await world.pool.query('SELECT pg_terminate_backend($1)', [pid]);
      await until(() => world.pending(paymentId), { timeoutMs });
    } finally {
      await executor.stop();
      await Promise.all([store.close(), gateway.close()]);
    }
  });

  it('is found without reading pages of the log', async () => {
    const store = countingStore(world.store);
    const executor = world.executor({ store });
    atEnd(() => executor.stop());
    executor.start();
    const { paymentId } = await world.queue('4321');
    await until(() => world.pending(paymentId), { timeoutMs });
    expect(store.counted().pages).toBe(0);
  });

  it('keeps its current pause when the log is read again', async () => {
    const message = await world.queue('0501');
    const executor = world.executor();
    await handle(executor, message);
    const dueAt = () =>
      world.pool.query('SELECT deadline_at, attempts FROM rail_pending').then(({ rows }) => rows);
    const before: unknown = await dueAt();
    await world.followLog();
    expect(await dueAt()).toEqual(before);
  });
});

it('nothing is done for a payment while the log lacks what the executor has read', async () => {
  const { paymentId } = await world.queue('4321');
  await world.followLog();
  await world.timePasses(paymentId);
  let log = AbortSignal.abort(new StoreUnavailable('the log is too short'));
  const executor = world.executor({ sameLog: () => Promise.resolve(log) });
  atEnd(() => executor.stop());
  executor.start();
  const failing = () => world.logger.lines.filter((line) => line.includes('the log is too short'));
  await until(() => failing().length === loops, { timeoutMs });
  expect(await world.history(paymentId)).toEqual(['Queued']);
  log = new AbortController().signal;
  await until(async () => (await world.history(paymentId)).at(-1) === 'Completed', { timeoutMs });
});

it('an executor that is stopped while it waits for the first check of the log reports no failure', async () => {
  let waiting = 0;
  const sameLog = (ending: AbortSignal) =>
    new Promise<AbortSignal>((_, reject) => {
      waiting += 1;
      ending.addEventListener('abort', () => reject(ending.reason as Error));
    });
  const executor = world.executor({ sameLog });
  executor.start();
  await until(() => waiting === loops, { timeoutMs });
  await executor.stop();
  expect(world.logger.lines).toEqual([]);
});

it('a payment in review that another executor has executed meanwhile is not executed again', async () => {
  let isInReview = true;
  const reviewing: RailExecutorOptions['review'] = {
    of: (instruction) =>
      isInReview
        ? Promise.resolve({ outcome: 'hold', rule: 'of-the-test' })
        : world.review.of(instruction),
  };
  const message = await world.queue('4321');
  const [slow, quick] = [world.executor({ review: reviewing }), world.executor()];
  await handle(slow, message);
  const row = `SELECT * FROM rail_pending`;
  const { rows } = await world.pool.query<{ reference: string }>(row);
  await handle(quick, message);
  await quick.flush();
  for (const inReview of [true, false]) {
    isInReview = inReview;
    // As if it had been deleted a moment later.
    await world.pool.query(
      `INSERT INTO rail_pending (payment_id, reference, stage, submitted_at, deadline_at)
       VALUES ($1, $2, 'queued', now(), now()) ON CONFLICT (payment_id) DO UPDATE SET deadline_at = now() - make_interval(secs => 1)`,
      [message.paymentId, rows[0]?.reference],
    );
    await slow.sweepRound();
  }
  expect(await world.history(message.paymentId)).toEqual(completed);
  expect(await world.executions()).toBe(1);
  expect(await world.count('rail_pending')).toBe(0);
});

describe('an unexpected error before the claim', () => {
  const broken: Keyring = {
    ...keyring,
    open: () => Promise.reject(new Error('cannot be opened')),
  };

  it('ends in FAILED / INTERNAL_ERROR after its tries, without another message', async () => {
    const message = await world.queue('4321');
    const executor = world.executor({ keyring: broken });
    await handle(executor, message);
    for (let tries = 2; tries < failuresMax; tries += 1) {
      await world.timePasses(message.paymentId);
      await executor.sweepRound();
      expect(await world.history(message.paymentId)).toEqual(['Queued']);
    }
    await world.timePasses(message.paymentId);
    await executor.sweepRound();
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Failed']);
    expect(await world.payment(message.paymentId)).toMatchObject({
      failureCode: 'INTERNAL_ERROR',
    });
    await settle(executor);
    expect(await world.count('rail_pending')).toBe(0);
    expect(await world.count('bank_transfers')).toBe(0);
  });

  it('does not count while the bank is unavailable', async () => {
    const message = await world.queue('4321');
    const bank = { ...world.bank, notifications: silent, inquire: silent, submit: silent };
    const executor = world.executor({ bank });
    await expect(executor.feedRound()).rejects.toBeInstanceOf(BankUnavailable);
    await handle(executor, message);
    for (let tries = 0; tries < 2 * failuresMax; tries += 1) {
      await world.timePasses(message.paymentId);
      await executor.sweepRound();
    }
    expect(await world.history(message.paymentId)).toEqual(['Queued']);
    await world.timePasses(message.paymentId);
    await world.executor().sweepRound();
    expect(await world.history(message.paymentId)).toEqual(completed);
  });
});

describe('one payment that the bank cannot answer for', () => {
  it.each([
    ['an unknown status', () => Promise.reject(new BankAnswerUnclear('500'))],
    ['silence', silent],
  ])('because of %s holds up no other, and its message is handled', async (_what, answer) => {
    const poisoned = await world.queue('4321');
    const only =
      <Result>(ask: (order: Parameters<BankConnection['submit']>[0]) => Promise<Result>) =>
      (order: Parameters<BankConnection['submit']>[0]) =>
        order.paymentId === poisoned.paymentId ? (answer() as Promise<Result>) : ask(order);
    const bank: BankConnection = {
      ...world.bank,
      submit: only(world.bank.submit),
    };
    const executor = world.executor({ bank });
    await handle(executor, poisoned);
    for (let times = 0; times < 5; times += 1) {
      await world.timePasses(poisoned.paymentId);
      await executor.sweepRound();
    }
    const others = await Promise.all(['4321', '4322', '4323', '4324'].map((e) => world.queue(e)));
    for (const other of others) await handle(executor, other);
    for (const { paymentId } of others) expect(await world.history(paymentId)).toEqual(completed);
    expect(await world.history(poisoned.paymentId)).toEqual(['Queued', 'Processing']);
  });
});

describe('an unavailable bank', () => {
  it('is asked by one payment per pause, and all continue when it is back', async () => {
    let [asked, away] = [0, true];
    const bank: BankConnection = {
      ...world.bank,
      inquire: (reference) => {
        asked += 1;
        return away ? silent() : world.bank.inquire(reference);
      },
      submit: (instruction) => {
        asked += 1;
        return away ? silent() : world.bank.submit(instruction);
      },
    };
    const executor = world.executor({ bank });
    const messages = await Promise.all(Array.from({ length: 40 }, () => world.queue('4321')));
    // Messages are handled at once: their payments wait in the table and hold up no others.
    for (const message of messages) await handle(executor, message);
    expect(asked).toBeLessThan(10);
    const askedBefore = asked;
    for (const { paymentId } of messages) await world.timePasses(paymentId);
    // On a slow machine the first pause is over, and one payment asks before the next pause.
    const nextInMs = (await executor.sweepRound()) || (await executor.sweepRound());
    expect(nextInMs).toBeGreaterThan(0);
    expect(asked - askedBefore).toBeLessThan(3);
    away = false;
    const other = world.executor({ bank });
    for (const { paymentId } of messages) await world.timePasses(paymentId);
    await other.sweepRound();
    for (const { paymentId } of messages) expect(await world.history(paymentId)).toEqual(completed);
  });
});
