import { type BankConnection, BankRefused, BankUnavailable } from '@pis/bank-rails';
import { reporting } from './testing/reporting.js';
import { openWorld, type QueuedMessage, type World } from './testing/world.js';
import type { RailExecutor } from './rail-executor.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);

describe('when the bank refuses', () => {
  const refused = () => Promise.reject(new BankRefused('not like this'));

  it('a submission, the payment fails and no money is moved', async () => {
    const message = await world.queue('4321');
    await handle(world.executor({ bank: { ...world.bank, submit: refused } }), message);
    await handle(world.executor(), message);
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', 'Failed']);
    expect(await world.payment(message.paymentId)).toMatchObject({
      failureCode: 'INTERNAL_ERROR',
      failureMessage: expect.any(String),
    });
    expect(await world.transfers(message.paymentId)).toEqual([]);
    expect(world.logger.lines.join()).toContain('not like this');
  });

  it('a submission that it had accepted before, the payment is not FAILED but investigated', async () => {
    const message = await world.queue('0401');
    let tries = 0;
    const bank: BankConnection = {
      ...world.bank,
      submit: async (instruction) => {
        tries += 1;
        if (tries > 1) return refused();
        await world.bank.submit(instruction);
        throw new BankUnavailable('no answer');
      },
    };
    const executor = world.executor({ bank });
    await handle(executor, message);
    await handle(executor, message);
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
    await executor.deadlineRound();
    await executor.sweepRound();
    expect(await world.history(message.paymentId)).toEqual([
      'Queued',
      'Processing',
      'FailedInFlight',
    ]);
    expect(await world.transfers(message.paymentId)).toMatchObject([{ inquired: true }]);
  });

  it.each([
    ['FAILED while the claim is young', 0, 'FAILED'],
    ['in flight when a restore may have lost it', 61_000, 'FAILED_IN_FLIGHT'],
  ])('what the connection has no row of, the payment is %s', async (_what, laterMs, status) => {
    const message = await world.queue('4321');
    const rejection = { railCode: null, failureCode: 'INTERNAL_ERROR', field: null } as const;
    const error = {
      outcome: 'error',
      rejection: { ...rejection, message: '', reason: '' },
    } as const;
    const bank: BankConnection = {
      ...world.bank,
      submit: () => Promise.reject(new BankUnavailable('no answer')),
      inquire: () => Promise.resolve({ ...error, isUnseen: true }),
      void: () => Promise.resolve({ outcome: 'voided', isUnseen: true }),
    };
    await handle(world.executor({ bank }), message);
    const clock = () => Date.now() + laterMs;
    const later = world.executor({ bank: { ...bank, submit: refused }, clock });
    await handle(later, message);
    if (laterMs > 0) await later.deadlineRound();
    expect(await world.payment(message.paymentId)).toMatchObject({ status });
  });

  it('a submission and every inquiry about it, the payment does not stay PROCESSING forever', async () => {
    const message = await world.queue('4321');
    const bank = { ...world.bank, submit: refused, inquire: refused, void: refused };
    const executor = world.executor({ bank });
    await handle(executor, message);
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
    await executor.deadlineRound();
    expect(await world.payment(message.paymentId)).toMatchObject({ status: 'FAILED_IN_FLIGHT' });
  });

  it('and then accepts a voided transfer, staff see it among the notifications of the bank', async () => {
    const message = await world.queue('4321');
    const first = world.executor({
      bank: {
        ...world.bank,
        submit: refused,
        void: () => Promise.resolve({ outcome: 'voided' } as const),
      },
    });
    const second = world.executor({
      bank: {
        ...world.bank,
        submit: async (instruction) => {
          // Another executor is refused while this one waits for its answer.
          await handle(first, message);
          return world.bank.submit(instruction);
        },
      },
    });
    await handle(second, message);
    await second.feedRound();
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', 'Failed']);
    const { rows } = await world.pool.query('SELECT reference, reason FROM rail_notifications');
    const { railReference: reference } = await world.payment(message.paymentId);
    expect(rows).toEqual([{ reference, reason: 'confirmed, but the payment is FAILED' }]);
    expect(await world.pending(message.paymentId)).toBeNull();
  });

  describe('and then holds a voided transfer, staff see it among the notifications of the bank', () => {
    const pendingAnswer = { outcome: 'pending', confirmationExpected: true } as const;
    const voided = { outcome: 'voided' } as const;

    async function expectHeld(paymentId: string): Promise<void> {
      await world.executor().feedRound();
      expect(await world.history(paymentId)).toEqual(['Queued', 'Processing', 'Failed']);
      const { rows } = await world.pool.query('SELECT reference, reason FROM rail_notifications');
      const { railReference: reference } = await world.payment(paymentId);
      expect(rows).toEqual([{ reference, reason: 'held, but the payment is FAILED' }]);
      expect(await world.pending(paymentId)).toBeNull();
    }

    it('where the payment failed before its answer', async () => {
      const message = await world.queue('4321');
      const bank = { ...world.bank, submit: refused, void: () => Promise.resolve(voided) };
      const first = world.executor({ bank });
      const submit = async () => {
        await handle(first, message);
        return pendingAnswer;
      };
      await handle(world.executor({ bank: { ...world.bank, submit } }), message);
      await expectHeld(message.paymentId);
    });

    it('unless an inquiry shows that it has rejected it since', async () => {
      const message = await world.queue('4321');
      const rejection = { failureCode: 'INTERNAL_ERROR', field: null, railCode: null } as const;
      const error = {
        outcome: 'error',
        rejection: { ...rejection, message: 'no', reason: 'no' },
      } as const;
      const inquire = () => Promise.resolve(error);
      const submit: BankConnection['submit'] = async ({ reference }) => {
        const bank = reporting(world.bank, [{ type: 'rejected', reference }]);
        await world.executor({ bank }).feedRound();
        return pendingAnswer;
      };
      await handle(world.executor({ bank: { ...world.bank, submit, inquire } }), message);
      expect(await world.payment(message.paymentId)).toMatchObject({ status: 'FAILED' });
      expect(await world.count('rail_notifications')).toBe(0);
    });

    it('where its answer comes while it is voided', async () => {
      const message = await world.queue('4321');
      const submitted = Promise.withResolvers<undefined>();
      const answered = Promise.withResolvers<undefined>();
      const submit = async () => {
        submitted.resolve(undefined);
        await answered.promise;
        return pendingAnswer;
      };
      const handled = handle(world.executor({ bank: { ...world.bank, submit } }), message);
      await submitted.promise;
      const whileVoided = async () => {
        answered.resolve(undefined);
        await handled;
        return voided;
      };
      const bank = { ...world.bank, submit: refused, void: whileVoided };
      await handle(world.executor({ bank }), message);
      await expectHeld(message.paymentId);
    });
  });

  it('its feed, health reports it', async () => {
    const executor = world.executor({ bank: { ...world.bank, notifications: refused } });
    await expect(executor.feedRound()).rejects.toBeInstanceOf(BankRefused);
    await expect(executor.checkBank('bank')).rejects.toThrow('not like this');
  });
});
