import { jest } from '@jest/globals';
import {
  type BankConnection,
  BankRefused,
  BankUnavailable,
  directBankConnection,
  type VoidResult,
} from '@pis/bank-rails';
import { transferOwners } from '@pis/domain';
import { BankSimulator } from '@pis/bank-simulator/module';
import type { RailExecutor } from './rail-executor.js';
import { openWorld, type QueuedMessage, type World } from './testing/world.js';

const hourMs = 3_600_000;

let world: World;

const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);
const processing = ['Queued', 'Processing'];
const failed = [...processing, 'Failed'];
const completed = [...processing, 'Completed'];
const inFlight = [...processing, 'FailedInFlight'];

const refused = () => Promise.reject(new BankRefused('not like this'));
const silent = () => Promise.reject(new BankUnavailable('no answer'));
const unable = (): Promise<VoidResult> => Promise.resolve({ outcome: 'unable' });

/** The executor handles the payment when its row is due. */
async function sweep(message: QueuedMessage, bank: BankConnection = world.bank): Promise<void> {
  await world.timePasses(message.paymentId);
  await world.executor({ bank }).sweepRound();
}

describe.each(transferOwners)('the transfer of a %s:', (owner) => {
  beforeEach(async () => {
    world = await openWorld({ owner, confirmationTimeoutMs: 48 * hourMs });
  });
  afterEach(() => world.close());

  describe('a submission under way, and one that is refused', () => {
    /** The first one is delayed on the line. The next ones are refused. */
    function lineThatHoldsBack(changes: Partial<BankConnection> = {}) {
      const arrivals: (() => Promise<unknown>)[] = [];
      const bank: BankConnection = {
        ...world.bank,
        submit: (instruction) => {
          if (arrivals.length > 0) return refused();
          arrivals.push(() => world.bank.submit(instruction));
          return silent();
        },
        ...changes,
      };
      return { bank, arrive: () => arrivals[0]?.() };
    }

    it('never leave the payment FAILED while the bank executes it', async () => {
      const { bank, arrive } = lineThatHoldsBack({ void: unable });
      const message = await world.queue('4321');
      await handle(world.executor({ bank }), message);
      await handle(world.executor({ bank }), message);
      // The bank has no transfer yet. The first submission may still arrive.
      expect(await world.history(message.paymentId)).toEqual(processing);
      await arrive();
      await sweep(message, bank);
      expect(await world.history(message.paymentId)).toEqual(completed);
    });

    it('fail the payment at once when the bank voids it, and a later arrival is not executed', async () => {
      const { bank, arrive } = lineThatHoldsBack();
      const message = await world.queue('4321');
      await handle(world.executor({ bank }), message);
      await handle(world.executor({ bank }), message);
      expect(await world.history(message.paymentId)).toEqual(failed);
      await arrive();
      expect(await world.transfers(message.paymentId)).toMatchObject([{ status: 'voided' }]);
      expect(await world.executions()).toBe(0);
      expect(await world.count('rail_pending')).toBe(0);
    });

    it('fail the payment when nothing can arrive any more and the bank has no transfer', async () => {
      const { bank } = lineThatHoldsBack({ void: unable });
      const message = await world.queue('4321');
      for (let tries = 0; tries < 2; tries += 1) await handle(world.executor({ bank }), message);
      await sweep(message, bank);
      expect(await world.history(message.paymentId)).toEqual(processing);
      // Twice the longest time in flight: to be sent, and to arrive.
      await world.age(message.paymentId, 2 * bank.terms.submissionInFlightMaxMs + 1_000);
      await sweep(message, bank);
      expect(await world.history(message.paymentId)).toEqual(failed);
    });

    it('are never followed by another submission', async () => {
      let submissions = 0;
      const bank: BankConnection = {
        ...world.bank,
        submit: () => ((submissions += 1), refused()),
        void: unable,
      };
      const message = await world.queue('4321');
      await handle(world.executor({ bank }), message);
      await handle(world.executor({ bank }), message);
      await sweep(message, bank);
      expect(submissions).toBe(1);
      expect(await world.pending(message.paymentId)).toMatchObject({ sealed: true });
    });
  });

  describe('a submission that was noted', () => {
    it('is in the table before the claim and before the bank receives it', async () => {
      const seen: unknown[] = [];
      const message = await world.queue('4321');
      const look = async () => seen.push(await world.pending(message.paymentId));
      const store: World['store'] = {
        ...world.store,
        append: async (...args) => (await look(), world.store.append(...args)),
      };
      const bank: BankConnection = {
        ...world.bank,
        submit: async (instruction) => (await look(), world.bank.submit(instruction)),
      };
      await handle(world.executor({ store, bank }), message);
      const noted = { stage: 'claimed', submissions: 1, sealed: false };
      expect(seen.slice(0, 2)).toEqual([noted, noted]);
      expect(await world.count('rail_pending')).toBe(0);
    });

    it('is not sent when another executor has failed the payment meanwhile', async () => {
      const message = await world.queue('4321');
      await handle(world.executor({ bank: { ...world.bank, submit: silent } }), message);
      // This executor reads PROCESSING and pauses before it notes its submission.
      const reading = Promise.withResolvers<void>();
      const goOn = Promise.withResolvers<void>();
      let reads = 0;
      const store: World['store'] = {
        ...world.store,
        readStream: async (...args) => {
          const events = await world.store.readStream(...args);
          reads += 1;
          if (reads === 1) {
            reading.resolve();
            await goOn.promise;
          }
          return events;
        },
      };
      let submissions = 0;
      const bank: BankConnection = {
        ...world.bank,
        submit: (instruction) => ((submissions += 1), world.bank.submit(instruction)),
      };
      const slow = handle(world.executor({ store, bank }), message);
      await reading.promise;
      await handle(world.executor({ bank: { ...world.bank, submit: refused } }), message);
      expect(await world.history(message.paymentId)).toEqual(failed);
      goOn.resolve();
      await slow;
      expect(submissions).toBe(0);
      expect(await world.count('rail_pending')).toBe(0);
    });
  });

  describe('a bank that cannot be reached after the claim', () => {
    const away = (): BankConnection => ({
      ...world.bank,
      submit: silent,
      inquire: silent,
      void: silent,
      notifications: silent,
    });

    /** A payment that was handed to this bank, after its normal time. */
    async function overdue(bank: BankConnection): Promise<QueuedMessage> {
      const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
      const message = await world.queue('4321');
      const executor = world.executor({ bank, config });
      await handle(executor, message);
      await executor.deadlineRound();
      return message;
    }

    it('does not keep the payment from FAILED_IN_FLIGHT in the normal time', async () => {
      const message = await overdue(away());
      expect(await world.history(message.paymentId)).toEqual(inFlight);
      expect(await world.pending(message.paymentId)).toMatchObject({ stage: 'in_flight' });
    });

    it('and is back when the normal time is over gets the submission that was never sent', async () => {
      const message = await world.queue('4321');
      await handle(world.executor({ bank: away() }), message);
      const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
      await world.timePasses(message.paymentId);
      await world.executor({ config }).deadlineRound();
      expect(await world.history(message.paymentId)).toEqual(completed);
    });

    it('and never answers does not hold up the deadline', async () => {
      const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
      const message = await world.queue('4321');
      await handle(world.executor({ bank: away(), config }), message);
      const end = Promise.withResolvers<never>();
      const hangs = () => end.promise;
      const bank = { ...world.bank, submit: hangs, notifications: hangs };
      await world.executor({ bank, config }).deadlineRound();
      expect(await world.history(message.paymentId)).toEqual(inFlight);
      end.reject(new BankUnavailable('no answer'));
    });

    it('is asked again, and the payment is COMPLETED when the bank turns out to have it', async () => {
      const bank: BankConnection = {
        ...away(),
        submit: async (instruction) => (await world.bank.submit(instruction), silent()),
      };
      const message = await overdue(bank);
      for (let times = 0; times < 3; times += 1) await sweep(message, bank);
      expect(await world.history(message.paymentId)).toEqual(inFlight);
      await sweep(message);
      expect(await world.history(message.paymentId)).toEqual([...inFlight, 'Completed']);
      expect(await world.count('rail_pending')).toBe(0);
    });

    it('and then has no transfer leaves the payment FAILED_IN_FLIGHT, and staff are alerted', async () => {
      const message = await overdue(away());
      await sweep(message);
      expect(await world.history(message.paymentId)).toEqual(inFlight);
      expect(world.logger.lines.join()).toContain('the bank does not know a transfer');
      expect(await world.pending(message.paymentId)).toMatchObject({ stage: 'in_flight' });
    });

    it('and still has no transfer when none can arrive any more: staff see that it was never executed', async () => {
      const message = await overdue(away());
      await sweep(message);
      expect(await world.history(message.paymentId)).toEqual(inFlight);
      await world.age(message.paymentId, 2 * world.bank.terms.submissionInFlightMaxMs + 1_000);
      await sweep(message);
      expect(await world.history(message.paymentId)).toEqual([...inFlight, 'RejectedLate']);
      expect(await world.count('rail_pending')).toBe(0);
      expect(await world.executions()).toBe(0);
    });

    describe('is asked again soon,', () => {
      const nextInMs = async ({ paymentId }: QueuedMessage) =>
        (
          await world.pool.query<{ ms: number }>(
            `SELECT (extract(epoch FROM deadline_at - now()) * 1000)::float8 AS ms
               FROM rail_pending WHERE payment_id = $1`,
            [paymentId],
          )
        ).rows[0]?.ms;

      it('long before no transfer can arrive any more: it may take one late, and reject it', async () => {
        const message = await overdue(away());
        await sweep(message);
        expect(await nextInMs(message)).toBeLessThan(world.bank.terms.submissionInFlightMaxMs);
      });

      it('however often it did not answer before', async () => {
        const message = await overdue(away());
        for (let times = 0; times < 9; times += 1) await sweep(message, away());
        const received = { outcome: 'received' } as const;
        await sweep(message, { ...world.bank, inquire: () => Promise.resolve(received) });
        expect(await nextInMs(message)).toBeLessThan(world.bank.terms.submissionInFlightMaxMs);
      });
    });

    it('is asked again if a transfer could still arrive when the inquiry was sent', async () => {
      const message = await overdue(away());
      const slow: BankConnection = {
        ...world.bank,
        inquire: async (reference) => {
          const answer = await world.bank.inquire(reference);
          await world.age(message.paymentId, 2 * world.bank.terms.submissionInFlightMaxMs + 1_000);
          return answer;
        },
      };
      await sweep(message, slow);
      expect(await world.history(message.paymentId)).toEqual(inFlight);
      await sweep(message);
      expect(await world.history(message.paymentId)).toEqual([...inFlight, 'RejectedLate']);
    });
  });

  describe('a bank that has forgotten the reference', () => {
    const terms = { submissionInFlightMaxMs: 60_000, referenceMemoryMs: hourMs };

    it.each([
      ['decided to submit again', 0],
      ['noted that it submits again', 2_000],
    ])('gets nothing from an executor that was frozen after it had %s', async (_what, notedMs) => {
      let submissions = 0;
      const bank: BankConnection = {
        ...directBankConnection(new BankSimulator(world.pool, { delayMs: 0, terms })),
        submit: () => ((submissions += 1), silent()),
      };
      const message = await world.queue('4321');
      await handle(world.executor({ bank }), message);
      // The executor is frozen while it reads whether the connection is paused: at first, or once that is no longer known.
      const systemNow = Date.now;
      let frozenMs = 0;
      let laterMs = 0;
      const steady = performance.now.bind(performance);
      jest.spyOn(performance, 'now').mockImplementation(() => steady() + laterMs);
      jest.spyOn(Date, 'now').mockImplementation(() => systemNow() + frozenMs);
      const query = world.pool.query.bind(world.pool) as (...args: unknown[]) => unknown;
      jest.spyOn(world.pool, 'query').mockImplementation((...args: unknown[]) => {
        const { name } = args[0] as { name?: string };
        if (name === 'rail-pending-note') laterMs = notedMs;
        if (name === 'rail-connections-read' && laterMs === notedMs) frozenMs = 2 * hourMs;
        return query(...args);
      });
      try {
        await handle(world.executor({ bank }), message);
      } finally {
        jest.restoreAllMocks();
      }
      expect(frozenMs).toBe(2 * hourMs);
      expect(submissions).toBe(1);
    });

    it('is asked and never gets a submission again, even if the message comes a year later', async () => {
      const bank = directBankConnection(new BankSimulator(world.pool, { delayMs: 0, terms }));
      const message = await world.queue('4321');
      // Executed, and the answer is lost.
      const lost: BankConnection = {
        ...bank,
        submit: async (instruction) => (await bank.submit(instruction), silent()),
      };
      await handle(world.executor({ bank: lost }), message);
      await world.pool.query(
        `UPDATE bank_transfers SET submitted_at = submitted_at - interval '1 year'`,
      );
      const clock = () => Date.now() + 365 * 24 * hourMs;
      await handle(world.executor({ bank, clock }), message);
      await world.pool.query('DELETE FROM rail_pending');
      await handle(world.executor({ bank, clock }), message);
      await world.timePasses(message.paymentId);
      await world.executor({ bank, clock }).sweepRound();
      expect(await world.executions()).toBe(1);
      expect(await world.history(message.paymentId)).toEqual(processing);
      await world.executor({ bank, clock }).deadlineRound();
      expect(await world.payment(message.paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
    });
  });
});
