import { expectError } from '../support/http.js';
import {
  bankAccount,
  createContact,
  createPayment,
  getPayment,
  inStatus,
  originatorId,
  paymentBody,
  postPayment,
  unknownId,
} from '../support/things.js';

describe('What the service does', () => {
  it('service-2 pays a contact and collects from the same one', async () => {
    const contactId = await createContact();
    for (const direction of ['OUTBOUND', 'INBOUND']) {
      const paymentId = await createPayment({ contactId, direction });
      expect((await inStatus(paymentId, 'COMPLETED')).contact?.id).toBe(contactId);
    }
  });

  it('service-3 an OUTBOUND payment goes from the originator to the contact', async () => {
    const contactId = await createContact({ bankAccount: bankAccount('7001') });
    const payment = await getPayment(await createPayment({ contactId, direction: 'OUTBOUND' }));
    expect(payment).toMatchObject({
      direction: 'OUTBOUND',
      originator: { id: await originatorId() },
      contact: { id: contactId, bankAccount: { achAccountNumber: '********7001' } },
    });
  });

  it('service-4 an INBOUND payment is collected from the contact by a debit', async () => {
    const contactId = await createContact({ bankAccount: bankAccount('7002') });
    const payment = await getPayment(await createPayment({ contactId, direction: 'INBOUND' }));
    expect(payment).toMatchObject({
      direction: 'INBOUND',
      paymentRail: 'ACH',
      originator: { id: await originatorId() },
      contact: { id: contactId, bankAccount: { achAccountNumber: '********7002' } },
    });
  });

  it('service-5 takes the same request for both directions, and refuses the same', async () => {
    const contactId = await createContact();
    for (const direction of ['OUTBOUND', 'INBOUND']) {
      const body = await paymentBody({ contactId, direction });
      const wrong = await postPayment({ ...body, paymentAmount: 0 });
      expectError(wrong, 400, 'VALIDATION_ERROR');
      expect((await postPayment(body)).status).toBe(201);
    }
  });

  it('service-6 takes no amount but a positive integer, and shows it as it was sent', async () => {
    const body = await paymentBody();
    for (const paymentAmount of [0, -1, -12_345, 1.5, '12345', null]) {
      const answer = await postPayment({ ...body, paymentAmount });
      expect({ paymentAmount, status: answer.status }).toEqual({ paymentAmount, status: 400 });
    }
    for (const direction of ['OUTBOUND', 'INBOUND']) {
      const paymentId = await createPayment({ direction, paymentAmount: 1 });
      expect((await getPayment(paymentId)).paymentAmount).toBe(1);
    }
  });

  it('service-7 needs an existing contact, starts in QUEUED and executes the payment', async () => {
    const toNobody = await postPayment(await paymentBody({ contactId: unknownId }));
    expectError(toNobody, 404, 'NOT_FOUND');
    const held = await createPayment({}, '0501');
    expect((await getPayment(held)).status).toBe('QUEUED');
    expect(await inStatus(await createPayment(), 'COMPLETED')).toMatchObject({
      status: 'COMPLETED',
      paymentRail: expect.stringMatching(/^(ACH|FEDNOW|RTP|FEDWIRE|SWIFT)$/),
    });
  });

  it('service-8 deducts no fee from a payment', async () => {
    const paymentId = await createPayment({ paymentAmount: 1_000_000 });
    expect((await inStatus(paymentId, 'COMPLETED')).paymentAmount).toBe(1_000_000);
  });
});
