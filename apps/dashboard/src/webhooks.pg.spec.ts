import { randomUUID } from 'node:crypto';
import { type HttpsReceiver, startHttpsReceiver } from '@pis/local-servers/testing';
import {
  type DecidedDelivery,
  deliveryIdOf,
  deliveryOf,
  DeliveryTable,
} from '@pis/webhook-deliveries';
import { classify, deliveryHeaders, guardedClient, verify } from '@pis/webhooks';
import { type Board, type BoardReply, startBoard } from './testing/board.js';

const timeoutMs = 5_000;
const hourMs = 3_600_000;

let receiver: HttpsReceiver;
let board: Board;
let viewer: string;
let operator: string;
let admin: string;
let organizationId: string;
let endpoint: { readonly id: string; readonly secret: string; readonly url: string };

beforeAll(async () => {
  receiver = await startHttpsReceiver();
  board = await startBoard({
    changes: {
      PIS_WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8'],
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
      PIS_WEBHOOK_TIMEOUT_MS: timeoutMs,
    },
  });
  organizationId = await board.newOrganization();
  const signedIn = async (role: 'viewer' | 'operator' | 'admin') =>
    board.signedIn(await board.newUser(role, organizationId));
  // One after the other: few passwords are hashed at a time.
  viewer = await signedIn('viewer');
  operator = await signedIn('operator');
  admin = await signedIn('admin');
});
afterAll(async () => {
  await board?.close();
  await receiver?.close();
});
beforeEach(async () => {
  receiver.respondWith(() => ({}));
  endpoint = await createEndpoint();
});
afterEach(() => board.call(`/webhooks/${endpoint.id}`, { method: 'DELETE', cookie: admin }));

const get = (path: string, cookie = viewer) => board.call(path, { cookie });
const post = (path: string, cookie: string, body?: unknown) =>
  board.call(path, { method: 'POST', cookie, ...(body === undefined ? {} : { body }) });
const dataOf = <Data>({ body, text, status }: BoardReply): Data => {
  if (status !== 200) throw new Error(text);
  return body.data as Data;
};

async function createEndpoint(cookie = admin) {
  const url = `${receiver.url}/${randomUUID()}`;
  const body = { url, subscribedEvents: ['payment.*'], label: 'Books' };
  const created = dataOf<{ id: string; secret: string }>(await post('/webhooks', cookie, body));
  return { ...created, url };
}

/** Makes a delivery and its first attempt as a dispatcher does. @returns the ID of the delivery */
async function attempted(at = new Date(), secret = endpoint.secret): Promise<string> {
  const { id: endpointId, url } = endpoint;
  const eventId = randomUUID();
  const deliveryId = deliveryIdOf(eventId, endpointId);
  const eventType = 'payment.completed';
  const fanOut = {
    ...{ eventId, organizationId, eventType, paymentId: randomUUID(), traceparent: null },
    ...{ occurredAt: at, createdAt: at, windowEndsAt: new Date(at.getTime() + hourMs) },
    body: JSON.stringify({ id: eventId, eventType, data: { note: 'Rent' } }),
    bodyHash: '00'.repeat(32),
    receivers: [{ deliveryId, endpointId }],
  };
  const table = new DeliveryTable(board.pool, randomUUID());
  await table.insert([{ fanOut, leasedUntil: [new Date(Date.now() + hourMs)] }]);
  const client = guardedClient({
    ...{ allowedNetworks: ['127.0.0.0/8'], ownHosts: [], extraCaPem: receiver.caPem },
    ...{ timeoutMs, connectionsPerOriginMax: 1 },
  });
  const delivery = deliveryOf(fanOut, { deliveryId, endpointId });
  const headers = deliveryHeaders(
    { deliveryId, eventType, body: fanOut.body },
    secret,
    at.toISOString(),
  );
  const { status, durationMs, error, responseBody } = await client.post(url, headers, fanOut.body);
  await client.close();
  const attempt = {
    ...{ id: randomUUID(), at, status, durationMs },
    ...{ error: error?.message ?? null, responseExcerpt: responseBody },
  };
  const outcome: DecidedDelivery['outcome'] =
    classify(status) === 'success'
      ? { kind: 'delivered', attempt, finishedAt: at }
      : { kind: 'retry', attempt, nextAttemptAt: new Date(Date.now() + hourMs) };
  await table.record([{ delivery, outcome }]);
  return deliveryId;
}

interface Summary {
  readonly lastDay: unknown;
  readonly lastFailure: unknown;
  readonly health: string;
}

describe('an endpoint', () => {
  it('is shown with how its deliveries of the last day went, and why it fails', async () => {
    expect(dataOf<Summary[]>(await get('/webhooks'))).toMatchObject([
      { label: 'Books', health: 'healthy', lastDay: null, lastFailure: null },
    ]);
    await attempted();
    await attempted(new Date(Date.now() - 25 * hourMs));
    receiver.respondWith(() => ({ status: 500 }));
    const deliveryId = await attempted();
    const expected = {
      health: 'degraded',
      failingSince: expect.any(String) as unknown,
      lastDay: { attempted: 2, delivered: 1, isCapped: false },
      lastFailure: { deliveryId, statusCode: 500, error: null },
    };
    expect(dataOf(await get('/webhooks'))).toMatchObject([expected]);
    expect(dataOf(await get(`/webhooks/${endpoint.id}`))).toEqual({
      endpoint: expect.objectContaining({ id: endpoint.id, ...expected }) as unknown,
      previousSecretEndsAt: null,
      replays: [],
    });
  });

  it('shows its secret at its creation and rotation alone, and to administrators alone', async () => {
    const path = `/webhooks/${endpoint.id}`;
    expect((await post(`${path}/rotate-secret`, operator, {})).status).toBe(403);
    const reply = await post(`${path}/rotate-secret`, admin, { overlapHours: 2 });
    expect(reply.headers['cache-control']).toBe('no-store');
    const rotated = dataOf<{ secret: string; previousSecretEndsAt: string }>(reply);
    expect(rotated.secret).toMatch(/^[0-9a-f]{64}$/);
    expect(rotated.secret).not.toBe(endpoint.secret);
    const page = await get(path, admin);
    expect(dataOf(page)).toMatchObject({ previousSecretEndsAt: rotated.previousSecretEndsAt });
    for (const { text } of [page, await get('/webhooks', admin)])
      for (const secret of [endpoint.secret, rotated.secret]) expect(text).not.toContain(secret);
    const atOnce = await post(`${path}/rotate-secret`, admin, { overlapHours: 0 });
    expect(dataOf(atOnce)).toMatchObject({ previousSecretEndsAt: null });
    expect((await post(`${path}/rotate-secret`, admin, { overlapHours: 73 })).status).toBe(400);
  });

  it('is tested with a signed event, and the result is what the receiver answered', async () => {
    const path = `/webhooks/${endpoint.id}/test`;
    expect((await post(path, viewer, {})).status).toBe(403);
    expect(dataOf(await post(path, operator, { eventType: 'payment.returned' }))).toEqual({
      ...{ success: true, statusCode: 200, error: null },
      durationMs: expect.any(Number) as unknown,
    });
    const request = receiver.requests.at(-1);
    expect(request?.headers['x-webhook-event']).toBe('payment.returned');
    expect(verify(request?.body ?? '', request?.headers ?? {}, endpoint.secret, new Date())).toBe(
      true,
    );
    receiver.respondWith(() => ({ status: 410 }));
    expect(dataOf(await post(path, operator, {}))).toMatchObject({
      ...{ success: false, statusCode: 410, error: 'the endpoint answered 410' },
    });
    expect((await post(path, operator, { eventType: 'payment.*' })).status).toBe(400);
  });

  it('waits for a slow receiver longer than other requests may take', async () => {
    const slow = await startBoard({
      changes: {
        PIS_WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8'],
        PIS_WEBHOOK_CA_FILE: receiver.caFile,
        PIS_REQUEST_TIMEOUT_MS: 3_000,
      },
    });
    const cookie = await slow.signedIn(await slow.newUser('admin'));
    const body = { url: receiver.url, subscribedEvents: ['payment.*'] };
    const created = await slow.call('/webhooks', { method: 'POST', cookie, body });
    const { id } = dataOf<{ id: string }>(created);
    receiver.respondWith(() => ({ delayMs: 4_000 }));
    const tested = await slow.call(`/webhooks/${id}/test`, { method: 'POST', cookie, body: {} });
    expect(dataOf(tested)).toMatchObject({ success: true });
    await slow.close();
  });
});

describe('a delivery', () => {
  interface DeliveryData {
    readonly body: string;
    readonly attempts: readonly {
      readonly headers: readonly (readonly [string, string])[];
      readonly signatureMissing: string | null;
    }[];
  }

  it('is shown as it was sent: body, headers and the answer', async () => {
    receiver.respondWith(() => ({ status: 503, body: 'come back later' }));
    const deliveryId = await attempted();
    const request = receiver.requests.at(-1);
    const shown = await get(`/deliveries/${deliveryId}`, operator);
    expect(shown.headers['cache-control']).toBe('no-store');
    expect(shown.text).not.toContain(endpoint.secret);
    const data = dataOf<DeliveryData>(shown);
    expect(data).toMatchObject({
      ...{ deliveryId, url: endpoint.url, state: 'pending', attemptCount: 1 },
      attempts: [
        {
          ...{ attempt: 1, statusCode: 503, error: null, responseExcerpt: 'come back later' },
          durationMs: expect.any(Number) as unknown,
          signatureMissing: null,
        },
      ],
    });
    expect(data.body).toBe(request?.body);
    const headers = data.attempts[0]?.headers ?? [];
    expect(headers.map(([name]) => name)).toContain('X-Webhook-Signature-256');
    for (const [name, value] of headers) expect(request?.headers[name.toLowerCase()]).toBe(value);
  });

  it('is shown to a viewer without the signature, and with none of a replaced secret', async () => {
    const deliveryId = await attempted(new Date(Date.now() - hourMs));
    const attemptOf = async (cookie: string) => {
      const { attempts } = dataOf<DeliveryData>(await get(`/deliveries/${deliveryId}`, cookie));
      expect(attempts[0]?.headers.map(([name]) => name)).toContain('X-Webhook-Timestamp');
      return attempts[0];
    };
    expect(await attemptOf(viewer)).toMatchObject({ signatureMissing: 'not_permitted' });
    expect(await attemptOf(operator)).toMatchObject({ signatureMissing: null });
    await post(`/webhooks/${endpoint.id}/rotate-secret`, admin, {});
    const replaced = await attemptOf(operator);
    expect(replaced?.signatureMissing).toBe('secret_replaced');
    expect(replaced?.headers.filter(([name]) => name.includes('Signature'))).toEqual([]);
    await board.call(`/webhooks/${endpoint.id}`, { method: 'DELETE', cookie: admin });
    expect(await attemptOf(operator)).toMatchObject({ signatureMissing: 'endpoint_deleted' });
  });

  it('is listed by its state, and sent again by operators', async () => {
    receiver.respondWith(() => ({ status: 500 }));
    const deliveryId = await attempted();
    receiver.respondWith(() => ({}));
    await attempted();
    const path = `/webhooks/${endpoint.id}/deliveries`;
    const pending = await get(`${path}?state=pending`);
    expect(dataOf(pending)).toMatchObject([{ deliveryId, lastStatusCode: 500 }]);
    const first = await get(`${path}?limit=1`);
    const next = first.body.meta?.pagination?.nextCursor;
    expect(dataOf<unknown[]>(await get(`${path}?limit=1&cursor=${next}`))).toHaveLength(1);

    const again = `/deliveries/${deliveryId}/redeliver`;
    expect((await post(again, viewer)).status).toBe(403);
    const due = dataOf<{ nextAttemptAt: string }>(await post(again, operator));
    expect(Date.parse(due.nextAttemptAt)).toBeLessThanOrEqual(Date.now());
    await board.call(`/webhooks/${endpoint.id}`, {
      ...{ method: 'PATCH', cookie: admin, body: { enabled: false } },
    });
    expect((await post(again, operator)).status).toBe(409);
  });
});

describe('a replay', () => {
  it('is requested by operators, shown with its progress, and canceled', async () => {
    const path = `/webhooks/${endpoint.id}`;
    const asked = { from: '2026-01-01', to: '2026-01-31' };
    expect((await post(`${path}/replays`, viewer, asked)).status).toBe(403);
    const replay = dataOf<{ replayId: string }>(await post(`${path}/replays`, operator, asked));
    expect(replay).toMatchObject({
      ...{ state: 'running', eventsSent: 0, reachedAt: null },
      from: '2026-01-01T00:00:00.000Z',
      to: '2026-01-31T23:59:59.999Z',
    });
    expect(dataOf(await get(path))).toMatchObject({ replays: [replay] });
    const cancel = `${path}/replays/${replay.replayId}/cancel`;
    expect((await post(cancel, viewer)).status).toBe(403);
    const canceled = dataOf(await post(cancel, operator));
    expect(canceled).toMatchObject({
      state: 'canceled',
      finishedAt: expect.any(String) as unknown,
    });
    expect(dataOf(await post(cancel, operator))).toEqual(canceled);
    const reversed = await post(`${path}/replays`, operator, { from: asked.to, to: asked.from });
    expect(reversed.body.error?.details).toMatchObject([{ field: 'to' }]);
  });

  it('is one of at most five that run', async () => {
    const ask = () => post(`/webhooks/${endpoint.id}/replays`, operator, { from: '2026-01-01' });
    for (let running = 0; running < 5; running += 1) expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(409);
  });
});

it("another organization's webhooks, deliveries and replays read as not found", async () => {
  const deliveryId = await attempted();
  const path = `/webhooks/${endpoint.id}`;
  const asked = { from: '2026-01-01' };
  const replay = dataOf<{ replayId: string }>(await post(`${path}/replays`, operator, asked));
  const stranger = await board.signedIn(await board.newUser('admin'));
  const own = await createEndpoint(stranger);
  const replies = [
    await get(path, stranger),
    await get(`${path}/deliveries`, stranger),
    await get(`/deliveries/${deliveryId}`, stranger),
    await post(`/deliveries/${deliveryId}/redeliver`, stranger),
    await post(`${path}/rotate-secret`, stranger, {}),
    await post(`${path}/test`, stranger, {}),
    await post(`${path}/replays`, stranger, asked),
    await post(`${path}/replays/${replay.replayId}/cancel`, stranger),
    await post(`/webhooks/${own.id}/replays/${replay.replayId}/cancel`, stranger),
  ];
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 404));
  expect(dataOf(await get(path))).toMatchObject({ replays: [{ state: 'running' }] });
});
