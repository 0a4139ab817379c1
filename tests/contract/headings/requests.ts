/** What docs/api-decisions.md decides about every request: checks, codes, errors and paths. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Answer, call, expectError } from '../support/http.js';
import { operations, withBody } from '../support/operations.js';
import { itWithKeys, target } from '../support/target.js';
import {
  contactBody,
  createContact,
  createEndpoint,
  createPayment,
  deleteEndpoint,
  inStatus,
  paymentBody,
  postPayment,
  simulate,
  unknownId,
  uuid,
} from '../support/things.js';

const post = (raw: string | Uint8Array, headers: Record<string, string> = {}) =>
  call('POST', '/v1/payments/', { raw, headers });

describe('Order of checks', () => {
  itWithKeys('check-order-1 says of two faults the earlier one', ['read_only'], async () => {
    const text = { 'content-type': 'text/plain' };
    const unknown = await call('POST', '/v1/nothing', { raw: '{', headers: text, as: null });
    expectError(unknown, 404, 'NOT_FOUND');
    const write = (as: 'read_only' | null) =>
      call('POST', '/v1/payments/', { raw: '{', headers: text, as });
    expectError(await write(null), 401, 'UNAUTHORIZED');
    expectError(await write('read_only'), 403, 'FORBIDDEN');

    expectError(await post('{', text), 415, 'UNSUPPORTED_MEDIA_TYPE');
    expectError(await post('{'.padEnd(65_537)), 413, 'PAYLOAD_TOO_LARGE');
    expectError(await post('{'), 400, 'INVALID_JSON');
    expectError(await post('{}'), 400, 'IDEMPOTENCY_KEY_REQUIRED');

    const body = await paymentBody();
    const key = randomUUID();
    expect((await postPayment(body, key)).status).toBe(201);
    const invalid = await postPayment({ ...body, paymentAmount: 0, contactId: unknownId }, key);
    expectError(invalid, 400, 'VALIDATION_ERROR');
    const elsewhere = await postPayment({ ...body, contactId: unknownId }, key);
    expectError(elsewhere, 409, 'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY');

    const taken = await contactBody();
    expect((await call('POST', '/v1/contacts/', { body: taken })).status).toBe(201);
    const ofNobody = { ...taken, originatorId: unknownId };
    expectError(await call('POST', '/v1/contacts/', { body: ofNobody }), 404, 'NOT_FOUND');
    const paymentId = await createPayment();
    await inStatus(paymentId, 'COMPLETED');
    expectError(await simulate(paymentId, { outcome: 'win' }), 400, 'VALIDATION_ERROR');
    expectError(await simulate(paymentId, { outcome: 'fail' }), 409, 'CONFLICT');
    expectError(await simulate(unknownId, { outcome: 'fail' }), 404, 'NOT_FOUND');
  });
});

describe('Success codes', () => {
  it('success-code-1 are 201 for create, 200 for read, list, update and test, 204 for delete', async () => {
    const statusOf = async (...args: Parameters<typeof call>) => (await call(...args)).status;
    const contact = await createContact();
    const { id } = await createEndpoint();
    const webhook = { url: 'https://receiver.invalid/', subscribedEvents: ['payment.returned'] };
    const created = [
      await call('POST', '/v1/contacts/', { body: await contactBody() }),
      await postPayment(await paymentBody()),
      await call('POST', '/v1/webhooks', { body: webhook }),
    ];
    expect(created.map(({ status }) => status)).toEqual([201, 201, 201]);
    const another = (created[2]?.body.data as { id: string }).id;
    const payment = (created[1]?.body.data as { paymentId: string }).paymentId;
    const reads = [
      '/v1/originators/',
      '/v1/contacts/',
      '/v1/payments/',
      `/v1/payments/${payment}`,
      '/v1/webhooks',
      `/v1/webhooks/${id}`,
    ];
    for (const path of reads) expect([path, await statusOf('GET', path)]).toEqual([path, 200]);
    expect(await statusOf('PATCH', `/v1/contacts/${contact}`, { body: {} })).toBe(200);
    expect(await statusOf('PATCH', `/v1/webhooks/${id}`, { body: {} })).toBe(200);
    expect(await statusOf('POST', `/v1/webhooks/${id}/test`, { body: {} })).toBe(200);
    for (const endpoint of [id, another])
      expect(await statusOf('DELETE', `/v1/webhooks/${endpoint}`)).toBe(204);
  });
});

describe('Further error codes', () => {
  it('further-error-2 takes a body of 64 KiB, and answers 413 to a byte more', async () => {
    const contact = await contactBody();
    const padded = (bytes: number) => {
      const bare = JSON.stringify({ ...contact, padding: '' });
      return JSON.stringify({ ...contact, padding: 'x'.repeat(bytes - bare.length) });
    };
    const send = (raw: string) => call('POST', '/v1/contacts/', { raw });
    expectError(await send(padded(65_537)), 413, 'PAYLOAD_TOO_LARGE');
    expect((await send(padded(65_536))).status).toBe(201);
  });

  it('further-error-3 answers 415 to a body that does not say it is JSON', async () => {
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded'])
      expectError(await post('{}', { 'content-type': type }), 415, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('further-error-5 answers INVALID_JSON to what is no JSON', async () => {
    const latin1 = Uint8Array.from(Buffer.from('{"paymentNote":"caf\u00e9"}', 'latin1'));
    for (const wrong of ['{', '{"a":}', "{'a':1}", '{"a":1}}', '[1,]', 'nonsense', latin1])
      expectError(await post(wrong), 400, 'INVALID_JSON');
  });

  it('further-error-6 has an X-Request-Id in every response, the caller’s if it is sane', async () => {
    const ask = (path: string, id?: string) =>
      call('GET', path, id === undefined ? {} : { headers: { 'x-request-id': id } });
    for (const path of ['/v1/originators/', `/v1/payments/${unknownId}`, '/v1/nothing']) {
      expect((await ask(path)).headers.get('x-request-id')).toMatch(uuid);
      expect((await ask(path, 'order-7.1')).headers.get('x-request-id')).toBe('order-7.1');
      for (const insane of ['x'.repeat(1_000), 'two words', '<script>'])
        expect((await ask(path, insane)).headers.get('x-request-id')).toMatch(uuid);
    }
    const anonymous = await call('GET', '/v1/originators/', { as: null });
    expect(anonymous.headers.get('x-request-id')).toMatch(uuid);
  });

  it('further-error-7 has the error envelope in every error, also of the router and the parser', async () => {
    for (const path of ['/', '/v1', '/v2/payments/', '/v1/nothing', `/v1/${'x'.repeat(1_000)}`])
      expectError(await call('GET', path), 404, 'NOT_FOUND');
    for (const method of ['PUT', 'DELETE'])
      expectError(await call(method, '/v1/payments/'), 404, 'NOT_FOUND');
    expectError(await call('GET', '/v1/payments/%zz'), 404, 'NOT_FOUND');
    // Where TLS ends before the service, what ends it answers to what is no HTTP.
    if (new URL(target().baseUrl).protocol !== 'http:') return;
    for (const bytes of ['nonsense\r\n\r\n', 'GET /v1/payments/ HTTP/1.1\r\nno colon\r\n\r\n'])
      expect(await answerTo(bytes)).toMatchObject({
        status: 400,
        body: { error: { code: 'VALIDATION_ERROR', message: expect.stringMatching(/\S/) } },
      });
  });
});

describe('Trailing slash', () => {
  it('trailing-slash-1 makes no difference to any path', async () => {
    for (const [method, path] of operations) {
      const bare = path.replace(/\/$/, '');
      const [without, withSlash] = await Promise.all(
        [bare, `${bare}/`].map((each) => call(method, each, withBody(method))),
      );
      const shown = ({ status, body }: Answer) => [method, path, status, body.error];
      expect(withSlash && shown(withSlash)).toEqual(without && shown(without));
      expect(without?.body.error?.message ?? '').not.toMatch(/no such path/);
    }
    const { id } = await createEndpoint();
    expect((await call('GET', `/v1/webhooks/${id}/`)).status).toBe(200);
    await deleteEndpoint(`${id}/`);
  });
});

/** The answer to bytes that no client of HTTP sends. */
async function answerTo(bytes: string): Promise<Answer> {
  const { hostname, port } = new URL(target().baseUrl);
  const socket = connect(Number(port || 80), hostname);
  await once(socket, 'connect');
  socket.end(bytes);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  const headers = new Headers();
  return {
    status: Number(head.split(' ')[1]),
    headers,
    text: body,
    body: JSON.parse(body) as Answer['body'],
  };
}
