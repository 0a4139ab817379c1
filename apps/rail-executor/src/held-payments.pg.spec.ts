/** Payments that the bank has and names no time for: it is asked daily, and not forever. */
import { type BankConnection, BankUnavailable, firstConnectionName } from '@pis/bank-rails';
import { pauseConnections } from '@pis/bank-rails/connections';
import type pg from 'pg';
import { inquiryBackoff } from './transfer-outcome.js';
import { reporting } from './testing/reporting.js';
import { openWorld, type World } from './testing/world.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const channels = [{ name: 'chat', send: () => Promise.resolve([]) }];
const notices = async () =>
  (await world.pool.query<{ kind: string }>('SELECT kind FROM rail_staff_notices')).rows.map(
    ({ kind }) => kind,
  );

/** A payment that the bank holds, and an executor and a database whose clocks show how much time has passed. */
async function held(inquire = (reference: string) => world.bank.inquire(reference)) {
  const { paymentId, value, delivery } = await world.queue('0502');
  await world.executor().handle(value, delivery);
  const inquiries: string[] = [];
  const bank = {
    ...world.bank,
    inquire: (reference: string) => {
      inquiries.push(reference);
      return inquire(reference);
    },
  };
  /** Everything that is due so long after the claim. */
  const after = async (ms: number) => {
    const clock = () => Date.now() + ms;
    await using ahead = await world.poolWithClockAhead(`${ms} milliseconds`);
    const executor = world.executor({ bank, staff: channels, clock, pool: ahead.pool });
    for (let times = 0; times < 2; times += 1) {
      await world.timePasses(paymentId);
      await executor.sweepRound();
      await executor.deadlineRound();
    }
  };
  return { paymentId, inquiries, bank, after };
}

it('staff learn of a payment that the bank still holds after a day, once, and it stays PROCESSING', async () => {
  const { paymentId, inquiries, after } = await held();
  for (const days of [1, 2, 89]) await after(days * inquiryBackoff.maxMs);
  expect(inquiries).toHaveLength(6);
  expect(await notices()).toEqual(['held']);
  expect(await world.payment(paymentId)).toMatchObject({ status: 'PROCESSING' });
  expect(await world.pending(paymentId)).toMatchObject({ stage: 'submitted' });
});

it.each([
  ['says that it has it', undefined],
  ['does not know it', () => Promise.resolve({ outcome: 'unknown' } as const)],
  ['is away', () => Promise.reject(new BankUnavailable('no answer'))],
])(
  'a payment that the bank holds until it forgets it is FAILED_IN_FLIGHT, and not asked about again, when the bank %s',
  async (_what, inquire) => {
    const { paymentId, inquiries, after } = await held(inquire);
    const memoryMs = world.bank.terms.referenceMemoryMs;
    await after(memoryMs + 1_000);
    expect(await world.payment(paymentId)).toMatchObject({
      status: 'FAILED_IN_FLIGHT',
      failureReason: expect.stringContaining('may still settle') as string,
    });
    const asked = inquiries.length;
    // The log gives it a row again.
    await world.followLog();
    for (let days = 1; days <= 3; days += 1) await after(memoryMs + days * inquiryBackoff.maxMs);
    expect(inquiries).toHaveLength(asked);
    expect(await notices()).toContain('unanswered');
    expect(await world.pending(paymentId)).toBeNull();
    expect(await world.history(paymentId)).toEqual(['Queued', 'Processing', 'FailedInFlight']);
  },
);

it('a payment that the bank executes at last is COMPLETED, however late', async () => {
  const { paymentId, after } = await held(() => Promise.resolve({ outcome: 'accepted' }));
  await after(world.bank.terms.referenceMemoryMs + 1_000);
  expect(await world.payment(paymentId)).toMatchObject({ status: 'COMPLETED' });
});

it.each(['PROCESSING', 'FAILED_IN_FLIGHT'] as const)(
  'a bank is still asked about a payment that is %s when only the clock of the executor is far ahead',
  async (status) => {
    const { paymentId, inquiries, bank } = await held();
    if (status === 'FAILED_IN_FLIGHT') {
      await world.pool.query(
        'UPDATE rail_pending SET overdue_at = now() - make_interval(secs => 1) WHERE payment_id = $1',
        [paymentId],
      );
      await world.executor().deadlineRound();
    }
    expect(await world.payment(paymentId)).toMatchObject({ status });
    const clock = () => Date.now() + world.bank.terms.referenceMemoryMs + 1_000;
    const executor = world.executor({ bank, clock });
    await world.timePasses(paymentId);
    await executor.sweepRound();
    await executor.deadlineRound();
    expect(inquiries).toHaveLength(1);
    expect(await world.payment(paymentId)).toMatchObject({ status });
    expect(await world.pending(paymentId)).not.toBeNull();
  },
);

describe('a payment that the bank begins to hold', () => {
  /** A claimed payment that is overdue, and an executor that records that the bank holds it. */
  async function overdue(bank: BankConnection = world.bank) {
    const { paymentId, value, delivery } = await world.queue('0401');
    await world.executor({ bank }).handle(value, delivery);
    const { railReference } = await world.payment(paymentId);
    const reports = reporting(world.bank, [{ type: 'held', reference: railReference ?? '' }]);
    await world.timePasses(paymentId);
    return { paymentId, reports, other: world.executor({ bank: reports }) };
  }
  const stateOf = async (paymentId: string) => {
    const { rows } = await world.pool.query<{ stage: string; overdue_at: Date | null }>(
      'SELECT stage, overdue_at FROM rail_pending WHERE payment_id = $1',
      [paymentId],
    );
    return { ...rows[0], status: (await world.payment(paymentId)).status };
  };
  const isHeld = { stage: 'submitted', overdue_at: null, status: 'PROCESSING' };

  it.each(['is not in the feed any more', 'is still in the feed'])(
    'while its deadline is looked at has none any more, when the report %s',
    async (what) => {
      const { paymentId, reports, other } = await overdue();
      const feed = what.includes('still') ? reports : world.bank;
      const bank: BankConnection = {
        ...world.bank,
        notifications: async (page) => {
          await other.feedRound();
          return feed.notifications(page);
        },
      };
      await world.executor({ bank }).deadlineRound();
      expect(await stateOf(paymentId)).toEqual(isHeld);
    },
  );

  it('while its connection is found paused has no deadline any more', async () => {
    const lost = { ...world.bank, submit: () => Promise.reject(new BankUnavailable('no answer')) };
    const { paymentId, other } = await overdue(lost);
    const connection = firstConnectionName;
    await pauseConnections(world.pool, { connection, reason: 'test', isRestored: false });
    const query = async (...args: unknown[]) => {
      const [asked] = args as [{ name?: string }];
      if (asked.name === 'rail-connections-read') await other.feedRound();
      return (world.pool.query as (...all: unknown[]) => Promise<unknown>)(...args);
    };
    const pool = new Proxy(world.pool, {
      get: (on, name) => (name === 'query' ? query : (Reflect.get(on, name) as unknown)),
    }) as pg.Pool;
    await world.executor({ pool }).sweepRound();
    expect(await stateOf(paymentId)).toEqual(isHeld);
  });
});
