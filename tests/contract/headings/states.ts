/** What becomes of a payment, seen through reads and through the webhooks of its transitions. */
import { randomUUID } from 'node:crypto';
import { type Payment, type PaymentEvent, verifyWebhook } from '@pis/client';
import { until } from '@pis/local-servers/testing';
import { call, data, expectError, problemsOf } from '../support/http.js';
import { arrivalLimitMs, itOnOwn, itWithReceiver, target } from '../support/target.js';
import {
  accountNumber,
  bankAccount,
  createContact,
  createPayment,
  type Endpoint,
  getPayment,
  idsOf,
  inStatus,
  isoTime,
  listPayments,
  originatorId,
  originators,
  paymentBody,
  paymentIn,
  postPayment,
  simulate,
  withEndpoint,
} from '../support/things.js';

const outcomes = ['complete', 'return', 'fail', 'time_out', 'late_confirm'] as const;

/** Nothing that the bank says moves this payment on. */
async function expectTerminal(payment: Payment): Promise<void> {
  for (const outcome of outcomes)
    expectError(await simulate(payment.paymentId, { outcome }), 409, 'CONFLICT');
  expect(await getPayment(payment.paymentId)).toEqual(payment);
}

describe('States and transitions', () => {
  it('status-1 knows nine statuses', async () => {
    const nine = `AWAITING_CONFIRMATION QUEUED PROCESSING COMPLETED FAILED FAILED_IN_FLIGHT BLOCKED
      RETURNED CANCELED`.split(/\s+/);
    for (const status of nine)
      expect((await call('GET', `/v1/payments/?status=${status}`)).status).toBe(200);
    for (const status of ['queued', 'PENDING', 'SETTLED'])
      expect(problemsOf(await call('GET', `/v1/payments/?status=${status}`))).toEqual([
        'status validation_enum',
      ]);
  });

  it('status-3 QUEUED is not the end', async () => {
    const { paymentId } = await paymentIn('QUEUED', '0501');
    expect((await simulate(paymentId, { outcome: 'fail' })).status).toBe(200);
    expect((await getPayment(paymentId)).status).toBe('FAILED');
  });

  it('status-4 PROCESSING is not the end', async () => {
    const { paymentId } = await paymentIn('PROCESSING', '0502');
    expect((await simulate(paymentId, { outcome: 'complete' })).status).toBe(200);
    expect((await getPayment(paymentId)).status).toBe('COMPLETED');
  });

  it('status-5 COMPLETED is not the end: the bank may return the payment', async () => {
    const { paymentId } = await paymentIn('COMPLETED');
    const outcome = { outcome: 'return', returnReasonCode: 'R02' };
    expect((await simulate(paymentId, outcome)).status).toBe(200);
    expect((await getPayment(paymentId)).status).toBe('RETURNED');
  });

  it('status-6 FAILED is the end, and no funds moved', async () => {
    const payment = await paymentIn('FAILED', '0204');
    expect(payment.completedAt).toBeNull();
    await expectTerminal(payment);
  });

  it('status-7 FAILED_IN_FLIGHT is the end for the client, but may still settle', async () => {
    const payment = await paymentIn('FAILED_IN_FLIGHT', '0401');
    for (const outcome of ['return', 'fail', 'time_out'])
      expectError(await simulate(payment.paymentId, { outcome }), 409, 'CONFLICT');
    expect((await simulate(payment.paymentId, { outcome: 'late_confirm' })).status).toBe(200);
  });

  it('status-8 BLOCKED is the end', async () => {
    await expectTerminal(await paymentIn('BLOCKED', '0301'));
  });

  it('status-9 RETURNED is the end, and comes after completion', async () => {
    const payment = await paymentIn('RETURNED', '0102');
    expect(payment.completedAt).toMatch(isoTime);
    await expectTerminal(payment);
  });
});

/** What was announced of a payment whose last event is `last`, by type: the status before. */
async function announced(
  { received, secret }: Endpoint,
  paymentId: string,
  last: string,
): Promise<Record<string, PaymentEvent['data']>> {
  const events = await until(
    () => {
      const mine = received()
        .map(({ body, headers }) => verifyWebhook(body, headers, secret) as PaymentEvent)
        .filter((event) => event.data.paymentId === paymentId);
      const types = mine.map(({ eventType }) => eventType as string);
      return types.includes('payment.queued') && types.includes(last) ? mine : null;
    },
    { timeoutMs: arrivalLimitMs, what: `${last} of ${paymentId}` },
  );
  return Object.fromEntries(events.map((event) => [event.eventType, event.data]));
}

describe('Transitions', () => {
  /** A payment with this outcome, and what was announced until `last`. */
  const eventsOf = (ending: string, last: string) =>
    withEndpoint(async (endpoint) => {
      const paymentId = await createPayment({}, ending);
      return announced(endpoint, paymentId, last);
    });

  itWithReceiver(
    'transition-1 a creation makes QUEUED, with payment.queued and no status before',
    async () => {
      const events = await eventsOf('0501', 'payment.queued');
      expect(events['payment.queued']).toMatchObject({ status: 'QUEUED', previousStatus: null });
    },
  );

  itWithReceiver('transition-6 QUEUED becomes PROCESSING, with payment.processing', async () => {
    const { 'payment.processing': event } = await eventsOf('0502', 'payment.processing');
    expect(event).toMatchObject({ status: 'PROCESSING', previousStatus: 'QUEUED' });
  });

  itWithReceiver(
    'transition-7 QUEUED becomes FAILED with a code of three, with payment.failed',
    async () => {
      const codes = {
        '0201': 'INVALID_CONTACT_DATA',
        '0202': 'INVALID_ORIGINATOR_DATA',
        '0203': 'INTERNAL_ERROR',
      };
      for (const [ending, failureCode] of Object.entries(codes)) {
        const { 'payment.failed': event } = await eventsOf(ending, 'payment.failed');
        expect(event).toMatchObject({ status: 'FAILED', previousStatus: 'QUEUED', failureCode });
      }
    },
  );

  itWithReceiver('transition-8 QUEUED becomes BLOCKED for good, with payment.blocked', async () => {
    const { 'payment.blocked': event } = await eventsOf('0301', 'payment.blocked');
    expect(event).toMatchObject({ status: 'BLOCKED', previousStatus: 'QUEUED' });
    await expectTerminal(await getPayment(event?.paymentId ?? ''));
  });

  itWithReceiver('transition-9 PROCESSING becomes COMPLETED, with payment.completed', async () => {
    const { 'payment.completed': event } = await eventsOf('1234', 'payment.completed');
    expect(event).toMatchObject({ status: 'COMPLETED', previousStatus: 'PROCESSING' });
  });

  itWithReceiver(
    'transition-10 PROCESSING becomes FAILED, with payment.failed and no retry',
    async () => {
      const events = await eventsOf('0204', 'payment.failed');
      expect(events['payment.failed']).toMatchObject({
        status: 'FAILED',
        previousStatus: 'PROCESSING',
        failureCode: 'INTERNAL_ERROR',
      });
      await expectTerminal(await getPayment(events['payment.failed']?.paymentId ?? ''));
    },
  );

  itWithReceiver(
    'transition-11 PROCESSING becomes FAILED_IN_FLIGHT, with payment.failed_in_flight',
    async () => {
      const { 'payment.failed_in_flight': event } = await eventsOf(
        '0401',
        'payment.failed_in_flight',
      );
      expect(event).toMatchObject({ status: 'FAILED_IN_FLIGHT', previousStatus: 'PROCESSING' });
      expect(event?.failureReason).toEqual(expect.any(String));
    },
  );

  itOnOwn('transition-14 what was not confirmed in time is in the log, for staff', async () => {
    const { paymentId } = await paymentIn('FAILED_IN_FLIGHT', '0401');
    const warnings = () =>
      target()
        .log()
        .split('\n')
        .filter((line) => line.includes(paymentId) && line.includes('not confirmed in time'));
    const [warning = ''] = await until(() => (warnings().length > 0 ? warnings() : null), {
      timeoutMs: arrivalLimitMs,
    });
    expect(JSON.parse(warning)).toMatchObject({ paymentId, level: expect.anything() });
  });

  itWithReceiver('transition-12 FAILED_IN_FLIGHT becomes COMPLETED by a late signal', async () => {
    const events = await eventsOf('0402', 'payment.completed');
    expect(events['payment.completed']).toMatchObject({
      status: 'COMPLETED',
      previousStatus: 'FAILED_IN_FLIGHT',
    });
  });

  itWithReceiver(
    'transition-13 COMPLETED becomes RETURNED with the code, with payment.returned',
    async () => {
      for (const [ending, returnReasonCode] of [
        ['0101', 'R01'],
        ['0102', 'R02'],
        ['0107', 'R07'],
      ] as const) {
        const { 'payment.returned': event } = await eventsOf(ending, 'payment.returned');
        expect(event).toMatchObject({
          status: 'RETURNED',
          previousStatus: 'COMPLETED',
          returnReasonCode,
        });
      }
    },
  );
});

describe('Recovery from FAILED', () => {
  it('recovery-1 takes a new payment with a fresh key, the same label and the latest data', async () => {
    const contactId = await createContact({ bankAccount: bankAccount('0203') });
    const label = { externalPaymentId: `order ${randomUUID()}` };
    const failed = await paymentIn('FAILED', undefined, { contactId, ...label });
    const mended = { bankAccount: bankAccount('4321'), firstName: 'Grace' };
    await data(200, 'PATCH', `/v1/contacts/${contactId}`, { body: mended });
    const again = await paymentIn('COMPLETED', undefined, { contactId, ...label });
    expect(again).toMatchObject({
      ...label,
      contact: { firstName: 'Grace', bankAccount: { achAccountNumber: '********4321' } },
    });
    expect(failed.externalPaymentId).toBe(again.externalPaymentId);
  });

  it('recovery-2 names the field of the originator, which can be updated', async () => {
    const failed = await paymentIn('FAILED', '0202');
    expect(failed).toMatchObject({
      failureCode: 'INVALID_ORIGINATOR_DATA',
      failureMessage: expect.stringContaining('achAccountNumber'),
    });
    const before = (await originators())[0]?.legalAddress ?? null;
    const path = `/v1/originators/${await originatorId()}`;
    const legalAddress = {
      addressLine1: `${randomUUID().slice(0, 4)} Main Street`,
      city: 'Albany',
      state: 'NY',
      postalCode: '12207',
      countryCode: 'US',
    };
    expect(await data(200, 'PATCH', path, { body: { legalAddress } })).toMatchObject({
      legalAddress,
    });
    await data(200, 'PATCH', path, { body: { legalAddress: before } });
    expect((await postPayment(await paymentBody())).status).toBe(201);
  });

  it('recovery-3 names the field of the contact, and succeeds after an update', async () => {
    const contactId = await createContact({ bankAccount: bankAccount('0201') });
    expect(await paymentIn('FAILED', undefined, { contactId })).toMatchObject({
      failureCode: 'INVALID_CONTACT_DATA',
      failureMessage: expect.stringContaining('achAccountNumber'),
    });
    const account = { ...bankAccount(), achAccountNumber: accountNumber() };
    await data(200, 'PATCH', `/v1/contacts/${contactId}`, { body: { bankAccount: account } });
    await paymentIn('COMPLETED', undefined, { contactId });
  });

  it('recovery-4 says INTERNAL_ERROR, and takes a new payment later', async () => {
    expect(await paymentIn('FAILED', '0203')).toMatchObject({
      failureCode: 'INTERNAL_ERROR',
      failureMessage: expect.stringMatching(/\S/),
    });
    await paymentIn('COMPLETED');
  });

  it('recovery-5 keeps the failed payment in the history', async () => {
    const contactId = await createContact({ bankAccount: bankAccount('0203') });
    const { paymentId } = await paymentIn('FAILED', undefined, { contactId });
    await data(200, 'PATCH', `/v1/contacts/${contactId}`, { body: { bankAccount: bankAccount() } });
    const next = await inStatus(await createPayment({ contactId }), 'COMPLETED');
    expect(idsOf(await listPayments(`contactId=${contactId}`))).toEqual([
      next.paymentId,
      paymentId,
    ]);
    expect((await getPayment(paymentId)).status).toBe('FAILED');
  });
});
