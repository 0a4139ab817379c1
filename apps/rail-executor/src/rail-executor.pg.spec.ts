import { type BankConnection, BankUnavailable, feedBeginning } from '@pis/bank-rails';
import { type EventStore, StoreUnavailable } from '@pis/event-store';
import { NonRetryable } from '@pis/messaging';
import { until } from '@pis/local-servers/testing';
import {
  contactNumbersEnding,
  keyring,
  openWorld,
  originatorNumbers,
  type QueuedMessage,
  settle,
  traceparent,
  type World,
} from './testing/world.js';
import type { RailExecutor } from './rail-executor.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);
const completed = ['Queued', 'Processing', 'Completed'];
const returned = [...completed, 'Returned'];

describe('a message about a queued payment', () => {
  it('that arrives twice moves the money once', async () => {
    const executor = world.executor();
    const message = await world.queue('4321');
    await handle(executor, message);
    await handle(executor, message);
    expect(await world.history(message.paymentId)).toEqual(completed);
    expect(await world.transfers(message.paymentId)).toMatchObject([{ submissions: 1 }]);
  });

  it('that several executors handle at the same time moves the money once', async () => {
    const executors = [world.executor(), world.executor(), world.executor()];
    const messages = await Promise.all(
      ['4321', '0101', '0204', '0402'].flatMap((ending) =>
        Array.from({ length: 5 }, () => world.queue(ending)),
      ),
    );
    await Promise.all(
      messages.flatMap((message) => executors.map((executor) => handle(executor, message))),
    );
    await Promise.all(executors.map(settle));
    await settle(world.executor());
    const ends = [
      completed,
      returned,
      ['Queued', 'Processing', 'Failed'],
      ['Queued', 'Processing', 'FailedInFlight', 'Completed'],
    ];
    for (const [index, { paymentId }] of messages.entries()) {
      expect(await world.history(paymentId)).toEqual(ends[Math.floor(index / 5)]);
      expect(await world.transfers(paymentId)).toHaveLength(1);
    }
    expect(await world.count('rail_notifications')).toBe(0);
  });

  it('that arrives after the payment has ended changes nothing', async () => {
    const message = await world.queue('0101');
    await handle(world.executor(), message);
    await settle(world.executor());
    await handle(world.executor(), message);
    expect(await world.history(message.paymentId)).toEqual(returned);
  });

  it('opens no account before the simulated review of the payment is over', async () => {
    const hourMs = 3_600_000;
    const opened: string[] = [];
    const open: typeof keyring.open = (text, owner, place) => {
      opened.push(owner);
      return keyring.open(text, owner, place);
    };
    let passedMs = 0;
    const executor = world.executor({
      config: { ...world.config, PIS_SANDBOX_RAIL_DELAY_MS: hourMs },
      keyring: { ...keyring, open },
      clock: () => Date.now() + passedMs,
    });
    const message = await world.queue('4321');
    await handle(executor, message);
    expect(opened).toEqual([]);
    expect(await world.history(message.paymentId)).toEqual(['Queued']);
    expect(await world.pending(message.paymentId)).toMatchObject({ stage: 'queued' });
    passedMs = hourMs;
    await world.timePasses(message.paymentId);
    await executor.sweepRound();
    expect(opened).not.toEqual([]);
    expect(await world.transfers(message.paymentId)).toHaveLength(1);
  });

  it('is traced to the events that it caused', async () => {
    const message = await world.queue('4321');
    await handle(world.executor(), message);
    const [first, ...ours] = await world.store.readStream(`payment-${message.paymentId}`);
    for (const event of ours)
      expect(event.metadata).toMatchObject({
        actor: 'system:rail-executor',
        requestId: null,
        correlationId: first?.metadata.correlationId,
        causationId: message.eventId,
        traceparent,
      });
  });

  it.each(['payment.processing', 'payment.completed', 'payment.returned'])(
    'is not what %s is',
    async (eventType) => {
      const message = await world.queue('4321');
      const value = { ...(message.value as object), eventType };
      const withHeader = { ...message.delivery.headers, 'event-type': eventType };
      await world.executor().handle(value, { ...message.delivery, headers: withHeader });
      await world.executor().handle(value, { ...message.delivery, headers: {} });
      expect(await world.history(message.paymentId)).toEqual(['Queued']);
    },
  );

  it('is rejected at once when it is not a payment event', async () => {
    const { delivery } = await world.queue('4321');
    for (const value of [null, 'x', {}, { eventType: 'payment.queued', data: { paymentId: '1' } }])
      await expect(world.executor().handle(value, delivery)).rejects.toBeInstanceOf(NonRetryable);
  });
});

describe('while a dependency is unavailable', () => {
  const silent = () => Promise.reject(new BankUnavailable('no answer'));
  const bankWithoutSubmissions = (effect: boolean): BankConnection => ({
    ...world.bank,
    submit: async (instruction) => {
      if (effect) await world.bank.submit(instruction);
      return silent();
    },
  });

  it('a payment waits in QUEUED for a bank that is known to be away', async () => {
    const message = await world.queue('4321');
    const bank = { ...world.bank, notifications: silent, inquire: silent, submit: silent };
    const executor = world.executor({ bank });
    await expect(executor.feedRound()).rejects.toBeInstanceOf(BankUnavailable);
    await handle(executor, message);
    expect(await world.history(message.paymentId)).toEqual(['Queued']);
    // No second message is needed.
    await world.timePasses(message.paymentId);
    await world.executor().sweepRound();
    expect(await world.history(message.paymentId)).toEqual(completed);
  });

  it.each([
    ['was not', false, 1],
    ['was', true, 2],
  ])(
    'a payment is never FAILED while it is unknown whether it was submitted, and it %s',
    async (_what, effect, submissions) => {
      const message = await world.queue('4321');
      const executor = world.executor({ bank: bankWithoutSubmissions(effect) });
      for (let tries = 0; tries < 2; tries += 1) {
        await handle(executor, message);
        expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
      }
      await world.timePasses(message.paymentId);
      await world.executor().sweepRound();
      expect(await world.history(message.paymentId)).toEqual(completed);
      expect(await world.transfers(message.paymentId)).toMatchObject([
        { submissions: effect ? submissions + 1 : submissions },
      ]);
    },
  );

  it('the message is delivered again when the event store cannot be written', async () => {
    const message = await world.queue('4321');
    const store: EventStore = {
      ...world.store,
      append: () => Promise.reject(new StoreUnavailable('away')),
    };
    await expect(handle(world.executor({ store }), message)).rejects.toBeInstanceOf(
      StoreUnavailable,
    );
    expect(await world.history(message.paymentId)).toEqual(['Queued']);
    await handle(world.executor(), message);
    expect(await world.history(message.paymentId)).toEqual(completed);
  });

  it('a return waits for the event store, and nothing else waits for the return', async () => {
    const messages = await Promise.all(['0101', '0102'].map((ending) => world.queue(ending)));
    for (const message of messages) await handle(world.executor(), message);
    const [first, second] = messages;
    const cut: EventStore = {
      ...world.store,
      append: (streamId, ...rest) =>
        streamId === `payment-${first?.paymentId ?? ''}`
          ? Promise.reject(new StoreUnavailable('away'))
          : world.store.append(streamId, ...rest),
    };
    await world.executor({ store: cut }).feedRound();
    expect(await world.history(second?.paymentId ?? '')).toEqual(returned);
    await world.makeNotificationsDue();
    await settle(world.executor());
    expect(await world.history(first?.paymentId ?? '')).toEqual(returned);
    expect(await world.count('rail_notifications')).toBe(0);
  });

  it('its loops survive cut database connections', async () => {
    const executor = world.executor();
    executor.start();
    const message = await world.queue('0101');
    for (let cut = 0; cut < 3; cut += 1)
      await world.pool
        .query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()',
        )
        .catch(() => undefined);
    await until(
      async () => {
        await handle(executor, message);
        return (await world.history(message.paymentId)).length === returned.length;
      },
      { timeoutMs: 20_000 },
    );
    await executor.stop();
    expect(await world.history(message.paymentId)).toEqual(returned);
  });

  it('a bank that does not answer does not hold up the shutdown', async () => {
    const answer = Promise.withResolvers<{ notifications: []; cursor: string }>();
    const asked = Promise.withResolvers<void>();
    const bank: BankConnection = {
      ...world.bank,
      notifications: () => {
        asked.resolve();
        return answer.promise;
      },
    };
    const executor = world.executor({ bank });
    executor.start();
    await asked.promise;
    const since = performance.now();
    await executor.stop();
    expect(performance.now() - since).toBeLessThan(15_000);
    answer.resolve({ notifications: [], cursor: feedBeginning });
  });

  it('health reports that the bank is unavailable, and that it is back', async () => {
    let away = true;
    const bank: BankConnection = {
      ...world.bank,
      notifications: (page) =>
        away ? Promise.reject(new BankUnavailable('no answer')) : world.bank.notifications(page),
    };
    const executor = world.executor({ bank });
    await expect(executor.checkBank('bank')).resolves.toBeUndefined();
    await expect(executor.feedRound()).rejects.toThrow('no answer');
    await expect(executor.checkBank('bank')).rejects.toThrow('no answer');
    away = false;
    await executor.feedRound();
    await expect(executor.checkBank('bank')).resolves.toBeUndefined();
  });
});

describe('full account numbers', () => {
  it('are in no table, no event and no log line, whatever happened', async () => {
    const endings = ['4321', '0101', '0201', '0202', '0204', '0301', '0402', '0501', '0502'];
    const executor = world.executor({
      bank: { ...world.bank, inquire: () => Promise.reject(new BankUnavailable('no answer')) },
    });
    for (const ending of endings) await handle(executor, await world.queue(ending));
    await settle(executor);
    const tables = await world.pool.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
    );
    const rows = await Promise.all(
      tables.rows.map(({ name }) => world.pool.query(`SELECT t::text AS row FROM "${name}" t`)),
    );
    const log = await world.store.readLog({ after: '', pageMax: 1_000 });
    const everything = JSON.stringify([
      rows.flatMap((table) => table.rows as unknown[]),
      log.events,
      world.logger.lines,
    ]);
    expect(everything).toContain('looked at again');
    const numbers = [originatorNumbers, ...endings.map(contactNumbersEnding)];
    for (const { achAccountNumber, achRoutingNumber } of numbers) {
      expect(everything).not.toContain(achAccountNumber);
      expect(everything).not.toContain(achRoutingNumber);
    }
  });
});
