/** The main use cases through `@pis/client`, against `npm start`. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  type PaymentCreateRequest,
  type PaymentEvent,
  PisApiError,
  PisClient,
  PisWebhookError,
  verifyWebhook,
} from '@pis/client';
import { type HttpsReceiver, startHttpsReceiver, until } from '@pis/local-servers/testing';
import { paymentTo } from './support/payable.js';
import { root, startCommand } from './support/process.js';
import { allInOne, type System } from './support/systems.js';

const startLimitMs = 240_000;
const testLimitMs = 60_000;
const arrivalLimitMs = 30_000;

let receiver: HttpsReceiver;
let system: System;
let client: PisClient;

beforeAll(async () => {
  receiver = await startHttpsReceiver();
  system = await allInOne({
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
  });
  client = new PisClient({ baseUrl: system.apiUrl, apiKey: system.apiKey });
}, startLimitMs);

afterAll(async () => {
  await system?.stop();
  await receiver?.close();
}, startLimitMs);

async function refusal(call: Promise<unknown>): Promise<PisApiError> {
  const error: unknown = await call.then(
    () => new Error('it was not refused'),
    (reason: unknown) => reason,
  );
  if (error instanceof PisApiError) return error;
  throw error;
}

it(
  'a payment is created, tracked to its end, and reported by valid webhooks',
  async () => {
    const { id, secret } = await client.webhooks.create({
      url: `${receiver.url}/hook`,
      subscribedEvents: ['payment.*'],
    });
    const { paymentId } = await client.payments.create(await paymentTo(client, '000123456789'));
    const final = await until(
      async () => {
        const payment = await client.payments.get(paymentId);
        return payment.status === 'COMPLETED' ? payment : null;
      },
      { timeoutMs: arrivalLimitMs },
    );
    expect(final.contact?.bankAccount?.achAccountNumber).toBe('********6789');

    const deliveries = await until(
      () => {
        const mine = receiver.requests.filter(({ body }) => body.includes(paymentId));
        return mine.length >= 3 ? mine : null;
      },
      { timeoutMs: arrivalLimitMs },
    );
    const events = deliveries.map(
      ({ body, headers }) => verifyWebhook(body, headers, secret) as PaymentEvent,
    );
    const previous = events.map(({ eventType, data }) => [eventType, data.previousStatus]);
    expect(Object.fromEntries(previous)).toEqual({
      'payment.queued': null,
      'payment.processing': 'QUEUED',
      'payment.completed': 'PROCESSING',
    });
    const completed = events.find(({ eventType }) => eventType === 'payment.completed');
    expect(completed).toMatchObject({
      version: '1',
      synthetic: false,
      data: { ...final, previousStatus: 'PROCESSING' },
    });
    for (const { body, headers } of deliveries)
      expect(() => verifyWebhook(body.replace('12345', '99999'), headers, secret)).toThrow(
        PisWebhookError,
      );
    await client.webhooks.delete(id);
  },
  testLimitMs,
);

it(
  'a repeated request returns the same payment, and another request with its key is refused',
  async () => {
    const request = await paymentTo(client, '000222333444');
    const first = await client.payments.create(request);
    const { idempotencyKey } = first;
    expect(first.replayed).toBe(false);
    const again = await client.payments.create(request, { idempotencyKey });
    expect(again).toEqual({ ...first, replayed: true });

    const other = { ...request, paymentAmount: 1 };
    const error = await refusal(client.payments.create(other, { idempotencyKey }));
    expect(error).toMatchObject({
      status: 409,
      code: 'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY',
      idempotencyKey,
      attempts: 1,
      requestId: expect.any(String),
    });
    const found = await client.payments.page({ idempotencyKey });
    expect(found.data.map(({ paymentId }) => paymentId)).toEqual([first.paymentId]);
  },
  testLimitMs,
);

it(
  'an Idempotency-Key in any script reaches the service unchanged',
  async () => {
    const idempotencyKey = `Rechnung-ä-💸-${randomUUID()}`;
    const { paymentId } = await client.payments.create(await paymentTo(client, '000222333445'), {
      idempotencyKey,
    });
    const { data } = await client.payments.page({ idempotencyKey });
    expect(data).toMatchObject([{ paymentId }]);
  },
  testLimitMs,
);

it(
  'the list has every page, newest first, and applies its filter',
  async () => {
    const request = await paymentTo(client, '000444555666');
    const created: string[] = [];
    for (let count = 0; count < 7; count += 1)
      created.unshift((await client.payments.create(request)).paymentId);
    const { contactId } = request;
    // A list waits at most a second for recent writes, which is short on a busy machine.
    await until(
      async () => (await client.payments.page({ contactId })).data.length === created.length,
      { timeoutMs: arrivalLimitMs },
    );
    const listed: string[] = [];
    for await (const { paymentId } of client.payments.list({ contactId }, { pageSize: 3 }))
      listed.push(paymentId);
    expect(listed.toSorted()).toEqual(created.toSorted());

    const sinceTomorrow = { contactId, createdFrom: new Date(Date.now() + 86_400_000) };
    expect(await client.payments.page(sinceTomorrow)).toEqual({ data: [], nextCursor: null });

    const originators: string[] = [];
    for await (const { originatorId } of client.originators.list({ pageSize: 1 }))
      originators.push(originatorId);
    expect(originators).toHaveLength(2);
    const contacts: string[] = [];
    for await (const contact of client.contacts.list({ originatorId: request.originatorId }))
      contacts.push(contact.contactId);
    expect(contacts).toContain(contactId);
  },
  testLimitMs,
);

it(
  'contacts and originators are changed, and a second contact of the same kind is refused',
  async () => {
    const { originatorId, contactId } = await paymentTo(client, '000777888999');
    const changed = await client.contacts.update(contactId, { phoneNumber: '+12125550123' });
    expect(changed).toMatchObject({ contactId, phoneNumber: '+12125550123' });
    const cleared = await client.contacts.update(contactId, { phoneNumber: null });
    expect(cleared).toEqual({ ...changed, phoneNumber: null, updatedAt: cleared.updatedAt });
    const originator = await client.originators.update(originatorId, {});
    expect(originator.originatorId).toBe(originatorId);

    const twin = await refusal(
      client.contacts.create({
        originatorId,
        entityType: 'INDIVIDUAL',
        firstName: changed.firstName,
        lastName: changed.lastName,
        email: changed.email,
        bankAccount: {
          subType: 'CHECKING',
          achRoutingNumber: '021000021',
          achAccountNumber: '000777888999',
        },
      }),
    );
    expect(twin).toMatchObject({ status: 409, code: 'CONFLICT' });
  },
  testLimitMs,
);

it(
  'a webhook endpoint is read, changed and deleted',
  async () => {
    const created = await client.webhooks.create({
      url: `${receiver.url}/other`,
      subscribedEvents: ['payment.failed'],
      label: 'failures',
    });
    const { secret, ...endpoint } = created;
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(await client.webhooks.get(created.id)).toEqual(endpoint);
    expect(await client.webhooks.list()).toContainEqual(endpoint);
    const changed = await client.webhooks.update(created.id, { enabled: false, label: null });
    expect(changed).toMatchObject({ enabled: false, label: null, url: endpoint.url });
    await client.webhooks.delete(created.id);
    expect(await refusal(client.webhooks.get(created.id))).toMatchObject({ code: 'NOT_FOUND' });
    expect(await refusal(client.webhooks.delete(created.id))).toMatchObject({ status: 404 });
  },
  testLimitMs,
);

it(
  'an endpoint is tested with valid samples, and a failing endpoint is reported',
  async () => {
    const { id, secret } = await client.webhooks.create({
      url: `${receiver.url}/tried`,
      subscribedEvents: ['statement.generated'],
    });
    const success = { success: true, statusCode: 200, error: null };
    expect(await client.webhooks.test(id)).toMatchObject(success);
    expect(await client.webhooks.test(id, { eventType: 'payment.failed' })).toMatchObject(success);
    const events = receiver.requests
      .filter((request) => request.path === '/tried')
      .map(({ body, headers }) => verifyWebhook(body, headers, secret));
    expect(events).toMatchObject([
      { eventType: 'TEST', synthetic: true },
      {
        eventType: 'payment.failed',
        synthetic: true,
        data: { status: 'FAILED', failureCode: expect.any(String) },
      },
    ]);

    receiver.respondWith(() => ({ status: 500 }));
    try {
      const failed = await client.webhooks.test(id);
      expect(failed).toMatchObject({ success: false, statusCode: 500 });
    } finally {
      receiver.respondWith(() => ({}));
    }
    await client.webhooks.delete(id);
  },
  testLimitMs,
);

it(
  'a sandbox payment is moved by hand if its status allows it',
  async () => {
    // An account whose payments stay PROCESSING.
    const { paymentId } = await client.payments.create(await paymentTo(client, '000123450502'));
    await until(async () => (await client.payments.get(paymentId)).status === 'PROCESSING', {
      timeoutMs: arrivalLimitMs,
    });
    await client.sandbox.simulate(paymentId, { outcome: 'complete' });
    const returned = { outcome: 'return', returnReasonCode: 'R02' } as const;
    expect(await client.sandbox.simulate(paymentId, returned)).toMatchObject({
      status: 'RETURNED',
      returnReasonCode: 'R02',
    });
    const error = await refusal(client.sandbox.simulate(paymentId, returned));
    expect(error).toMatchObject({ status: 409, code: 'CONFLICT' });
  },
  testLimitMs,
);

it(
  'all problems of a request are reported at once, with codes for programs',
  async () => {
    const request = {
      ...(await paymentTo(client, '000111222333')),
      paymentAmount: 0,
      direction: 'UP',
    };
    const error = await refusal(client.payments.create(request as unknown as PaymentCreateRequest));
    expect(error).toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    expect(error.details.map(({ field, issue }) => [field, issue])).toEqual([
      ['paymentAmount', 'validation_min'],
      ['direction', 'validation_enum'],
    ]);
    const stranger = new PisClient({ baseUrl: system.apiUrl, apiKey: 'pis_test_nobody' });
    expect(await refusal(stranger.originators.page())).toMatchObject({
      status: 401,
      code: 'UNAUTHORIZED',
    });
    expect(await refusal(client.payments.get(randomUUID()))).toMatchObject({ code: 'NOT_FOUND' });
  },
  testLimitMs,
);

it(
  'the examples of its README work with the built package',
  async () => {
    const readme = readFileSync(path.join(root, 'libs/client/README.md'), 'utf8');
    const program = [...readme.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code).join('\n');
    const running = await startCommand(process.execPath, ['--input-type=module', '-e', program], {
      cwd: root,
      env: {
        PIS_URL: system.apiUrl,
        PIS_API_KEY: system.apiKey,
        WEBHOOK_URL: `${receiver.url}/readme`,
      },
      readyLine: (line) => {
        const [, port] = /^listening (\d+)$/.exec(line) ?? [];
        return port === undefined ? null : { port };
      },
    });
    try {
      const [, created] = /^created (\S+)$/m.exec(running.stdout()) ?? [];
      expect(running.stdout()).toMatch(/^replayed true true$/m);
      expect(running.stdout()).toMatch(/^to \*+6789$/m);
      expect(running.stdout()).toContain(`listed ${String(created)} `);
      expect(running.stdout()).toMatch(
        /^refused 409 IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY \[/m,
      );

      // The example's receiver gets the service's request, and the same with another amount.
      const { paymentId } = await client.payments.create(await paymentTo(client, '000123456789'));
      const sent = await receiver.waitFor(
        ({ path: at, body }) => at === '/readme' && body.includes(paymentId),
        { timeoutMs: arrivalLimitMs },
      );
      const relay = async (body: string) => {
        const signed = Object.entries(sent.headers).filter(([name]) => name.startsWith('x-'));
        const headers = signed.map(([name, value]): [string, string] => [name, String(value)]);
        const url = `http://127.0.0.1:${String(running.ready['port'])}/`;
        return (await fetch(url, { method: 'POST', headers, body })).status;
      };
      expect(await relay(sent.body.replace('12345', '99999'))).toBe(401);
      expect(await relay(sent.body)).toBe(204);
      // The order of the payment's events is not guaranteed.
      const line = `received ${String(sent.headers['x-webhook-event'])} ${paymentId}`;
      await until(() => running.stdout().includes(line), { timeoutMs: arrivalLimitMs });
    } finally {
      await running.kill();
    }
  },
  testLimitMs,
);
