import {
  type BankConnection,
  feedBeginning,
  type RailRejection,
  railReferenceOf,
} from '@pis/bank-rails';
import { transferOwners } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import { openWorld, type QueuedMessage, settle, type World } from './testing/world.js';
import type { RailExecutor } from './rail-executor.js';

let world: World;

const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);
const returned = ['Queued', 'Processing', 'Completed', 'Returned'];

const rejection: RailRejection = {
  failureCode: 'INTERNAL_ERROR',
  field: null,
  message: 'Create a new payment.',
  reason: 'not this one',
  railCode: null,
};

describe.each(transferOwners)('the transfer of a %s:', (owner) => {
  beforeEach(async () => {
    world = await openWorld({ owner });
  });
  afterEach(() => world.close());

  describe('a notification of the bank', () => {
    it('of a return before the completion was recorded records both, in order', async () => {
      const message = await world.queue('0101');
      // It reports the return before any executor knows of the acceptance.
      const bank: BankConnection = {
        ...world.bank,
        async submit(instruction) {
          const result = await world.bank.submit(instruction);
          await settle(world.executor());
          return result;
        },
      };
      await handle(world.executor({ bank }), message);
      expect(await world.history(message.paymentId)).toEqual(returned);
      expect(await world.payment(message.paymentId)).toMatchObject({ returnReasonCode: 'R01' });
    });

    it('of a confirmation after the deadline completes the payment', async () => {
      const message = await world.queue('0402');
      const executor = world.executor();
      await handle(executor, message);
      await executor.deadlineRound();
      expect(await world.payment(message.paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
      await executor.sweepRound();
      await executor.feedRound();
      const payment = await world.payment(message.paymentId);
      expect(payment).toMatchObject({ status: 'COMPLETED', failedAt: null, failureReason: null });
    });

    it('on a page that a stopping executor did not read fails no payment', async () => {
      const message = await world.queue('0401');
      await handle(world.executor(), message);
      const { railReference } = await world.payment(message.paymentId);
      await world.report(railReference ?? '', 'confirmed');
      const asked = Promise.withResolvers<undefined>();
      const bank: BankConnection = {
        ...world.bank,
        notifications: () => {
          asked.resolve(undefined);
          return new Promise(() => undefined);
        },
      };
      const executor = world.executor({ bank });
      const stopped = expect(executor.deadlineRound()).rejects.toThrow(/the executor stops/);
      await asked.promise;
      await executor.stop();
      await stopped;
      expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
      await world.timePasses(message.paymentId);
      await settle(world.executor());
      expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', 'Completed']);
    });

    it('of a rejection fails a payment that was waiting for its confirmation', async () => {
      const message = await world.queue('0502');
      await handle(world.executor(), message);
      const { railReference } = await world.payment(message.paymentId);
      await world.report(railReference ?? '', 'rejected');
      await settle(world.executor());
      expect(await world.payment(message.paymentId)).toMatchObject({
        status: 'FAILED',
        failureCode: 'INTERNAL_ERROR',
      });
    });

    it('that comes twice is recorded once', async () => {
      const message = await world.queue('0101');
      await handle(world.executor(), message);
      await settle(world.executor());
      const { railReference } = await world.payment(message.paymentId);
      for (const type of ['confirmed', 'returned']) await world.report(railReference ?? '', type);
      await settle(world.executor());
      await world.pool.query('DELETE FROM rail_feed_checkpoint');
      await settle(world.executor());
      expect(await world.history(message.paymentId)).toEqual(returned);
      expect(await world.count('rail_notifications')).toBe(0);
    });

    it('that fits no payment is kept and holds up no other', async () => {
      const queued = await world.queue('4321');
      const rejected = await world.queue('4321');
      const good = await world.queue('0102');
      const of = () => Promise.resolve({ outcome: 'rejected', rejection } as const);
      await handle(world.executor({ review: { of } }), rejected);
      await handle(world.executor(), good);
      await world.pool.query("UPDATE bank_notifications SET due_at = now() + interval '1 hour'");
      await world.report('not-one-of-ours', 'returned');
      await world.report('0000000000000000000001', 'confirmed');
      for (const { paymentId } of [queued, rejected]) {
        await world.report(railReferenceOf(paymentId), 'returned');
      }
      await world.pool.query("UPDATE bank_notifications SET due_at = now() - interval '1 second'");
      await settle(world.executor());
      await world.makeNotificationsDue();
      await settle(world.executor());
      expect(await world.count('rail_notifications')).toBe(4);
      expect(await world.history(queued.paymentId)).toEqual(['Queued']);
      expect(await world.history(rejected.paymentId)).toEqual(['Queued', 'Failed']);
      expect(await world.history(good.paymentId)).toEqual(returned);
      expect(world.logger.lines.join()).toContain('fits no payment');
    });

    it('is read behind pages that say nothing', async () => {
      const good = await world.queue('0102');
      await handle(world.executor(), good);
      const bank: BankConnection = {
        ...world.bank,
        notifications: (page) => {
          const silent =
            page.after === feedBeginning ? 0 : Number(/^silent(\d+)$/.exec(page.after)?.[1]);
          if (silent < 30)
            return Promise.resolve({ notifications: [], cursor: `silent${silent + 1}` });
          return world.bank.notifications({
            ...page,
            after: page.after === 'silent30' ? feedBeginning : page.after,
          });
        },
      };
      const executor = world.executor({ bank });
      for (let pages = 0; pages < 30; pages += 1) await executor.feedRound();
      const { rows } = await world.pool.query('SELECT cursor FROM rail_feed_checkpoint');
      expect(rows).toEqual([{ cursor: 'silent30' }]);
      await settle(world.executor({ bank }));
      expect(await world.history(good.paymentId)).toEqual(returned);
    });

    it('is read at once behind a page that may not be the last one', async () => {
      const message = await world.queue('0502');
      await handle(world.executor(), message);
      const { railReference } = await world.payment(message.paymentId);
      for (let reports = 0; reports < 2; reports += 1)
        await world.report(railReference ?? '', 'confirmed');
      const bank: BankConnection = {
        ...world.bank,
        notifications: async ({ after }) => {
          const page = await world.bank.notifications({ after, max: 1 });
          return { ...page, mayHaveMore: page.notifications.length > 0 };
        },
      };
      const executor = world.executor({ bank });
      expect(await executor.feedRound()).toBe(0);
      expect(await executor.feedRound()).toBe(0);
      expect(await executor.feedRound()).toBeNull();
      expect(await world.count('rail_notifications')).toBe(0);
    });

    it('is left with the bank while too many wait to be recorded', async () => {
      await world.pool.query(
        `INSERT INTO rail_notified_references (reference, feed, tries, due_at, since)
         SELECT 'untried' || n, 'bank', 0, 'infinity', now() FROM generate_series(1, 2000) n`,
      );
      let asked = 0;
      const bank: BankConnection = {
        ...world.bank,
        notifications: async ({ after }) => {
          asked += 1;
          return { notifications: [], cursor: `${after}x`, mayHaveMore: true };
        },
      };
      const executor = world.executor({ bank });
      expect(await executor.feedRound()).not.toBe(0);
      expect(asked).toBe(0);
      await world.pool.query('DELETE FROM rail_notified_references');
      expect(await executor.feedRound()).toBe(0);
      expect(asked).toBe(1);
    });

    it('with a reference that no database can store holds up no other', async () => {
      const good = await world.queue('0102');
      await handle(world.executor(), good);
      const bank: BankConnection = {
        ...world.bank,
        notifications: (page) => {
          if (page.after !== feedBeginning) return world.bank.notifications(page);
          const unreadable = { sequence: '0', reference: 'a\0b\ud800', type: 'returned' } as const;
          const none = {
            returnReasonCode: null,
            returnReference: null,
            returnedAmount: null,
            sentAmountMinor: null,
            rejection: null,
            correction: null,
          };
          const rest = { ...none, at: new Date().toISOString() };
          return Promise.resolve({ notifications: [{ ...unreadable, ...rest }], cursor: '0' });
        },
      };
      await settle(world.executor({ bank }));
      expect(await world.history(good.paymentId)).toEqual(returned);
      const { rows } = await world.pool.query('SELECT reference FROM rail_notifications');
      expect(rows).toEqual([{ reference: 'a\ufffdb\ufffd' }]);
    });

    it('that fails to be recorded is retried and holds up no other', async () => {
      const [broken, good] = await Promise.all(
        ['0101', '0102'].map((ending) => world.queue(ending)),
      );
      for (const message of [broken, good]) if (message) await handle(world.executor(), message);
      const store: EventStore = {
        ...world.store,
        readStream: (streamId, options) =>
          streamId === world.streamIdOf(broken?.paymentId ?? '')
            ? Promise.reject(new Error('corrupt'))
            : world.store.readStream(streamId, options),
      };
      await settle(world.executor({ store }));
      expect(await world.history(good?.paymentId ?? '')).toEqual(returned);
      const { rows } = await world.pool.query('SELECT reason FROM rail_notifications');
      expect(rows).toEqual([{ reason: 'corrupt' }]);
      await world.makeNotificationsDue();
      await settle(world.executor());
      expect(await world.history(broken?.paymentId ?? '')).toEqual(returned);
      expect(await world.count('rail_notifications')).toBe(0);
    });

    it('is stored and recorded once by several executors', async () => {
      const messages = await Promise.all(Array.from({ length: 30 }, () => world.queue('0101')));
      const executors = [world.executor(), world.executor(), world.executor()];
      await Promise.all(messages.map((message) => handle(world.executor(), message)));
      await Promise.all(executors.map((executor) => executor.feedRound()));
      await settle(world.executor());
      for (const { paymentId } of messages)
        expect(await world.history(paymentId)).toEqual(returned);
      const { cursor } = await world.bank.notifications({ after: feedBeginning, max: 500 });
      const { rows } = await world.pool.query('SELECT cursor FROM rail_feed_checkpoint');
      expect(rows).toEqual([{ cursor }]);
    });
  });
});
