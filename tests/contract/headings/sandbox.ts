/** The outcomes of the simulated bank: by the last four digits of the account, and by hand. */
import type { Payment, PaymentEvent } from '@pis/client';
import { until } from '@pis/local-servers/testing';
import { call, data, expectError, problemsOf } from '../support/http.js';
import { arrivalLimitMs } from '../support/target.js';
import {
  createPayment,
  getPayment,
  inStatus,
  type Json,
  paymentIn,
  simulate,
} from '../support/things.js';

type Status = Payment['status'];
type Transition = readonly [from: Status | null, to: Status];

const steps = {
  queued: [null, 'QUEUED'],
  submitted: ['QUEUED', 'PROCESSING'],
  completed: ['PROCESSING', 'COMPLETED'],
  returned: ['COMPLETED', 'RETURNED'],
  late: ['PROCESSING', 'FAILED_IN_FLIGHT'],
  settled: ['FAILED_IN_FLIGHT', 'COMPLETED'],
} as const satisfies Record<string, Transition>;
const untilCompleted = [steps.queued, steps.submitted, steps.completed] as const;
const early = [steps.queued, steps.submitted, steps.late] as const;
const untilReturned = [...untilCompleted, steps.returned] as const;

const accountField = /bankAccount\.achAccountNumber/;

/** The transitions of payments as the feed of events has them, by payment. */
async function transitionsOf(payments: readonly Payment[]): Promise<Map<string, Transition[]>> {
  const found = new Map(payments.map(({ paymentId }): [string, Transition[]] => [paymentId, []]));
  // Of those created at once any may be the first.
  const [from = ''] = payments.map(({ createdAt }) => createdAt).sort();
  let path = `/v1/events?limit=100&from=${from}`;
  for (;;) {
    const { body } = await call('GET', path);
    const events = body.data as PaymentEvent[];
    for (const { data: payment } of events)
      found.get(payment.paymentId)?.push([payment.previousStatus, payment.status]);
    if (events.length < 100) return found;
    const after = encodeURIComponent(body.meta?.pagination?.nextCursor ?? '');
    path = `/v1/events?limit=100&from=${from}&after=${after}`;
  }
}

/** The bank of the accounts takes part in an instant rail, which OUTBOUND takes. INBOUND is always ACH. */
const directions = ['OUTBOUND', 'INBOUND'] as const;

/** In both directions, a payment to such an account goes exactly these ways, and shows this in the end. */
async function expectOutcome(
  ending: string,
  transitions: readonly Transition[],
  shown: Json = {},
): Promise<void> {
  const last = transitions.at(-1)?.[1] ?? 'QUEUED';
  const reached = directions.map((direction) => paymentIn(last, ending, { direction }));
  for (const { paymentId, ...payment } of await Promise.all(reached)) {
    expect(payment).toMatchObject(shown);
    await expectTransitions(paymentId, transitions);
  }
}

/** The feed follows the payment, a little later. */
async function expectTransitions(
  paymentId: string,
  transitions: readonly Transition[],
): Promise<void> {
  const payment = await getPayment(paymentId);
  const found = await until(
    async () => {
      const seen = (await transitionsOf([payment])).get(paymentId) ?? [];
      return seen.length >= transitions.length ? seen : null;
    },
    { timeoutMs: arrivalLimitMs },
  );
  expect(found).toEqual(transitions);
}

const expectReturn = (ending: string, returnReasonCode: string | null) =>
  expectOutcome(ending, untilReturned, {
    returnReasonCode,
    completedAt: expect.any(String),
    returnedAt: expect.any(String),
  });

describe('Sandbox outcomes', () => {
  it('sandbox-1 any other account: the payment is completed', async () => {
    for (const ending of ['1234', '0000', '9000', '9086', '0100', '9999'])
      await expectOutcome(ending, untilCompleted, { failureCode: null, returnReasonCode: null });
  });

  it('sandbox-2 0101: COMPLETED, then RETURNED with R01', () => expectReturn('0101', 'R01'));
  it('sandbox-3 0102: COMPLETED, then RETURNED with R02', () => expectReturn('0102', 'R02'));
  it('sandbox-4 0107: COMPLETED, then RETURNED with R07', () => expectReturn('0107', 'R07'));
  it('sandbox-5 0199: COMPLETED, then RETURNED, no code', () => expectReturn('0199', null));

  it('sandbox-6 0201: FAILED, and the contact’s account number is named', () =>
    expectOutcome('0201', [steps.queued, ['QUEUED', 'FAILED']], {
      failureCode: 'INVALID_CONTACT_DATA',
      failureMessage: expect.stringMatching(accountField),
    }));

  it('sandbox-7 0202: FAILED, and the originator’s account number is named', () =>
    expectOutcome('0202', [steps.queued, ['QUEUED', 'FAILED']], {
      failureCode: 'INVALID_ORIGINATOR_DATA',
      failureMessage: expect.stringMatching(accountField),
    }));

  it('sandbox-8 0203: FAILED from QUEUED, INTERNAL_ERROR', () =>
    expectOutcome('0203', [steps.queued, ['QUEUED', 'FAILED']], { failureCode: 'INTERNAL_ERROR' }));

  it('sandbox-9 0204: FAILED from PROCESSING, INTERNAL_ERROR', () =>
    expectOutcome('0204', [steps.queued, steps.submitted, ['PROCESSING', 'FAILED']], {
      failureCode: 'INTERNAL_ERROR',
    }));

  it('sandbox-10 0301: BLOCKED', () =>
    expectOutcome('0301', [steps.queued, ['QUEUED', 'BLOCKED']], { failureCode: null }));

  it('sandbox-11 0401: FAILED_IN_FLIGHT, and stays', async () => {
    const late = directions.map((direction) =>
      paymentIn('FAILED_IN_FLIGHT', '0401', { direction }),
    );
    const payments = await Promise.all(late);
    // Others, made afterwards, settle late: the bank has had the time for these too.
    await expectOutcome('0402', [...early, steps.settled]);
    for (const { paymentId } of payments) {
      expect((await getPayment(paymentId)).status).toBe('FAILED_IN_FLIGHT');
      await expectTransitions(paymentId, early);
    }
  });

  it('sandbox-12 0402: FAILED_IN_FLIGHT, then COMPLETED', () =>
    expectOutcome('0402', [...early, steps.settled], {
      completedAt: expect.any(String),
      failedAt: null,
      failureReason: null,
    }));

  it('sandbox-13 0501: stays QUEUED', async () => {
    const paymentId = await createPayment({}, '0501');
    await expectOutcome('1234', untilCompleted);
    expect((await getPayment(paymentId)).status).toBe('QUEUED');
    await expectTransitions(paymentId, [steps.queued]);
  });

  it('sandbox-14 0502: stays PROCESSING', async () => {
    const held = directions.map((direction) => paymentIn('PROCESSING', '0502', { direction }));
    const payments = await Promise.all(held);
    // What is not confirmed in the normal time is known to be late by now: these are not.
    await expectOutcome('0401', early);
    for (const { paymentId } of payments) {
      expect((await getPayment(paymentId)).status).toBe('PROCESSING');
      await expectTransitions(paymentId, [steps.queued, steps.submitted]);
    }
  });

  it('sandbox-15 9001 to 9085: COMPLETED, then RETURNED with each code from R01 to R85', async () => {
    const codes = Array.from({ length: 85 }, (_, at) => String(at + 1).padStart(2, '0'));
    const ids: string[] = [];
    for (let at = 0; at < codes.length; at += 17) {
      const some = codes
        .slice(at, at + 17)
        .map((code, index) =>
          createPayment({ direction: directions[(at + index) % 2] }, `90${code}`),
        );
      ids.push(...(await Promise.all(some)));
    }
    const payments: Payment[] = [];
    for (const [at, code] of codes.entries()) {
      const payment = await inStatus(ids[at] ?? '', 'RETURNED');
      payments.push(payment);
      expect(payment).toMatchObject({
        completedAt: expect.any(String),
        returnReasonCode: `R${code}`,
      });
    }
    const all = await until(
      async () => {
        const seen = await transitionsOf(payments);
        return [...seen.values()].every(({ length }) => length >= untilReturned.length) && seen;
      },
      { timeoutMs: arrivalLimitMs },
    );
    for (const transitions of all.values()) expect(transitions).toEqual(untilReturned);
  });
});

describe('Moving a payment by hand', () => {
  const move = (paymentId: string, body: Json) =>
    data<Payment>(200, 'POST', `/v1/sandbox/payments/${paymentId}/simulate`, { body });

  it('sandbox-16 completes, returns, fails, times out and confirms late', async () => {
    const held = () => createPayment({}, '0501');
    const silent = async () => (await paymentIn('PROCESSING', '0502')).paymentId;
    for (const paymentId of [await held(), await silent()])
      expect(await move(paymentId, { outcome: 'fail' })).toMatchObject({
        status: 'FAILED',
        failureCode: 'INTERNAL_ERROR',
      });
    const completed = await silent();
    expect((await move(completed, { outcome: 'complete' })).status).toBe('COMPLETED');
    expect(await move(completed, { outcome: 'return', returnReasonCode: 'R03' })).toMatchObject({
      status: 'RETURNED',
      returnReasonCode: 'R03',
    });
    const late = await silent();
    expect((await move(late, { outcome: 'time_out' })).status).toBe('FAILED_IN_FLIGHT');
    const settled = await move(late, { outcome: 'late_confirm' });
    expect(settled.status).toBe('COMPLETED');
    expect(await getPayment(late)).toEqual(settled);
    expect((await move(late, { outcome: 'return' })).returnReasonCode).toBeNull();
    await expectTransitions(late, [...early, steps.settled, steps.returned]);
    expect(problemsOf(await simulate(late, { outcome: 'win' }))).toEqual([
      'outcome validation_enum',
    ]);
  });

  it('sandbox-18 answers 409 where the state does not allow it', async () => {
    const held = await createPayment({}, '0501');
    const { paymentId: silent } = await paymentIn('PROCESSING', '0502');
    const { paymentId: completed } = await paymentIn('COMPLETED');
    const impossible = {
      [held]: ['complete', 'return', 'time_out', 'late_confirm'],
      [silent]: ['return', 'late_confirm'],
      [completed]: ['complete', 'fail', 'time_out', 'late_confirm'],
    };
    for (const [paymentId, outcomes] of Object.entries(impossible)) {
      const before = await getPayment(paymentId);
      for (const outcome of outcomes)
        expectError(await simulate(paymentId, { outcome }), 409, 'CONFLICT');
      expect(await getPayment(paymentId)).toEqual(before);
    }
  });
});
