import { randomUUID } from 'node:crypto';
import { call, expectError } from '../support/http.js';
import {
  createContact,
  createPayment,
  isoTime,
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

  it('envelope-3 has meta.pagination in the list of payments and nowhere else', async () => {
    const { body } = await call('GET', '/v1/payments/?limit=7');
    expect(body.meta?.pagination).toMatchObject({ limit: 7 });
    const nextCursor = body.meta?.pagination?.nextCursor;
    expect(nextCursor === null || typeof nextCursor === 'string').toBe(true);
    const others = ['/v1/originators/', '/v1/contacts/', '/v1/webhooks'];
    others.push(`/v1/payments/${await createPayment()}`);
    for (const path of others) {
      const answer = await call('GET', path);
      expect({ path, meta: Object.keys(answer.body.meta ?? {}) }).toEqual({
        path,
        meta: ['timestamp'],
      });
    }
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
