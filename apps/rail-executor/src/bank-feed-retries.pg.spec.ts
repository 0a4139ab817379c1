/** Notifications that come early, twice, in great number, or while an executor dies. */
import { randomUUID } from 'node:crypto';
import { type BankConnection, BankUnavailable, railReferenceOf } from '@pis/bank-rails';
import { type EventStore, StoreUnavailable, WrongExpectedRevision } from '@pis/event-store';
import { reporting } from './testing/reporting.js';
import { openWorld, type QueuedMessage, settle, type World } from './testing/world.js';
import type { RailExecutor } from './rail-executor.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);
const processing = ['Queued', 'Processing'];
const completed = [...processing, 'Completed'];
const returned = [...completed, 'Returned'];

/** Shows only the first events of one payment, like a follower that has not caught up. */
function lagging(paymentId: string, eventsMax: number): EventStore {
  return {
    ...world.store,
    readStream: async (streamId, options) => {
      const events = await world.store.readStream(streamId, options);
      return streamId === `payment-${paymentId}` ? events.slice(0, eventsMax) : events;
    },
  };
}

/** A payment that the bank has taken and not confirmed, and the bank's name for it. */
async function submitted(): Promise<{ paymentId: string; reference: string }> {
  const message = await world.queue('0502');
  await handle(world.executor(), message);
  const { paymentId } = message;
  return { paymentId, reference: railReferenceOf(paymentId) };
}

const reasons = async () =>
  (
    await world.pool.query<{ reason: string }>(
      'SELECT reason FROM rail_notifications ORDER BY arrival',
    )
  ).rows.map(({ reason }) => reason);

describe('a notification that does not fit yet', () => {
  it('because the claim is not visible yet is recorded later, in order, and holds up no other', async () => {
    const [late, other] = [await submitted(), await submitted()];
    await world.report(late.reference, 'confirmed');
    await world.report(late.reference, 'returned');
    await world.report(other.reference, 'confirmed');
    await settle(world.executor({ store: lagging(late.paymentId, 1) }));
    expect(await world.history(late.paymentId)).toEqual(processing);
    expect(await world.history(other.paymentId)).toEqual(completed);
    expect(await world.count('rail_notifications')).toBe(2);

    await world.makeNotificationsDue();
    await settle(world.executor());
    expect(await world.history(late.paymentId)).toEqual(returned);
    expect(await world.count('rail_notifications')).toBe(0);
  });

  it('because the payment is not visible yet is recorded when it becomes visible', async () => {
    const { paymentId, reference } = await submitted();
    await world.report(reference, 'confirmed');
    await settle(world.executor({ store: lagging(paymentId, 0) }));
    expect(await reasons()).toEqual([expect.stringContaining('does not exist')]);
    await world.makeNotificationsDue();
    await settle(world.executor());
    expect(await world.history(paymentId)).toEqual(completed);
  });

  it('because every read is stale and every append conflicts is recorded later', async () => {
    const { paymentId, reference } = await submitted();
    await world.report(reference, 'confirmed');
    const store: EventStore = {
      ...world.store,
      append: (streamId) => Promise.reject(new WrongExpectedRevision(streamId, 1, 2)),
    };
    await settle(world.executor({ store }));
    expect(await world.history(paymentId)).toEqual(processing);
    await world.makeNotificationsDue();
    await settle(world.executor());
    expect(await world.history(paymentId)).toEqual(completed);
  });

  it('holds up later notifications of the same payment', async () => {
    const { paymentId, reference } = await submitted();
    const behind = lagging(paymentId, 1);
    await world.report(reference, 'rejected');
    await settle(world.executor({ store: behind }));
    await world.report(reference, 'confirmed');
    await settle(world.executor({ store: behind }));
    await world.makeNotificationsDue();
    await settle(world.executor());
    expect(await world.history(paymentId)).toEqual([...processing, 'Failed']);
    // The bank contradicts itself: staff must decide.
    expect(await reasons()).toEqual(['confirmed, but the payment is FAILED']);
  });

  it('is retried after a pause as long as its age, for three days, and when a new one arrives', async () => {
    const { paymentId, reference } = await submitted();
    await world.report(reference, 'confirmed');
    const behind = world.executor({ store: lagging(paymentId, 1) });
    await behind.feedRound();
    const pauseAfter = async (age: string): Promise<number> => {
      await world.pool.query(
        'UPDATE rail_notified_references SET since = now() - $1::interval, due_at = now() - make_interval(secs => 1)',
        [age],
      );
      await behind.feedRound();
      const { rows } = await world.pool.query<{ seconds: number }>(
        'SELECT extract(epoch FROM due_at - now())::float8 AS seconds FROM rail_notified_references',
      );
      return rows[0]?.seconds ?? 0;
    };
    for (const [age, seconds] of [
      ['0 seconds', 1],
      ['10 minutes', 600],
      ['5 hours', 3_600],
    ] as const)
      expect(Math.abs((await pauseAfter(age)) - seconds)).toBeLessThan(30);
    expect(await pauseAfter('73 hours')).toBe(Infinity);

    await world.report(reference, 'confirmed');
    await settle(world.executor());
    expect(await world.history(paymentId)).toEqual(completed);
    expect(await world.count('rail_notifications')).toBe(0);
  });
});

it('is retried without a pause between batches only while some fit', async () => {
  const payments = await Promise.all(Array.from({ length: 60 }, submitted));
  for (const { reference } of payments) await world.report(reference, 'confirmed');
  const store: EventStore = { ...world.store, readStream: () => Promise.resolve([]) };
  const blind = world.executor({ store });
  // What is due and cannot be recorded is looked at again soon: another executor may have it, and die.
  for (const nextInMs of [null, 5_000]) {
    expect(await blind.feedRound()).toBe(nextInMs);
    await world.makeNotificationsDue();
  }
  const executor = world.executor();
  expect(await executor.feedRound()).toBe(0);
  await executor.feedRound();
  for (const { paymentId } of payments) expect(await world.history(paymentId)).toEqual(completed);
  expect(await world.count('rail_notifications')).toBe(0);
});

it('is retried when it is due, by a loop that has nothing else to do', async () => {
  const { paymentId, reference } = await submitted();
  await world.report(reference, 'confirmed');
  await settle(world.executor({ store: lagging(paymentId, 0) }));
  await world.pool.query(
    `UPDATE rail_notified_references SET due_at = now() + interval '1 hour', leased_until = NULL`,
  );
  const executor = world.executor();
  const inMs = await executor.feedRound();
  expect(inMs).toBeGreaterThan(3_000_000);
  expect(inMs).toBeLessThanOrEqual(3_600_000);
  // Only on request.
  await world.pool.query(`UPDATE rail_notified_references SET due_at = 'infinity'`);
  expect(await executor.feedRound()).toBeNull();
});

describe('a notification that contradicts its payment', () => {
  it('is kept and does not hold up later ones', async () => {
    const { paymentId, reference } = await submitted();
    await world.report(reference, 'confirmed');
    await settle(world.executor());
    await world.report(reference, 'rejected');
    await settle(world.executor());
    await world.report(reference, 'returned');
    await settle(world.executor());
    expect(await world.history(paymentId)).toEqual(returned);
    expect(await reasons()).toEqual(['rejected, but the payment is RETURNED']);
  });

  it.each(['FAILED', 'FAILED_IN_FLIGHT'] as const)(
    'because the bank holds what is known never to be executed, and is %s, is kept',
    async (status) => {
      const { paymentId, reference } = await submitted();
      if (status === 'FAILED_IN_FLIGHT') {
        await world.pool.query("UPDATE rail_pending SET overdue_at = now() - interval '1 second'");
        await world.executor().deadlineRound();
      }
      const reports = [
        { type: 'rejected', reference } as const,
        { type: 'held', reference } as const,
      ];
      await world.executor({ bank: reporting(world.bank, reports) }).feedRound();
      expect(await world.payment(paymentId)).toMatchObject({ status });
      expect(await reasons()).toEqual([`held, but the payment is ${status}`]);
    },
  );

  it('is none of what the bank held before it rejected it, also when that is recorded twice', async () => {
    const { paymentId, reference } = await submitted();
    const bank = reporting(world.bank, [
      { type: 'held', reference },
      { type: 'rejected', reference },
    ]);
    for (let times = 0; times < 2; times += 1) {
      // The executor dies before it notes what it has recorded.
      await world.pool.query('DELETE FROM rail_feed_checkpoint');
      await world.executor({ bank }).feedRound();
    }
    expect(await world.payment(paymentId)).toMatchObject({ status: 'FAILED' });
    expect(await reasons()).toEqual([]);
  });

  it('or that cannot be read is kept and holds up nothing', async () => {
    const { paymentId, reference } = await submitted();
    const notification = (sequence: string, type: 'unreadable' | 'confirmed') =>
      ({
        sequence,
        reference,
        type,
        returnReasonCode: null,
        returnReference: null,
        returnedAmount: null,
        sentAmountMinor: null,
        rejection: null,
        correction: null,
        at: new Date().toISOString(),
      }) as const;
    const notifications = [notification('1', 'unreadable'), notification('2', 'confirmed')];
    const bank: BankConnection = {
      ...world.bank,
      notifications: ({ after }) =>
        Promise.resolve({ notifications: after === '2' ? [] : notifications, cursor: '2' }),
    };
    await settle(world.executor({ bank }));
    expect(await world.history(paymentId)).toEqual(completed);
    expect(await reasons()).toEqual(['this release cannot read what the bank reported']);
  });

  it('costs a bounded number of tries per round and does not delay new ones', async () => {
    const junk = Array.from({ length: 120 }, () => railReferenceOf(randomUUID()));
    for (const reference of junk) await world.report(reference, 'confirmed');
    await settle(world.executor());
    expect(await world.count('rail_notifications')).toBe(junk.length);
    const { paymentId, reference } = await submitted();
    await world.report(reference, 'confirmed');
    await world.makeNotificationsDue();

    let reads = 0;
    const store: EventStore = {
      ...world.store,
      readStream: (...args) => {
        reads += 1;
        return world.store.readStream(...args);
      },
    };
    await world.executor({ store }).feedRound();
    expect(await world.history(paymentId)).toEqual(completed);
    // A reference of nobody costs two: it is no payment and no collection.
    expect(reads).toBeLessThanOrEqual(2 * 50 + 10);
  });
});

describe('several executors', () => {
  it('hold no transaction open while the bank or the event store is asked', async () => {
    const { paymentId, reference } = await submitted();
    await world.report(reference, 'confirmed');
    const open: number[] = [];
    const look = async () => {
      const { rows } = await world.pool.query<{ open: number }>(
        `SELECT count(*)::int AS open FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
            AND backend_type = 'client backend'`,
      );
      open.push(rows[0]?.open ?? -1);
    };
    const bank: BankConnection = {
      ...world.bank,
      async notifications(page) {
        await look();
        return world.bank.notifications(page);
      },
    };
    const store: EventStore = {
      ...world.store,
      async readStream(...args) {
        await look();
        return world.store.readStream(...args);
      },
    };
    await settle(world.executor({ bank, store }));
    expect(await world.history(paymentId)).toEqual(completed);
    expect(open.length).toBeGreaterThan(1);
    expect(new Set(open)).toEqual(new Set([0]));
  });

  it('do not move the checkpoint back: a late page is dropped', async () => {
    const first = await submitted();
    await world.report(first.reference, 'confirmed');
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const bank: BankConnection = {
      ...world.bank,
      async notifications(page) {
        const read = await world.bank.notifications(page);
        asked.resolve();
        await answer.promise;
        return read;
      },
    };
    const slow = world.executor({ bank }).feedRound();
    await asked.promise;
    await settle(world.executor());
    const second = await submitted();
    await world.report(second.reference, 'confirmed');
    await settle(world.executor());
    const cursor = async () =>
      (await world.pool.query('SELECT cursor FROM rail_feed_checkpoint')).rows;
    const reached = await cursor();
    answer.resolve();
    await slow;
    expect(await cursor()).toEqual(reached);
    expect(await world.count('rail_notifications')).toBe(0);
  });

  it('take over the work of a dead one, also when it turns out to be alive', async () => {
    const { paymentId, reference } = await submitted();
    await world.report(reference, 'confirmed');
    const began = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const store: EventStore = {
      ...world.store,
      async readStream(...args) {
        began.resolve();
        await goOn.promise;
        return lagging(paymentId, 1).readStream(...args);
      },
    };
    const stuck = world.executor({ store }).feedRound();
    await began.promise;
    await settle(world.executor());
    expect(await world.history(paymentId)).toEqual(processing);
    await world.makeNotificationsDue();
    await world.executor().feedRound();
    expect(await world.history(paymentId)).toEqual(completed);

    await world.report(reference, 'returned');
    await world.executor({ store: lagging(paymentId, 1) }).feedRound();
    const kept = await reasons();
    goOn.resolve();
    await stuck;
    expect(await reasons()).toEqual(kept);
    await world.makeNotificationsDue();
    await settle(world.executor());
    expect(await world.history(paymentId)).toEqual(returned);
  });
});

describe('while a dependency is unavailable, the feed', () => {
  it('records what it has while the bank is unavailable', async () => {
    const { paymentId, reference } = await submitted();
    await world.report(reference, 'confirmed');
    await world.executor({ store: lagging(paymentId, 1) }).feedRound();
    await world.makeNotificationsDue();
    const bank: BankConnection = {
      ...world.bank,
      notifications: () => Promise.reject(new BankUnavailable('no answer')),
    };
    await expect(world.executor({ bank }).feedRound()).rejects.toBeInstanceOf(BankUnavailable);
    expect(await world.history(paymentId)).toEqual(completed);
  });

  it('waits for an event store that does not answer and gives up on no payment', async () => {
    const { paymentId, reference } = await submitted();
    await world.report(reference, 'confirmed');
    const store: EventStore = {
      ...world.store,
      readStream: () => Promise.reject(new StoreUnavailable('away')),
    };
    await expect(world.executor({ store }).feedRound()).rejects.toBeInstanceOf(StoreUnavailable);
    expect(await reasons()).toEqual([null]);
    await world.makeNotificationsDue();
    await settle(world.executor());
    expect(await world.history(paymentId)).toEqual(completed);
  });
});
