import { randomUUID } from 'node:crypto';
import { type Answer, call, expectError } from '../support/http.js';
import {
  contactBody,
  createContact,
  createEndpoint,
  createPayment,
  deleteEndpoint,
  originatorId,
  originators,
  paymentBody,
  postPayment,
  unknownId,
} from '../support/things.js';

/** A webhook endpoint for the time of a test. */
async function withId<Result>(use: (id: string) => Promise<Result>): Promise<Result> {
  const { id } = await createEndpoint();
  try {
    return await use(id);
  } finally {
    await deleteEndpoint(id);
  }
}

const webhook = { url: 'https://receiver.invalid/', subscribedEvents: ['payment.failed'] };

describe('Endpoints', () => {
  it('endpoint-1 answers at collections with a slash, at webhooks without', async () => {
    for (const path of ['/v1/originators/', '/v1/contacts/', '/v1/payments/', '/v1/webhooks'])
      expect({ path, status: (await call('GET', path)).status }).toEqual({ path, status: 200 });
  });

  it('endpoint-3 takes and gives JSON as application/json', async () => {
    const body = await contactBody();
    const answer = await call('POST', '/v1/contacts/', {
      body,
      headers: { 'content-type': 'application/json; charset=utf-8' },
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
    const form = await call('POST', '/v1/contacts/', {
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expectError(form, 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('endpoint-4 refuses a body with the same key twice, at any depth and however written', async () => {
    const bodies = ['{"a":1,"a":1}', '{"a":{"b":[{"c":1,"c":2}]}}', '{"a":1,"\\u0061":2}'];
    for (const raw of bodies)
      for (const path of ['/v1/payments/', '/v1/contacts/', '/v1/webhooks'])
        expectError(
          await call('POST', path, { raw, headers: { 'idempotency-key': randomUUID() } }),
          400,
          'INVALID_JSON',
        );
    const twins = await call('POST', '/v1/contacts/', { raw: '{"a":{"x":1},"b":{"x":1}}' });
    expectError(twins, 400, 'VALIDATION_ERROR');
  });

  it('endpoint-5 lists originators', async () => {
    expect((await call('GET', '/v1/originators/')).body.data).toEqual(
      expect.arrayContaining([expect.objectContaining({ originatorId: await originatorId() })]),
    );
  });

  it('endpoint-6 creates a contact', async () => {
    const body = await contactBody();
    expect((await call('POST', '/v1/contacts/', { body })).status).toBe(201);
  });

  it('endpoint-7 lists contacts', async () => {
    const contactId = await createContact();
    expect((await call('GET', '/v1/contacts/')).body.data).toEqual(
      expect.arrayContaining([expect.objectContaining({ contactId })]),
    );
  });

  it('endpoint-8 updates a contact', async () => {
    const path = `/v1/contacts/${await createContact()}`;
    const answer = await call('PATCH', path, { body: { firstName: 'Grace' } });
    expect(answer).toMatchObject({ status: 200, body: { data: { firstName: 'Grace' } } });
  });

  it('endpoint-9 updates an originator', async () => {
    const path = `/v1/originators/${await originatorId()}`;
    const before = (await originators())[0]?.phoneNumber ?? null;
    for (const phoneNumber of ['+12125550187', before]) {
      const answer = await call('PATCH', path, { body: { phoneNumber } });
      expect(answer).toMatchObject({ status: 200, body: { data: { phoneNumber } } });
    }
  });

  it('endpoint-10 creates a payment', async () => {
    expect((await postPayment(await paymentBody())).status).toBe(201);
  });

  it('endpoint-11 gets a payment', async () => {
    const paymentId = await createPayment();
    const answer = await call('GET', `/v1/payments/${paymentId}`);
    expect(answer).toMatchObject({ status: 200, body: { data: { paymentId } } });
  });

  it('endpoint-12 lists payments', async () => {
    const paymentId = await createPayment();
    expect((await call('GET', '/v1/payments/')).body.data).toEqual(
      expect.arrayContaining([expect.objectContaining({ paymentId })]),
    );
  });

  it('endpoint-13 creates a webhook endpoint', async () => {
    const answer = await call('POST', '/v1/webhooks', { body: webhook });
    expect(answer).toMatchObject({ status: 201, body: { data: webhook } });
    await deleteEndpoint((answer.body.data as { id: string }).id);
  });

  it('endpoint-14 lists webhook endpoints', () =>
    withId(async (id) => {
      expect((await call('GET', '/v1/webhooks')).body.data).toEqual(
        expect.arrayContaining([expect.objectContaining({ id })]),
      );
    }));

  it('endpoint-15 gets a webhook endpoint', () =>
    withId(async (id) => {
      const answer = await call('GET', `/v1/webhooks/${id}`);
      expect(answer).toMatchObject({ status: 200, body: { data: { id } } });
    }));

  it('endpoint-16 updates a webhook endpoint', () =>
    withId(async (id) => {
      const answer = await call('PATCH', `/v1/webhooks/${id}`, { body: { label: 'mine' } });
      expect(answer).toMatchObject({ status: 200, body: { data: { id, label: 'mine' } } });
    }));

  it('endpoint-17 deletes a webhook endpoint', async () => {
    const { id } = await createEndpoint();
    expect((await call('DELETE', `/v1/webhooks/${id}`)).status).toBe(204);
    expectError(await call('GET', `/v1/webhooks/${id}`), 404, 'NOT_FOUND');
  });

  it('endpoint-18 sends a test event', () =>
    withId(async (id) => {
      const answer = await call('POST', `/v1/webhooks/${id}/test`, { body: {} });
      expect(answer).toMatchObject({ status: 200, body: { data: { success: false } } });
    }));
});

describe('Not in the API', () => {
  it('not-in-api-1 cannot cancel a payment, nor create or read payment links', async () => {
    const paymentId = await createPayment({}, '0501');
    const missing: readonly (readonly [string, string])[] = [
      ['DELETE', `/v1/payments/${paymentId}`],
      ['PATCH', `/v1/payments/${paymentId}`],
      ['POST', `/v1/payments/${paymentId}/cancel`],
      ['POST', '/v1/payment-links'],
      ['GET', '/v1/payment-links'],
      ['GET', `/v1/payments/${paymentId}/link`],
    ];
    for (const [method, path] of missing) expectError(await call(method, path), 404, 'NOT_FOUND');
    const payment = await call('GET', `/v1/payments/${paymentId}`);
    expect(payment.body.data).toMatchObject({ status: 'QUEUED', canceledAt: null });
  });

  it('payment-link-1 shows no link and no token of one', async () => {
    const texts: Answer[] = [
      await call('GET', `/v1/payments/${await createPayment({ direction: 'INBOUND' })}`),
      await call('GET', '/v1/payments/'),
      await call('GET', `/v1/payments/${unknownId}`),
    ];
    for (const { text } of texts) expect(text).not.toMatch(/link|token|\/pay\//i);
  });
});
