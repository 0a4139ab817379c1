import { randomUUID } from 'node:crypto';
import { call, expectError, problemsOf } from '../support/http.js';
import {
  getPayment,
  idOf,
  idsOf,
  listPayments,
  paymentBody,
  postPayment,
  unknownId,
  uuid,
} from '../support/things.js';

const post = (body: unknown, headers: Record<string, string> = {}) =>
  call('POST', '/v1/payments/', { body, headers });

/** The ids of the payments to this contact. */
const paymentsTo = async (contactId: unknown) =>
  idsOf(await listPayments(`limit=100&contactId=${String(contactId)}`));

describe('POST /v1/payments/', () => {
  it('payment-creation-1 needs an Idempotency-Key of 1 to 255 characters, of any form', async () => {
    const body = await paymentBody();
    const run = randomUUID();
    for (const key of [run, `${run} a key, with: "punctuation"/#?`, run.padEnd(255, 'x')])
      expect((await postPayment(body, key)).status).toBe(201);
    expectError(await post(body), 400, 'IDEMPOTENCY_KEY_REQUIRED');
  });

  it('payment-creation-2 takes the create request, and ignores what it does not know', async () => {
    const body = await paymentBody({ paymentNote: 'n', externalPaymentId: 'e', color: 'blue' });
    const payment = await getPayment(idOf(await postPayment(body)));
    expect(payment).toMatchObject({ paymentAmount: 12_345, paymentNote: 'n' });
    expect(payment).not.toHaveProperty('color');
  });

  it('payment-creation-3 answers 201 with the paymentId', async () => {
    const answer = await postPayment(await paymentBody());
    expect(answer.status).toBe(201);
    expect(answer.body.data).toEqual({ paymentId: expect.stringMatching(uuid) });
  });

  it('payment-creation-4 answers each error of its list', async () => {
    const body = await paymentBody();
    const key = { 'idempotency-key': randomUUID() };
    expectError(await post(body), 400, 'IDEMPOTENCY_KEY_REQUIRED');
    expectError(await post(body, { 'idempotency-key': '' }), 400, 'IDEMPOTENCY_KEY_REQUIRED');
    const long = { 'idempotency-key': 'x'.repeat(256) };
    expectError(await post(body, long), 400, 'IDEMPOTENCY_KEY_REQUIRED');
    expectError(await post({ ...body, direction: 'UP' }, key), 400, 'VALIDATION_ERROR');
    const twice = { raw: '{"direction":"INBOUND","direction":"INBOUND"}', headers: key };
    expectError(await call('POST', '/v1/payments/', twice), 400, 'INVALID_JSON');
    const anonymous = await call('POST', '/v1/payments/', { body, headers: key, as: null });
    expectError(anonymous, 401, 'UNAUTHORIZED');
    expectError(await post({ ...body, contactId: unknownId }, key), 404, 'NOT_FOUND');
    expect((await post(body, key)).status).toBe(201);
    const reused = await post({ ...body, paymentAmount: 1 }, key);
    expectError(reused, 409, 'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY');
  });
});

describe('Idempotency rules', () => {
  it('idempotency-1 creates the payment with the first request, and keeps the key', async () => {
    const body = await paymentBody();
    const key = randomUUID();
    const paymentId = idOf(await postPayment(body, key));
    expect(await paymentsTo(body['contactId'])).toEqual([paymentId]);
    expect(idsOf(await listPayments(`idempotencyKey=${key}`))).toEqual([paymentId]);
  });

  it('idempotency-2 replays the 201 and the paymentId, also to fifty at once', async () => {
    const body = await paymentBody();
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 50 }, () => postPayment(body, key)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(idOf)).size).toBe(1);
    expect(await paymentsTo(body['contactId'])).toHaveLength(1);
  });

  it('idempotency-3 answers 409 to a different body, in each field that is known', async () => {
    const body = await paymentBody();
    const key = randomUUID();
    const paymentId = idOf(await postPayment(body, key));
    const other = await paymentBody();
    const changes = [
      { paymentAmount: 12_346 },
      { direction: 'INBOUND' },
      { contactId: other['contactId'] },
      { paymentNote: 'another' },
      { externalPaymentId: 'another' },
    ];
    for (const change of changes)
      expectError(
        await postPayment({ ...body, ...change }, key),
        409,
        'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY',
      );
    expect(await paymentsTo(body['contactId'])).toEqual([paymentId]);
  });

  it('idempotency-4 compares without unknown fields and without the order of keys', async () => {
    const body = await paymentBody({ paymentNote: 'same' });
    const key = randomUUID();
    const paymentId = idOf(await postPayment({ ...body, unknown: 1 }, key));
    const reversed = Object.fromEntries(Object.entries(body).reverse());
    for (const same of [body, reversed, { ...reversed, unknown: { nested: [2] } }])
      expect(idOf(await postPayment(same, key))).toBe(paymentId);
  });

  it('idempotency-5 does not reserve a key whose request was refused', async () => {
    const body = await paymentBody();
    const key = randomUUID();
    expectError(await postPayment({ ...body, paymentAmount: -1 }, key), 400, 'VALIDATION_ERROR');
    expectError(await postPayment({ ...body, contactId: unknownId }, key), 404, 'NOT_FOUND');
    expect((await postPayment(body, key)).status).toBe(201);
    const retried = randomUUID();
    problemsOf(await postPayment({ ...body, direction: undefined }, retried));
    expect((await postPayment(body, retried)).status).toBe(201);
  });

  it('idempotency-6 keeps a key forever, whatever happens to the payment', async () => {
    const body = await paymentBody({}, '0201');
    const key = randomUUID();
    const paymentId = idOf(await postPayment(body, key));
    expect(idOf(await postPayment(body, key))).toBe(paymentId);
    await call('PATCH', `/v1/contacts/${String(body['contactId'])}`, {
      body: { lastName: 'King' },
    });
    expect(idOf(await postPayment(body, key))).toBe(paymentId);
    const other = await postPayment({ ...body, paymentAmount: 7 }, key);
    expect(other.status).toBe(409);
    expect(await paymentsTo(body['contactId'])).toEqual([paymentId]);
  });
});

describe('Limits on the Idempotency-Key', () => {
  it('limit-2 takes keys of 1 and of 255 characters, and none of 0 or 256', async () => {
    const body = await paymentBody();
    const statusOf = async (key: string) => (await postPayment(body, key)).status;
    // Whoever ran this before may have used the short key.
    expect([201, 409]).toContain(await statusOf('k'));
    expect(await statusOf(randomUUID().padEnd(255, 'x'))).toBe(201);
    expectError(
      await postPayment(body, randomUUID().padEnd(256, 'x')),
      400,
      'IDEMPOTENCY_KEY_REQUIRED',
    );
    expectError(await postPayment(body, ''), 400, 'IDEMPOTENCY_KEY_REQUIRED');
  });
});
