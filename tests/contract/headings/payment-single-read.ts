/** The fields of a payment, one by one. Each status is that of one payment, made once for all. */
import type { Payment } from '@pis/client';
import { until } from '@pis/local-servers/testing';
import { arrivalLimitMs } from '../support/target.js';
import {
  createPayment,
  getPayment,
  isoTime,
  listPayments,
  paymentIn,
  uuid,
} from '../support/things.js';

type Status = Exclude<Payment['status'], 'AWAITING_CONFIRMATION' | 'CANCELED'>;

const endings = {
  QUEUED: '0501',
  PROCESSING: '0502',
  COMPLETED: '1234',
  FAILED: '0201',
  FAILED_IN_FLIGHT: '0401',
  BLOCKED: '0301',
  RETURNED: '0101',
} as const satisfies Record<Status, string>;
const statuses = Object.keys(endings) as Status[];

const isMinorUnits = (value: unknown) => Number.isInteger(value) && Number(value) >= 0;

describe('Payment (single read)', () => {
  const payments: Partial<Record<Status, Payment>> = {};
  const of = (status: Status): Payment => {
    const payment = payments[status];
    if (payment === undefined) throw new Error(`there is no payment in ${status}`);
    return payment;
  };
  const each = (): Payment[] => statuses.map(of);
  /** In which statuses a field is not null. */
  const setIn = (field: keyof Payment): Status[] =>
    statuses.filter((status) => of(status)[field] !== null);

  beforeAll(async () => {
    const made = statuses.map((status) => paymentIn(status, endings[status]));
    for (const payment of await Promise.all(made)) payments[payment.status as Status] = payment;
  });

  it('payment-1 has its paymentId', async () => {
    for (const { paymentId } of each()) {
      expect(paymentId).toMatch(uuid);
      expect((await getPayment(paymentId)).paymentId).toBe(paymentId);
    }
  });

  it('payment-2 has one of the nine statuses', () => {
    expect(each().map(({ status }) => status)).toEqual(statuses);
  });

  it('payment-3 has the time of its creation', () => {
    for (const { createdAt } of each()) expect(createdAt).toMatch(isoTime);
  });

  it('payment-4 has completedAt once completed, also when returned later', () => {
    expect(setIn('completedAt')).toEqual(['COMPLETED', 'RETURNED']);
    expect(of('COMPLETED').completedAt).toMatch(isoTime);
  });

  it('payment-5 has failedAt when it failed', () => {
    expect(setIn('failedAt')).toEqual(['FAILED', 'FAILED_IN_FLIGHT']);
    expect(of('FAILED').failedAt).toMatch(isoTime);
  });

  it('payment-6 has returnedAt when it was returned', () => {
    expect(setIn('returnedAt')).toEqual(['RETURNED']);
    expect(of('RETURNED').returnedAt).toMatch(isoTime);
  });

  it('payment-7 has no canceledAt as long as it is not canceled', () => {
    expect(each().map(({ canceledAt }) => canceledAt)).toEqual(statuses.map(() => null));
  });

  it('payment-8 has its amount in minor units', () => {
    for (const { paymentAmount } of each()) expect(paymentAmount).toBe(12_345);
  });

  it('payment-9 has a discountFee in minor units', () => {
    expect(each().every(({ discountFee }) => isMinorUnits(discountFee))).toBe(true);
  });

  it('payment-10 has a flatFee in minor units', () => {
    expect(each().every(({ flatFee }) => isMinorUnits(flatFee))).toBe(true);
  });

  it('payment-11 has a returnFee in minor units', () => {
    expect(each().every(({ returnFee }) => isMinorUnits(returnFee))).toBe(true);
  });

  it('payment-12 has its currency', () => {
    for (const { currencyCode } of each()) expect(currencyCode).toBe('USD');
  });

  it('payment-13 has its rail, one of the five', () => {
    for (const { paymentRail } of each())
      expect(paymentRail).toMatch(/^(ACH|FEDNOW|RTP|FEDWIRE|SWIFT)$/);
  });

  it('payment-14 has the direction it was created with', async () => {
    const collected = await getPayment(await createPayment({ direction: 'INBOUND' }));
    expect(collected.direction).toBe('INBOUND');
    for (const { direction } of each()) expect(direction).toBe('OUTBOUND');
  });

  it('payment-15 has its note or null', async () => {
    expect((await getPayment(await createPayment({ paymentNote: 'rent' }))).paymentNote).toBe(
      'rent',
    );
    for (const { paymentNote } of each()) expect(paymentNote).toBeNull();
  });

  it('payment-16 has its externalPaymentId or null', async () => {
    const labeled = await getPayment(await createPayment({ externalPaymentId: 'order 1' }));
    expect(labeled.externalPaymentId).toBe('order 1');
    for (const { externalPaymentId } of each()) expect(externalPaymentId).toBeNull();
  });

  it('payment-17 has a failureCode of three when it failed', async () => {
    expect(setIn('failureCode')).toEqual(['FAILED']);
    expect(of('FAILED').failureCode).toBe('INVALID_CONTACT_DATA');
    expect((await paymentIn('FAILED', '0202')).failureCode).toBe('INVALID_ORIGINATOR_DATA');
    expect((await paymentIn('FAILED', '0203')).failureCode).toBe('INTERNAL_ERROR');
  });

  it('payment-18 has a failureMessage that names the rejected field', async () => {
    expect(setIn('failureMessage')).toEqual(['FAILED']);
    expect(of('FAILED').failureMessage).toContain('achAccountNumber');
    const { failureMessage } = await paymentIn('FAILED', '0202');
    expect(failureMessage).toContain('achAccountNumber');
  });

  it('payment-19 has a failureReason in FAILED and FAILED_IN_FLIGHT, for data the message', () => {
    expect(setIn('failureReason')).toEqual(['FAILED', 'FAILED_IN_FLIGHT']);
    expect(of('FAILED').failureReason).toBe(of('FAILED').failureMessage);
    expect(of('FAILED_IN_FLIGHT').failureReason).toMatch(/\w+ \w+/);
  });

  it('payment-20 has the code of the bank when it was returned, or null without one', async () => {
    expect(setIn('returnReasonCode')).toEqual(['RETURNED']);
    expect(of('RETURNED').returnReasonCode).toBe('R01');
    expect((await paymentIn('RETURNED', '0199')).returnReasonCode).toBeNull();
  });

  it('payment-21 has its originator, always with the bank account', () => {
    for (const { originator } of each())
      expect(originator).toMatchObject({
        id: expect.stringMatching(uuid),
        bankAccount: { achAccountNumber: expect.stringMatching(/^\*+\d{4}$/) },
      });
  });

  it('payment-22 has its contact', () => {
    for (const { contact } of each())
      expect(contact).toMatchObject({ id: expect.stringMatching(uuid), entityType: 'INDIVIDUAL' });
  });

  it('payment-23 has null in each failure and return field that does not apply', () => {
    const fields = ['failureCode', 'failureMessage', 'failureReason', 'returnReasonCode'] as const;
    for (const status of ['QUEUED', 'PROCESSING', 'COMPLETED', 'BLOCKED'] as const)
      for (const field of [...fields, 'failedAt', 'returnedAt'] as const)
        expect({ status, field, value: of(status)[field] }).toEqual({ status, field, value: null });
    expect(of('FAILED').returnReasonCode).toBeNull();
    expect(of('RETURNED')).toMatchObject({ failureCode: null, failureReason: null });
  });

  it('masking-7 has the contact and its bank account from QUEUED onward', () => {
    for (const { contact } of each())
      expect(contact?.bankAccount).toMatchObject({ subType: 'CHECKING' });
  });

  it('list-item-1 is the same in a list, less reasons and bank accounts', async () => {
    for (const payment of each()) {
      const { failureReason: _f, returnReasonCode: _r, originator, contact, ...rest } = payment;
      const party = ({ bankAccount: _, ...shown }: Payment['originator']) => shown;
      // Lists follow a moment later what the rail has done.
      const item = await until(
        async () => {
          const items = await listPayments(`status=${payment.status}&limit=100`);
          return items.find(({ paymentId }) => paymentId === payment.paymentId);
        },
        { timeoutMs: arrivalLimitMs },
      );
      expect(item).toEqual({
        ...rest,
        originator: party(originator),
        contact: contact === null ? null : party(contact),
      });
    }
  });
});
