/** What docs/api-decisions.md decides about the choice of a rail. */
import type { RailEvaluation } from '@pis/client';
import { call, data, expectError } from '../support/http.js';
import { itWithKeys } from '../support/target.js';
import {
  bankAccount,
  createContact,
  createPayment,
  getPayment,
  inStatus,
  isoTime,
  type Json,
  listPayments,
  paymentBody,
  unknownId,
} from '../support/things.js';

const path = '/v1/rails/evaluate';
const legalAddress = {
  addressLine1: 'Hauptstrasse 1',
  city: 'Frankfurt',
  state: 'HE',
  postalCode: '60311',
  countryCode: 'DE',
};
const abroad = (): Json => ({ ...bankAccount(), swiftCode: 'DEUTDEFF' });

async function evaluate(changes: Json): Promise<RailEvaluation> {
  return data(200, 'POST', path, { body: await paymentBody(changes) });
}

describe('Rails', () => {
  it('rail-decision-4 takes SWIFT for an account abroad, and no other rail', async () => {
    const contactId = await createContact({ legalAddress, bankAccount: abroad() });
    const payment = { contactId, direction: 'OUTBOUND' };
    expect((await getPayment(await createPayment(payment))).paymentRail).toBe('SWIFT');
    const { rejectedRails } = await evaluate(payment);
    for (const { code } of rejectedRails) expect(code).toBe('account_outside_us');

    const american = await createContact({
      legalAddress,
      bankAccount: { ...bankAccount(), swiftCode: 'CHASUS33' },
    });
    const here = await createPayment({ contactId: american, direction: 'OUTBOUND' });
    expect((await getPayment(here)).paymentRail).not.toBe('SWIFT');
  });

  it('rail-decision-5 answers the rail that a payment would take now, and creates nothing', async () => {
    const contactId = await createContact();
    const evaluation = await evaluate({ contactId, direction: 'INBOUND' });
    expect(evaluation).toMatchObject({
      paymentRail: 'ACH',
      achService: 'standard',
      expectedSettlementAt: expect.stringMatching(isoTime) as string,
      nextCutoffAt: expect.stringMatching(isoTime) as string,
    });
    expect(await listPayments(`contactId=${contactId}`)).toEqual([]);

    const body = await paymentBody({ contactId });
    expectError(
      await call('POST', path, { body: { ...body, direction: 1 } }),
      400,
      'VALIDATION_ERROR',
    );
    const nobody = { ...body, contactId: unknownId };
    expectError(await call('POST', path, { body: nobody }), 404, 'NOT_FOUND');
  });

  itWithKeys(
    'rail-decision-8 is open to full_access and read_only keys',
    ['read_only', 'webhook_admin'],
    async () => {
      const body = await paymentBody();
      expect((await call('POST', path, { body, as: 'read_only' })).status).toBe(200);
      expectError(await call('POST', path, { body, as: 'webhook_admin' }), 403, 'FORBIDDEN');
    },
  );

  it('rail-decision-6 has a reason for each other rail, and ACH once per service', async () => {
    const { paymentRail, achService, rejectedRails } = await evaluate({ direction: 'OUTBOUND' });
    const ways = [{ paymentRail, achService }, ...rejectedRails].map(
      (way) => `${way.paymentRail ?? ''} ${way.achService ?? ''}`,
    );
    expect(ways.sort()).toEqual(
      ['ACH same_day', 'ACH standard', 'FEDNOW ', 'FEDWIRE ', 'RTP ', 'SWIFT '].sort(),
    );
    for (const { code, reason } of rejectedRails) {
      expect(code).toMatch(/^[a-z_]+$/);
      expect(reason).toMatch(/^[A-Z].*\.$/);
    }
  });

  it('rail-decision-7 has no rail for an account abroad without an address: the payment fails', async () => {
    const contactId = await createContact({ bankAccount: abroad() });
    const payment = { contactId, direction: 'OUTBOUND' };
    expect(await evaluate(payment)).toMatchObject({ paymentRail: null, nextCutoffAt: null });
    const failed = await inStatus(await createPayment(payment), 'FAILED');
    expect(failed.failureCode).toBe('INVALID_CONTACT_DATA');
    expect(failed.failureMessage).toContain('legalAddress');

    const tooLarge = { direction: 'INBOUND', paymentAmount: 99_999_999_999 };
    const without = await inStatus(await createPayment(tooLarge), 'FAILED');
    expect(without).toMatchObject({ failureCode: 'INTERNAL_ERROR' });
    expect(without.failureReason).toContain('ACH does not take an amount this large');
  });
});
