/** Histories that lose a timer, a row or a part of the log, but must not lose the payment. */
import {
  type BankConnection,
  BankAnswerUnclear,
  BankUnavailable,
  type RailRejection,
} from '@pis/bank-rails';
import { transferOwners } from '@pis/domain';
import { type EventStore, memoryEventStore, StoreUnavailable } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import { failuresMax, unclearMax } from './payment-execution.js';
import type { RailExecutor, RailExecutorOptions } from './rail-executor.js';
import { openWorld, type QueuedMessage, settle, type World } from './testing/world.js';

let world: World;

const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);
const processing = ['Queued', 'Processing'];
const inFlight = [...processing, 'FailedInFlight'];
const rejection: RailRejection = {
  failureCode: 'INTERNAL_ERROR',
  field: null,
  message: 'Create a new payment.',
  reason: 'no such transfer',
  railCode: null,
};
const silent = () => Promise.reject(new BankUnavailable('no answer'));

/** A store as it was restored from a backup: it has the first events of the payment. */
async function restoredWith(events: number, { paymentId }: QueuedMessage): Promise<EventStore> {
  const restored = memoryEventStore();
  const stream = await world.store.readStream(world.streamIdOf(paymentId));
  await restored.append(world.streamIdOf(paymentId), 'noStream', stream.slice(0, events));
  return restored;
}

async function historyIn(store: EventStore, { paymentId }: QueuedMessage): Promise<string[]> {
  const events = await store.readStream(world.streamIdOf(paymentId));
  return events.map(({ type }) => type.replace(/^Payment/, ''));
}

describe.each(transferOwners)('the transfer of a %s:', (owner) => {
  beforeEach(async () => {
    world = await openWorld({ owner });
  });
  afterEach(() => world.close());

  it('a payment without a time for its confirmation stays PROCESSING, also after a crash', async () => {
    const message = await world.queue('0502');
    await handle(world.executor({ bank: { ...world.bank, submit: silent } }), message);
    await world.timePasses(message.paymentId);
    const executor = world.executor();
    await executor.deadlineRound();
    await executor.deadlineRound();
    expect(await world.transfers(message.paymentId)).toMatchObject([{ status: 'pending' }]);
    expect(await world.history(message.paymentId)).toEqual(processing);
  });

  it('a claim that was recorded slowly has its deadline too', async () => {
    const reached = Promise.withResolvers<undefined>();
    const released = Promise.withResolvers<undefined>();
    const slow: EventStore = {
      ...world.store,
      append: async (...args) => {
        reached.resolve(undefined);
        await released.promise;
        return world.store.append(...args);
      },
    };
    const message = await world.queue('0401');
    const handled = handle(world.executor({ store: slow }), message);
    await reached.promise;
    // Another executor sees that the normal time is over, and nothing of the claim.
    await world.timePasses(message.paymentId);
    await world.executor({ review: { of: silent } }).deadlineRound();
    released.resolve(undefined);
    await handled;
    expect(await world.history(message.paymentId)).toEqual(processing);
    await world.timePasses(message.paymentId);
    await world.executor().deadlineRound();
    expect(await world.history(message.paymentId)).toEqual(inFlight);
  });

  it.each([
    ['claimed', 2],
    ['queued', 1],
  ])(
    'a payment that is only %s in a restored log, and in flight by its row, is FAILED_IN_FLIGHT again',
    async (_status, events) => {
      const message = await world.queue('0401');
      await handle(world.executor(), message);
      await settle(world.executor());
      expect(await world.pending(message.paymentId)).toMatchObject({ stage: 'in_flight' });
      const store = await restoredWith(events, message);
      const executor = world.executor({ store });
      await world.timePasses(message.paymentId);
      await executor.sweepRound();
      await executor.deadlineRound();
      expect(await historyIn(store, message)).toEqual(inFlight);
      expect(await world.executions()).toBe(1);
    },
  );

  it.each<[string, RailExecutorOptions['review']['of'], number]>([
    ['blocks', () => Promise.resolve({ outcome: 'blocked', block: {} }), 1],
    ['cannot be made of', () => Promise.reject(new Error('broken')), failuresMax],
  ])(
    'a payment that the bank has taken is claimed again when the review %s it, queued in a restored log',
    async (_what, of, tries) => {
      const message = await world.queue('0401');
      await handle(world.executor(), message);
      expect(await world.pending(message.paymentId)).toMatchObject({ stage: 'submitted' });
      const store = await restoredWith(1, message);
      const executor = world.executor({ store, review: { of } });
      await handle(executor, message);
      for (let times = 1; times < tries; times += 1) {
        await world.timePasses(message.paymentId);
        await executor.sweepRound();
      }
      expect(await historyIn(store, message)).toEqual(processing);
      await world.timePasses(message.paymentId);
      await executor.deadlineRound();
      expect(await historyIn(store, message)).toEqual(inFlight);
      expect(await world.executions()).toBe(1);
    },
  );

  describe('a payment that may have been sent, and is only queued in a restored log', () => {
    const blocks: Partial<RailExecutorOptions> = {
      review: { of: () => Promise.resolve({ outcome: 'blocked', block: {} }) },
    };
    const broken: Partial<RailExecutorOptions> = {
      review: { of: () => Promise.reject(new Error('broken')) },
    };
    type Submit = BankConnection['submit'];
    const lost: Submit = async (instruction) => {
      await world.bank.submit(instruction);
      return silent();
    };

    /** A restored log, with a row of a submission without an answer. Nothing may be submitted again. */
    async function restored(submit: Submit) {
      const message = await world.queue('4321');
      await handle(world.executor({ bank: { ...world.bank, submit } }), message);
      expect(await world.pending(message.paymentId)).toMatchObject({ stage: 'claimed' });
      const store = await restoredWith(1, message);
      const resubmit = () => Promise.reject(new Error('submitted again'));
      return { message, store, bank: { ...world.bank, submit: resubmit } };
    }

    it.each<[string, Submit, readonly string[], Partial<RailExecutorOptions>, number]>([
      ['COMPLETED when the bank has executed it', lost, ['Completed'], blocks, 1],
      ['FAILED when the bank never executes it', silent, ['Failed'], blocks, 1],
      ['COMPLETED also after unexpected errors', lost, ['Completed'], broken, failuresMax],
    ])('is %s, whatever the review says', async (_what, submit, ends, changes, tries) => {
      const { message, store, bank } = await restored(submit);
      const executor = world.executor({ store, bank, ...changes });
      await handle(executor, message);
      for (let times = 1; times < tries; times += 1) {
        await world.timePasses(message.paymentId);
        await executor.sweepRound();
      }
      expect(await historyIn(store, message)).toEqual([...processing, ...ends]);
    });

    it('is not sent again when the executor dies before it claims it', async () => {
      const { message, store, bank } = await restored(lost);
      const append = () => Promise.reject(new StoreUnavailable('away'));
      const dying = world.executor({ store: { ...store, append }, bank, ...blocks });
      await expect(handle(dying, message)).rejects.toBeInstanceOf(StoreUnavailable);
      expect(await world.pending(message.paymentId)).toMatchObject({ sealed: true });
      await handle(world.executor({ store, bank }), message);
      expect(await historyIn(store, message)).toEqual([...processing, 'Completed']);
      expect(await world.executions()).toBe(1);
    });

    it('is claimed for the bank that may have it', async () => {
      const { message, store, bank } = await restored(silent);
      await world.pool.query(`UPDATE rail_pending SET connection = 'former'`);
      await handle(world.executor({ store, bank, ...blocks }), message);
      expect(await historyIn(store, message)).toEqual(processing);
      const [, claim] = await store.readStream(world.streamIdOf(message.paymentId));
      expect(claim?.data).toMatchObject({ connection: 'former' });
    });
  });

  it('a payment in flight without its row is found in the log, and the bank is asked about it', async () => {
    const message = await world.queue('0402');
    const executor = world.executor();
    await handle(executor, message);
    await executor.deadlineRound();
    expect(await world.history(message.paymentId)).toEqual(inFlight);
    await world.pool.query('DELETE FROM rail_pending');
    await world.followLog();
    await world.timePasses(message.paymentId);
    await executor.sweepRound();
    await settle(executor);
    expect(await world.history(message.paymentId)).toEqual([...inFlight, 'Completed']);
    expect(await world.count('rail_pending')).toBe(0);
  });

  it('a payment that a restored log has lost is checked less and less often', async () => {
    const message = await world.queue('0401');
    await handle(world.executor(), message);
    const executor = world.executor({ store: memoryEventStore() });
    for (let times = 0; times < 20; times += 1) {
      await world.timePasses(message.paymentId);
      await executor.sweepRound();
    }
    await executor.deadlineRound();
    const { rows } = await world.pool.query(
      `SELECT deadline_at > now() + interval '1 hour' AS seldom,
            overdue_at > now() + interval '30 minutes' AS postponed FROM rail_pending`,
    );
    expect(rows).toEqual([{ seldom: true, postponed: true }]);
  });

  it('a payment that waits for a bank that is away still gets all its tries', async () => {
    const away = world.executor({
      bank: { ...world.bank, notifications: silent, inquire: silent },
    });
    await expect(away.feedRound()).rejects.toBeInstanceOf(BankUnavailable);
    const message = await world.queue('4321');
    await handle(away, message);
    for (let times = 1; times < failuresMax; times += 1) {
      await world.timePasses(message.paymentId);
      await away.sweepRound();
    }
    const review = { of: () => Promise.reject(new Error('broken')) };
    for (const executor of [world.executor({ review }), world.executor()]) {
      expect(await world.history(message.paymentId)).toEqual(['Queued']);
      await world.timePasses(message.paymentId);
      await executor.sweepRound();
    }
    expect(await world.history(message.paymentId)).toEqual([...processing, 'Completed']);
  });

  it('a payment that the bank never answers clearly before the claim is FAILED, late and once', async () => {
    const bank: BankConnection = {
      ...world.bank,
      notifications: silent,
      inquire: () => Promise.reject(new BankAnswerUnclear('500')),
    };
    const executor = world.executor({ bank });
    await expect(executor.feedRound()).rejects.toBeInstanceOf(BankUnavailable);
    const message = await world.queue('4321');
    await handle(executor, message);
    for (let tries = 2; tries < unclearMax; tries += 1) {
      await world.timePasses(message.paymentId);
      await executor.sweepRound();
    }
    // Much later than for an error of our own: the bank may fix it.
    expect(unclearMax).toBeGreaterThan(failuresMax);
    expect(await world.history(message.paymentId)).toEqual(['Queued']);
    await world.timePasses(message.paymentId);
    await executor.sweepRound();
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Failed']);
    expect(await world.payment(message.paymentId)).toMatchObject({ failureCode: 'INTERNAL_ERROR' });
    expect(await world.count('rail_pending')).toBe(0);
  });

  it('an error for a reference that the bank has forgotten fails no payment', async () => {
    const message = await world.queue('4321');
    const lost = async (instruction: Parameters<BankConnection['submit']>[0]) => {
      await world.bank.submit(instruction);
      return silent();
    };
    await handle(world.executor({ bank: { ...world.bank, submit: lost } }), message);
    await world.timePasses(message.paymentId);
    const error = () => Promise.resolve({ outcome: 'error', rejection } as const);
    const later = () => Date.now() + world.bank.terms.referenceMemoryMs;
    const executor = world.executor({ bank: { ...world.bank, inquire: error }, clock: later });
    await executor.sweepRound();
    expect(await world.history(message.paymentId)).toEqual(processing);
    await world.timePasses(message.paymentId);
    await executor.deadlineRound();
    expect(await world.history(message.paymentId)).toEqual(inFlight);
  });

  it('the row of a completed payment is deleted soon, and at once when the executor stops', async () => {
    const left = async () =>
      Number(
        (await world.pool.query<{ n: string }>('SELECT count(*) AS n FROM rail_pending')).rows[0]
          ?.n,
      );
    const executor = world.executor();
    await handle(executor, await world.queue('4321'));
    await until(async () => (await left()) === 0, {
      timeoutMs: 60_000,
      what: 'the deletion of the row',
    });
    const message = await world.queue('4321');
    await handle(executor, message);
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', 'Completed']);
    await executor.stop();
    expect(await left()).toBe(0);
  });

  it('an error for a transfer that the bank took and has forgotten fails no payment', async () => {
    const message = await world.queue('0401');
    await handle(world.executor(), message);
    expect(await world.pending(message.paymentId)).toMatchObject({ stage: 'submitted' });
    const error = () => Promise.resolve({ outcome: 'error', rejection } as const);
    const later = () => Date.now() + world.bank.terms.referenceMemoryMs;
    const executor = world.executor({ bank: { ...world.bank, inquire: error }, clock: later });
    await world.timePasses(message.paymentId);
    await executor.sweepRound();
    expect(await world.history(message.paymentId)).toEqual(processing);
    expect(await world.pending(message.paymentId)).toMatchObject({ stage: 'submitted' });
  });

  it('a payment that becomes FAILED_IN_FLIGHT while the bank is asked keeps its row', async () => {
    const message = await world.queue('0401');
    await handle(world.executor(), message);
    const other = world.executor();
    const inquire = async () => {
      await world.timePasses(message.paymentId);
      await other.deadlineRound();
      return { outcome: 'error', rejection } as const;
    };
    await world.timePasses(message.paymentId);
    await world.executor({ bank: { ...world.bank, inquire } }).sweepRound();
    expect(await world.history(message.paymentId)).toEqual(inFlight);
    expect(await world.pending(message.paymentId)).toMatchObject({ stage: 'in_flight' });
  });
});
