/** `pis webhooks` for operators and developers of receivers, against `npm start`. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { PisClient, verifyWebhook } from '@pis/client';
import { type HttpsReceiver, startHttpsReceiver, until } from '@pis/local-servers/testing';
import {
  type ApiWay,
  type Listener,
  type LocalServer,
  startApiWay,
  startListener,
  startLocalServer,
  type Way,
} from './support/developer.js';
import { completed, paymentTo } from './support/payable.js';
import { pis, pisJson, type RunningProcess, startProcess } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(120_000);
const startLimitMs = 240_000;
const arrivalLimitMs = 30_000;
const fullKey = 'pis_test_cli_webhooks_spec';
const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as unknown;

let dataDir: string;
let receiver: HttpsReceiver;
let server: LocalServer;
let way: ApiWay;
let running: RunningProcess;
let client: PisClient;
let environment: Record<string, string>;
let listener: Listener | undefined;

beforeAll(async () => {
  dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-cli-webhooks-'));
  receiver = await startHttpsReceiver();
  await start();
  way = await startApiWay(String(running.ready['apiUrl']));
  environment = {
    PIS_DATA_DIR: dataDir,
    PIS_PUBLIC_URL: way.url,
    PIS_API_KEY: fullKey,
  };
}, startLimitMs);
afterAll(async () => {
  await way?.close();
  await running?.stop();
  await receiver?.close();
  rmSync(dataDir, { recursive: true, force: true });
}, startLimitMs);
beforeEach(async () => {
  server = await startLocalServer();
  receiver.respondWith(() => ({}));
  way.set('open');
});
afterEach(async () => {
  await listener?.interrupt();
  listener = undefined;
  await server?.close();
});

async function start(): Promise<void> {
  running = await startProcess(null, {
    PIS_DATA_DIR: dataDir,
    PIS_BOOTSTRAP_API_KEY: fullKey,
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
  });
  const baseUrl = String(running.ready['apiUrl']);
  client = new PisClient({ baseUrl, apiKey: fullKey });
}

/** Each payment has three events, until it is COMPLETED. */
const eventsOfPayment = 3;

async function pay(count = 1): Promise<string[]> {
  const payment = await paymentTo(client);
  const created = Array.from({ length: count }, () => client.payments.create(payment));
  return (await Promise.all(created)).map(({ paymentId }) => paymentId);
}

async function listen(...args: string[]): Promise<Listener> {
  listener = await startListener(['--forward', server.url, ...args], environment);
  return listener;
}

/** The requests of these payments at the local server, once all have arrived. */
async function hooksOf(paymentIds: readonly string[]) {
  const mine = () => server.hooks.filter(({ event }) => paymentIds.includes(event.data.paymentId));
  await until(() => mine().length >= paymentIds.length * eventsOfPayment, {
    timeoutMs: arrivalLimitMs,
    what: 'the events of all payments',
  });
  return mine();
}

describe('pis webhooks listen', () => {
  it('forwards each event like the service, with headers, bytes and a signature', async () => {
    const endpoint = await client.webhooks.create({
      url: `${receiver.url}/${randomUUID()}`,
      subscribedEvents: ['payment.*'],
    });
    await completed(client, await pay());
    const { process, secret, lines } = await listen();
    expect(process.ready).toEqual({
      listening: true,
      apiUrl: way.url,
      forwardTo: server.url,
      secret: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
    });
    const paymentIds = await pay();
    const hooks = await hooksOf(paymentIds);
    // No request for the earlier payment.
    expect(server.hooks).toEqual(hooks);
    expect(hooks.map(({ event }) => event.eventType)).toEqual([
      'payment.queued',
      'payment.processing',
      'payment.completed',
    ]);
    for (const { headers, body, event } of hooks) {
      expect(verifyWebhook(body, headers, secret)).toEqual(event);
      const sent = await receiver.waitFor((request) => request.body.includes(event.id), {
        timeoutMs: arrivalLimitMs,
      });
      expect(body).toBe(sent.body);
      const own = ['x-webhook-delivery', 'x-webhook-signature-256', 'x-webhook-timestamp'];
      const { host: _, connection: __, ...alike } = sent.headers;
      for (const [name, value] of Object.entries(alike))
        expect([name, headers[name]]).toEqual([
          name,
          own.includes(name) ? expect.any(String) : value,
        ]);
    }
    await until(() => lines().length === eventsOfPayment, { timeoutMs: arrivalLimitMs });
    expect(lines()).toEqual(
      hooks.map(({ event }) => ({
        eventId: event.id,
        eventType: event.eventType,
        paymentId: paymentIds[0],
        createdAt: expect.any(String),
        statusCode: 200,
        error: null,
        durationMs: expect.any(Number),
      })),
    );
    await client.webhooks.delete(endpoint.id);
  });

  it('forwards every event once in the order of the feed, however many occur at once', async () => {
    await listen('--secret', 'my own');
    const paymentIds = [...(await pay(25)), ...(await pay(25))];
    const hooks = await hooksOf(paymentIds);
    await completed(client, paymentIds);
    const ids = hooks.map(({ event }) => event.id);
    expect(ids).toHaveLength(paymentIds.length * eventsOfPayment);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual((await feed()).filter((id) => ids.includes(id)));
    for (const { headers, body } of hooks) verifyWebhook(body, headers, 'my own');
  });

  it('keeps its position during every kind of outage of the API', async () => {
    const { process, interrupt } = await listen();
    const paymentIds: string[] = [];
    for (const away of ['closed', '503', 'rate limited', 'cut short'] satisfies Way[]) {
      way.set(away);
      paymentIds.push(...(await pay()));
      const asked = way.asked();
      // The second request succeeds.
      await until(() => way.asked() >= asked + 2, { timeoutMs: arrivalLimitMs });
      way.set('open');
      paymentIds.push(...(await pay()));
      await hooksOf(paymentIds);
    }
    const ids = server.hooks.map(({ event }) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(paymentIds.length * eventsOfPayment);
    expect(process.stderr().match(/the API is back/g)).toHaveLength(4);
    for (const said of ['other side closed', 'HTTP 503', 'HTTP 429'])
      expect(process.stderr()).toContain(said);
    expect(await interrupt()).toBe(0);
  });

  it('continues at its position after the service is killed and restarted', async () => {
    await listen();
    const before = await pay();
    await running.kill();
    await start();
    way.leadTo(String(running.ready['apiUrl']));
    const paymentIds = [...before, ...(await pay())];
    await hooksOf(paymentIds);
    const ids = server.hooks.map(({ event }) => event.id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('reports a server that fails, and continues with the next event', async () => {
    const { lines } = await listen();
    server.answer((response, { event }) => {
      if (event.eventType === 'payment.queued') response.writeHead(500).end('broken');
      else if (event.eventType === 'payment.processing') response.destroy();
      else response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end('x'.repeat(100_000));
    });
    const paymentIds = await pay();
    await until(() => lines().length === eventsOfPayment, { timeoutMs: arrivalLimitMs });
    expect(lines()).toMatchObject([
      { eventType: 'payment.queued', paymentId: paymentIds[0], statusCode: 500, error: 'HTTP 500' },
      { eventType: 'payment.processing', statusCode: null, error: expect.any(String) as string },
      { eventType: 'payment.completed', statusCode: 302, error: 'HTTP 302' },
    ]);
    // It is not sent again, and later events are not delayed.
    server.answer((response) => void response.end());
    await hooksOf(await pay());
    expect(server.hooks).toHaveLength(2 * eventsOfPayment);
  });

  it('exits with 0 on Ctrl-C, even while the server does not answer', async () => {
    const { interrupt, process } = await listen();
    server.answer(() => undefined);
    await pay();
    await until(() => server.hooks.length > 0, { timeoutMs: arrivalLimitMs });
    const startedMs = Date.now();
    expect(await interrupt()).toBe(0);
    expect(Date.now() - startedMs).toBeLessThan(10_000);
    expect(process.stderr()).toBe('');
  });

  it('ends without an error when its output is closed', async () => {
    const { process } = await listen();
    process.child.stdout?.destroy();
    await pay();
    await until(() => process.child.exitCode !== null, { timeoutMs: arrivalLimitMs });
    expect({ code: process.child.exitCode, stderr: process.stderr() }).toEqual({
      code: 0,
      stderr: '',
    });
  });

  it('ends with the reason when the key becomes invalid', async () => {
    const { apiKeyId, apiKey } = await key('read_only');
    const ended = { ...environment, PIS_API_KEY: apiKey };
    listener = await startListener(['--forward', server.url], ended);
    const { process } = listener;
    await pisJson(['api-key', 'revoke', '--id', apiKeyId], environment);
    await until(() => process.child.exitCode !== null, { timeoutMs: arrivalLimitMs });
    expect(process.child.exitCode).toBe(1);
    expect(process.stderr()).toContain('UNAUTHORIZED');
  });

  it('requires a key that may read events, an address, and a secret', async () => {
    const args = ['webhooks', 'listen', '--forward', server.url];
    const refused = (env: Record<string, string>, ...more: string[]) =>
      pis([...args, ...more], { ...environment, ...env });
    expectRefusal(await refused({ PIS_API_KEY: '' }), 'PIS_API_KEY is not set');
    expectRefusal(await refused({ PIS_API_KEY: 'two words' }), 'PIS_API_KEY: must be an API key');
    expectRefusal(await refused({ PIS_API_KEY: 'pis_test_nobody' }), 'UNAUTHORIZED');
    const { apiKey } = await key('webhook_admin');
    expectRefusal(await refused({ PIS_API_KEY: apiKey }), 'FORBIDDEN');
    expectRefusal(
      await refused({}, '--forward', 'localhost:4000'),
      '--forward is not an http(s) URL',
    );
    expectRefusal(await refused({}, '--forward', 'http://a:b@localhost/'), 'user or a password');
    expectRefusal(await refused({}, '--api-url', `${way.url}/?a=b`), 'an origin and a path');
    expectRefusal(await refused({}, '--api-url', 'here'), '--api-url is not an http(s) URL');
    expectRefusal(await refused({}, '--api-url', `${way.url}/elsewhere`), 'NOT_FOUND');
    expectRefusal(await refused({}, '--secret', ''), '--secret is empty');
  });
});

describe('pis webhooks trigger', () => {
  const trigger = (...args: string[]) =>
    pis(['webhooks', 'trigger', ...args, '--json'], environment);

  it('makes the service send a sample to an endpoint, and reports the answer', async () => {
    const { id, secret } = await client.webhooks.create({
      url: `${receiver.url}/${randomUUID()}`,
      subscribedEvents: ['statement.generated'],
    });
    const sent = await trigger('payment.failed', '--webhook', id);
    expect(JSON.parse(sent.stdout)).toMatchObject({ success: true, statusCode: 200 });
    const { body, headers } = receiver.requests.at(-1) ?? { body: '', headers: {} };
    const event = { eventType: 'payment.failed', synthetic: true };
    expect(verifyWebhook(body, headers, secret)).toMatchObject(event);

    receiver.respondWith(() => ({ status: 500 }));
    const refused = await trigger('TEST', '--webhook', id);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('500') as string });
    expect(JSON.parse(refused.stdout)).toMatchObject({ success: false, statusCode: 500 });
    await client.webhooks.delete(id);
    expectRefusal(await trigger('TEST', '--webhook', id), 'NOT_FOUND');
    expectRefusal(await trigger('TEST', '--webhook', '../events'), 'answered');
  });

  it('signs a sample and sends it to a local server, without a running service', async () => {
    for (const eventType of ['payment.returned', 'TEST']) {
      const args = ['webhooks', 'trigger', eventType, '--forward', server.url, '--json'];
      const { code, stdout } = await pis(args, {});
      expect(code).toBe(0);
      const printed = JSON.parse(stdout) as { secret: string };
      const hook = server.hooks.at(-1);
      if (hook === undefined) throw new Error('nothing has arrived');
      const { body, headers, event } = hook;
      expect(event).toMatchObject({ eventType, synthetic: true, version: '1' });
      expect(verifyWebhook(body, headers, printed.secret)).toEqual(event);
      expect(printed).toMatchObject({ eventId: event.id, eventType, statusCode: 200, error: null });
    }
    server.answer((response) => void response.writeHead(401).end());
    const refused = await trigger('TEST', '--forward', server.url, '--secret', 'x');
    expect(refused).toMatchObject({ code: 1, stderr: 'pis: not delivered: HTTP 401\n' });
    expect(JSON.parse(refused.stdout)).toMatchObject({ secret: 'x', statusCode: 401 });
    await server.close();
    const nobody = await trigger('TEST', '--forward', server.url);
    expect(nobody).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('ECONNREFUSED') as string,
    });
    server = await startLocalServer();
  });

  it('requires one event and one target', async () => {
    expectRefusal(await trigger('payment.failed'), 'either --webhook or --forward');
    const both = ['--webhook', randomUUID(), '--forward', server.url];
    expectRefusal(await trigger('payment.failed', ...both), 'either --webhook or --forward');
    expectRefusal(await trigger('payment.nope', '--forward', server.url), 'payment.returned');
    expectRefusal(await trigger('TEST', '--webhook', randomUUID(), '--secret', 'x'), '--forward');
  });
});

describe('pis webhooks redeliver', () => {
  const redeliver = (id: string) =>
    pis(['webhooks', 'redeliver', '--delivery', id, '--json'], environment);

  it('sends a delivery again under its own id', async () => {
    const url = `${receiver.url}/${randomUUID()}`;
    const endpoint = await client.webhooks.create({ url, subscribedEvents: ['payment.queued'] });
    const [paymentId = ''] = await pay();
    const arrived = () => receiver.requests.filter(({ body }) => body.includes(paymentId));
    const delivered = async () => {
      const { data } = await client.webhooks.deliveriesPage(endpoint.id, { state: 'delivered' });
      return data[0];
    };
    const { deliveryId, eventId } = await until(delivered, { timeoutMs: arrivalLimitMs });
    const { code, stdout, stderr } = await redeliver(deliveryId);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      deliveryId,
      webhookId: endpoint.id,
      organizationId: uuid,
      eventId,
      eventType: 'payment.queued',
      paymentId,
      previousState: 'delivered',
      requestedAt: expect.any(String),
    });
    await until(() => arrived().length === 2, { timeoutMs: arrivalLimitMs });
    const [first, second] = arrived();
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['x-webhook-delivery']).toBe(deliveryId);
    await until(async () => (await client.webhooks.delivery(deliveryId)).attempts.length === 2, {
      timeoutMs: arrivalLimitMs,
    });

    await client.webhooks.update(endpoint.id, { enabled: false });
    expectRefusal(await redeliver(deliveryId), 'disabled');
    await client.webhooks.delete(endpoint.id);
    expectRefusal(await redeliver(deliveryId), 'deleted');
    expect(arrived()).toHaveLength(2);
  });

  it('requires an existing delivery', async () => {
    const unknown = randomUUID();
    expectRefusal(await redeliver(unknown), `there is no delivery ${unknown}`);
    expectRefusal(await redeliver('one'), '--delivery is not a UUID');
  });
});

async function feed(): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | undefined; ; ) {
    const { data, nextCursor } = await client.events.page({ after, limit: 100 });
    ids.push(...data.map(({ id }) => id));
    if (data.length === 0) return ids;
    after = nextCursor ?? undefined;
  }
}

function key(type: string): Promise<{ apiKeyId: string; apiKey: string }> {
  const organizationId = String(running.ready['organizationId']);
  const args = ['api-key', 'create', '--organization', organizationId, '--type', type];
  return pisJson(args, environment);
}
