import { type BankConnection, BankUnavailable } from '@pis/bank-rails';
import { StoreUnavailable } from '@pis/event-store';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import { Bell } from '@pis/postgres';
import { openWorld, type QueuedMessage, settle, type World } from './testing/world.js';
import { calledFeedPoll, type RailExecutor } from './rail-executor.js';

const atEnd = closeAfterEach();

const timeoutMs = 60_000;

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);

describe('the deadline loop', () => {
  it('asks for no round of its own when no payment waits', async () => {
    expect(await world.executor().deadlineRound()).toBeNull();
  });

  it('asks for its next round when the next payment is due', async () => {
    const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 3_600_000 };
    const executor = world.executor({ config });
    await handle(executor, await world.queue('0401'));
    expect(await executor.deadlineRound()).toBeGreaterThan(3_000_000);
  });

  it('shares due rows among executors, each row with one of them', async () => {
    const messages = await Promise.all(Array.from({ length: 30 }, () => world.queue('0401')));
    for (const message of messages) await handle(world.executor(), message);
    let asked = 0;
    const bank: BankConnection = {
      ...world.bank,
      inquire: (reference) => ((asked += 1), world.bank.inquire(reference)),
    };
    const executors = [1, 2, 3].map(() => world.executor({ bank }));
    await Promise.all(executors.map((executor) => executor.deadlineRound()));
    await Promise.all(executors.map((executor) => executor.sweepRound()));
    expect(asked).toBe(messages.length);
    for (const { paymentId } of messages)
      expect(await world.history(paymentId)).toEqual(['Queued', 'Processing', 'FailedInFlight']);
  });

  it("shares one scan of the bank's feed among rounds, however slow the bank is", async () => {
    const messages = [await world.queue('0401'), await world.queue('0401')];
    for (const message of messages) await handle(world.executor(), message);
    await world.pool.query("UPDATE rail_pending SET overdue_at = now() + interval '1 hour'");
    const answer = Promise.withResolvers<undefined>();
    let scans = 0;
    const notifications: BankConnection['notifications'] = async (page) => {
      scans += 1;
      await answer.promise;
      return world.bank.notifications(page);
    };
    const executor = world.executor({ bank: { ...world.bank, notifications } });
    const rounds: Promise<number | null>[] = [];
    for (const { paymentId } of messages) {
      await world.timePasses(paymentId);
      rounds.push(executor.deadlineRound());
      const isLeased = async () =>
        (await world.count(
          `rail_pending WHERE payment_id = '${paymentId}' AND overdue_at > now()`,
        )) === 1;
      await until(isLeased, { timeoutMs });
    }
    await until(() => scans > 0, { timeoutMs });
    expect(scans).toBe(1);
    answer.resolve(undefined);
    await Promise.all(rounds);
    for (const { paymentId } of messages)
      expect(await world.history(paymentId)).toEqual(['Queued', 'Processing', 'FailedInFlight']);
  });

  it('ends a scan of a feed that hangs when the executor stops', async () => {
    await handle(world.executor(), await world.queue('0401'));
    const asked = Promise.withResolvers<undefined>();
    const notifications: BankConnection['notifications'] = () => {
      asked.resolve(undefined);
      return new Promise(() => undefined);
    };
    const executor = world.executor({ bank: { ...world.bank, notifications } });
    const ended = expect(executor.deadlineRound()).rejects.toThrow('the executor stops');
    await asked.promise;
    await executor.stop();
    await ended;
  });

  it('holds no transaction open while it asks the bank', async () => {
    for (let payments = 0; payments < 3; payments += 1)
      await handle(world.executor(), await world.queue('0401'));
    const open: number[] = [];
    const look = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
      open.push(
        await world.count(`pg_stat_activity WHERE datname = current_database()
        AND state LIKE 'idle in transaction%'`),
      );
      return ask();
    };
    const bank: BankConnection = {
      ...world.bank,
      inquire: (reference) => look(() => world.bank.inquire(reference)),
    };
    const executor = world.executor({ bank });
    await executor.deadlineRound();
    await executor.sweepRound();
    expect(open).toEqual([0, 0, 0]);
  });

  it.each([
    ['whose feed cannot be read', { notifications: () => Promise.reject(new RangeError('date')) }],
    ['whose terms cannot be read', { terms: undefined }],
  ])('meets the deadlines of a bank %s', async (_what, changes) => {
    const message = await world.queue('0401');
    const submit = () => Promise.reject(new BankUnavailable('no answer'));
    await handle(world.executor({ bank: { ...world.bank, submit } }), message);
    const bank = { ...world.bank, ...changes, submit } as BankConnection;
    await world.executor({ bank }).deadlineRound();
    expect(await world.payment(message.paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
  });

  it('fails no payment that waits in a queue of the connection', async () => {
    const { paymentId, ...message } = await world.queue('0401');
    await handle(world.executor(), { paymentId, ...message });
    const queued = (references: readonly string[]) => Promise.resolve(new Set(references));
    const waiting = world.executor({ bank: { ...world.bank, queued } });
    expect(await waiting.deadlineRound()).toBeGreaterThan(0);
    expect(await world.history(paymentId)).toEqual(['Queued', 'Processing']);
    await world.pool.query('UPDATE rail_pending SET overdue_at = now() - make_interval(secs => 1)');
    await world
      .executor({ bank: { ...world.bank, queued: () => Promise.reject(new Error('?')) } })
      .deadlineRound();
    expect(await world.payment(paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
  });

  it('lets no payment wait in a queue for longer than half a minute', async () => {
    const { paymentId, ...message } = await world.queue('0401');
    await handle(world.executor(), { paymentId, ...message });
    await world.pool.query(
      "UPDATE rail_pending SET last_submission_at = now() - interval '31 seconds'",
    );
    const queued = (references: readonly string[]) => Promise.resolve(new Set(references));
    await world.executor({ bank: { ...world.bank, queued } }).deadlineRound();
    expect(await world.payment(paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
  });

  it('reads the pages of the feed to their end: what they do not mention is late', async () => {
    const { paymentId, ...message } = await world.queue('0401');
    await handle(world.executor(), { paymentId, ...message });
    const other = { reference: 'other', type: 'confirmed', at: new Date().toISOString() } as const;
    const unsaid = {
      returnReasonCode: null,
      returnReference: null,
      returnedAmount: null,
      sentAmountMinor: null,
      rejection: null,
      correction: null,
    };
    const notifications: BankConnection['notifications'] = ({ after }) => {
      const sequence = `${Math.min(3, Number(after) + 1)}`;
      const isEnd = sequence === after;
      const said = isEnd ? [] : [{ sequence, ...other, ...unsaid }];
      return Promise.resolve({ notifications: said, cursor: sequence });
    };
    await world.executor({ bank: { ...world.bank, notifications } }).deadlineRound();
    expect(await world.payment(paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
  });

  it('waits for what is stored of a feed that cannot be read any more', async () => {
    const message = await world.queue('0401');
    await handle(world.executor(), message);
    const { railReference } = await world.payment(message.paymentId);
    await world.report(railReference ?? '', 'confirmed');
    const appends = { ...world.store, append: () => Promise.reject(new StoreUnavailable('away')) };
    await world
      .executor({ store: appends })
      .feedRound()
      .catch(() => undefined);
    expect(await world.count('rail_notifications')).toBe(1);
    const notifications = () => Promise.reject(new RangeError('date'));
    await world.executor({ bank: { ...world.bank, notifications } }).deadlineRound();
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  });

  it('fails no payment in flight when the clock of the database jumps', async () => {
    const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 3_600_000 };
    const messages = await Promise.all(['0401', '0402'].map((ending) => world.queue(ending)));
    for (const message of messages) await handle(world.executor({ config }), message);
    await using jumped = await world.poolWithClockAhead('3 days');
    const executor = world.executor({ config, pool: jumped.pool });
    await executor.deadlineRound();
    await executor.deadlineRound();
    for (const { paymentId } of messages)
      expect(await world.history(paymentId)).toEqual(['Queued', 'Processing']);
    // The clock is right again, and the time has passed.
    const late = world.executor();
    await world.timePasses(messages[0]?.paymentId ?? '');
    await late.deadlineRound();
    expect(await world.payment(messages[0]?.paymentId ?? '')).toMatchObject({
      status: 'FAILED_IN_FLIGHT',
    });
  });
});

describe('a timer', () => {
  const waitsMs = async (paymentId: string) =>
    (
      await world.pool.query<{ ms: number }>(
        `SELECT (extract(epoch FROM deadline_at - submitted_at) * 1000)::float8 AS ms
           FROM rail_pending WHERE payment_id = $1`,
        [paymentId],
      )
    ).rows[0]?.ms;

  it.each([
    ['confirmed', ['Completed']],
    ['returned', ['Completed', 'Returned']],
  ])(
    'that is checked before the feed, after a restart, does not override what the bank has %s in time',
    async (type, end) => {
      const message = await world.queue('0401');
      await handle(world.executor(), message);
      const { railReference } = await world.payment(message.paymentId);
      await world.pool.query(
        `INSERT INTO bank_notifications (reference, type, due_at, created_at)
         VALUES ($1, $2, now(), now())`,
        [railReference, type],
      );
      const restarted = world.executor();
      await restarted.deadlineRound();
      await settle(restarted);
      expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', ...end]);
      expect(await world.count('rail_pending')).toBe(0);
    },
  );

  it('of a simulated review is no longer than the delay, however far behind the clock is', async () => {
    const config = { ...world.config, PIS_SANDBOX_RAIL_DELAY_MS: 60_000 };
    const clock = () => Date.now() - 3_600_000;
    const message = await world.queue('4321');
    await handle(world.executor({ config, clock }), message);
    expect(await world.history(message.paymentId)).toEqual(['Queued']);
    const ms = await waitsMs(message.paymentId);
    expect(ms).toBeGreaterThan(50_000);
    expect(ms).toBeLessThan(70_000);
    const later = () => Date.now() + 60_000;
    await handle(world.executor({ config, clock: later }), message);
    expect(await world.history(message.paymentId)).toContain('Processing');
  });
});

it('the feed of an idle connection that calls is read as seldom as notifications allow', () => {
  let idleMs = 15_000;
  const poll = calledFeedPoll({ bell: new Bell(), idleMs: () => idleMs });
  expect(poll).toEqual({ busyMs: 1_000, idleMs: 15_000 });
  // They may not arrive: a loop with work of its own would look more often.
  idleMs = 2_000;
  expect(poll.idleMs).toBe(5_000);
  expect(calledFeedPoll().idleMs).toBe(5_000);
});

it('a notification that is to be tried again wakes the feed of an idle connection', async () => {
  const bell = new Bell();
  let reads = 0;
  const bank: BankConnection = {
    ...world.bank,
    onNotification: () => () => undefined,
    notifications(page) {
      reads += 1;
      return world.bank.notifications(page);
    },
  };
  let asked = 0;
  const idleMs = () => ((asked += 1), 3_600_000);
  const executor = world.executor({ bank, notificationsWakeUp: { bell, idleMs } });
  atEnd(() => executor.stop());
  executor.start();
  // Without a bell an idle loop would need more time for ten rounds.
  const endsAtMs = performance.now() + 20_000;
  for (let times = 1; times <= 10; times += 1) {
    await until(() => reads >= times, { timeoutMs: endsAtMs - performance.now() });
    bell.ring();
  }
  // It waits for as long as notifications are relied on.
  expect(asked).toBeGreaterThan(0);
});

it('what a deadline has found in the feed of an idle connection is recorded at once', async () => {
  const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 3_600_000 };
  const message = await world.queue('0401');
  await handle(world.executor({ config }), message);
  let reads = 0;
  const bank: BankConnection = {
    ...world.bank,
    // A poller may miss what the scan for deadlines has read.
    onNotification: () => () => undefined,
    async notifications(page) {
      const found = await world.bank.notifications(page);
      reads += 1;
      return found;
    },
  };
  const notificationsWakeUp = { bell: new Bell(), idleMs: () => 3_600_000 };
  const executor = world.executor({ config, bank, notificationsWakeUp });
  atEnd(() => executor.stop());
  executor.start();
  await until(() => reads > 0, { timeoutMs });
  const { railReference } = await world.payment(message.paymentId);
  await world.report(railReference ?? '', 'confirmed');
  await world.pool.query(
    `UPDATE rail_pending SET overdue_at = now() - interval '1 second',
            deadline_at = now() + interval '1 hour'`,
  );
  await executor.deadlineRound();
  await until(async () => (await world.history(message.paymentId)).at(-1) === 'Completed', {
    timeoutMs: 20_000,
  });
});
