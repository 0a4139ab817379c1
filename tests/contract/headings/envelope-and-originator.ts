import { randomUUID } from 'node:crypto';
import { call, expectError } from '../support/http.js';
import {
  contactBody,
  createContact,
  createEndpoint,
  createPayment,
  deleteEndpoint,
  isoTime,
  originatorId,
  originators,
  unknownId,
  uuid,
} from '../support/things.js';

describe('Response envelope', () => {
  it('envelope-1 has the resource or the list of resources in data', async () => {
    const list = await call('GET', '/v1/payments/?limit=1');
    expect(Array.isArray(list.body.data)).toBe(true);
    const one = await call('GET', `/v1/payments/${await createPayment()}`);
    expect(one.body.data).toMatchObject({ paymentId: expect.any(String) });
    expect(Object.keys(one.body).sort()).toEqual(['data', 'meta']);
  });

  it('envelope-2 has the time of the response in meta.timestamp, with milliseconds', async () => {
    const before = Date.now();
    const { body } = await call('GET', '/v1/originators/');
    expect(body.meta?.timestamp).toMatch(isoTime);
    // The clock of another machine may differ a little.
    const differenceMs = Math.abs(Date.parse(body.meta?.timestamp ?? '') - before);
    expect(differenceMs).toBeLessThan(60_000);
  });

  it('envelope-3 has meta.pagination in a list that comes in pages, and in no other answer', async () => {
    const endpoint = await createEndpoint();
    const paged = [
      '/v1/payments/',
      '/v1/payments/?limit=20',
      '/v1/originators/?limit=20',
      '/v1/contacts/?limit=20',
      '/v1/events?limit=20',
      `/v1/webhooks/${endpoint.id}/deliveries?limit=20`,
    ];
    for (const path of paged) {
      const { pagination } = (await call('GET', path)).body.meta ?? {};
      expect([path, pagination?.limit]).toEqual([path, 20]);
      const { nextCursor } = pagination ?? {};
      expect([path, nextCursor === null || typeof nextCursor === 'string']).toEqual([path, true]);
    }

    const contact = { body: await contactBody() };
    const payment = await createPayment();
    const others = [
      ['GET', '/v1/originators/'],
      ['GET', '/v1/contacts/'],
      ['GET', '/v1/webhooks'],
      ['GET', '/v1/statements'],
      ['GET', `/v1/payments/${payment}`],
      ['GET', `/v1/webhooks/${endpoint.id}`],
      ['POST', '/v1/contacts/', contact],
      ['PATCH', `/v1/contacts/${await createContact()}`, { body: {} }],
      ['PATCH', `/v1/originators/${await originatorId()}`, { body: {} }],
      ['PATCH', `/v1/webhooks/${endpoint.id}`, { body: {} }],
      ['POST', `/v1/webhooks/${endpoint.id}/test`, { body: {} }],
    ] as const;
    for (const [method, path, options] of others) {
      const { body } = await call(method, path, options);
      expect([method, path, Object.keys(body.meta ?? {})]).toEqual([method, path, ['timestamp']]);
    }
    await deleteEndpoint(endpoint.id);
  });

  it('envelope-4 is not that of errors, which have neither data nor meta', async () => {
    const answer = await call('GET', `/v1/payments/${unknownId}`);
    expect(answer.status).toBe(404);
    expect(Object.keys(answer.body)).toEqual(['error']);
  });
});

describe('Originator', () => {
  it('originator-1 identifies originators, contacts, payments and endpoints by UUIDs', async () => {
    for (const { originatorId } of await originators()) expect(originatorId).toMatch(uuid);
    expect(await createContact()).toMatch(uuid);
    expect(await createPayment()).toMatch(uuid);
    for (const path of ['payments', 'contacts', 'originators', 'webhooks']) {
      const method = path === 'payments' || path === 'webhooks' ? 'GET' : 'PATCH';
      const body = method === 'PATCH' ? { body: {} } : {};
      expectError(await call(method, `/v1/${path}/${randomUUID()}`, body), 404, 'NOT_FOUND');
      expectError(await call(method, `/v1/${path}/7`, body), 400, 'VALIDATION_ERROR');
    }
  });
});
