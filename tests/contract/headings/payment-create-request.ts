import { expectError, problemsOf } from '../support/http.js';
import {
  createPayment,
  getPayment,
  type Json,
  paymentBody,
  postPayment,
  unknownId,
  uuid,
} from '../support/things.js';

/** The problems of a payment that is right but for `changes`. */
async function problemsWith(changes: Json): Promise<string[]> {
  return problemsOf(await postPayment({ ...(await paymentBody()), ...changes }));
}

describe('Payment create request', () => {
  it('payment-create-1 needs an originatorId', async () => {
    expect(await problemsWith({ originatorId: undefined })).toEqual([
      'originatorId validation_required',
    ]);
    expect(await problemsWith({ originatorId: 'x' })).toEqual(['originatorId validation_uuid']);
    const unknown = await postPayment({ ...(await paymentBody()), originatorId: unknownId });
    expectError(unknown, 404, 'NOT_FOUND');
  });

  it('payment-create-2 needs the contactId of an existing contact', async () => {
    expect(await problemsWith({ contactId: undefined })).toEqual(['contactId validation_required']);
    expect(await problemsWith({ contactId: 7 })).toEqual(['contactId validation_type']);
    const unknown = await postPayment({ ...(await paymentBody()), contactId: unknownId });
    expectError(unknown, 404, 'NOT_FOUND');
  });

  it('payment-create-3 needs a paymentAmount that is a positive integer', async () => {
    const problem = async (paymentAmount: unknown) => problemsWith({ paymentAmount });
    expect(await problem(undefined)).toEqual(['paymentAmount validation_required']);
    expect(await problem('100')).toEqual(['paymentAmount validation_type']);
    expect(await problem(10.5)).toEqual(['paymentAmount validation_integer']);
    expect(await problem(0)).toEqual(['paymentAmount validation_min']);
    expect(await problem(-100)).toEqual(['paymentAmount validation_min']);
  });

  it('payment-create-4 needs a direction that is INBOUND or OUTBOUND', async () => {
    expect(await problemsWith({ direction: undefined })).toEqual(['direction validation_required']);
    expect(await problemsWith({ direction: 'outbound' })).toEqual(['direction validation_enum']);
    for (const direction of ['INBOUND', 'OUTBOUND'])
      expect((await getPayment(await createPayment({ direction }))).direction).toBe(direction);
  });

  it('payment-create-5 attaches the free text of paymentNote to the payment', async () => {
    const paymentNote = 'Invoice 42: 3 × “parts”, €… 🧾';
    expect((await getPayment(await createPayment({ paymentNote }))).paymentNote).toBe(paymentNote);
  });

  it('payment-create-6 takes an externalPaymentId that other payments have, too', async () => {
    const body = await paymentBody({ externalPaymentId: 'order-7' });
    const answers = [await postPayment(body), await postPayment(body)];
    const ids = answers.map((answer) => (answer.body.data as { paymentId: string }).paymentId);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect((await getPayment(id)).externalPaymentId).toBe('order-7');
  });

  it('payment-create-8 answers with the paymentId', async () => {
    const answer = await postPayment(await paymentBody());
    expect(answer.body.data).toEqual({ paymentId: expect.stringMatching(uuid) });
  });
});
