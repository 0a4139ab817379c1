/**
 * Webhooks through `@pis/client`, against `npm start`: deliveries and their attempts, redelivery, replays, the
 * event feed during concurrent payments, and rotation of secrets.
 */
import { randomUUID } from 'node:crypto';
import {
  type PaymentEvent,
  PisApiError,
  PisClient,
  PisWebhookError,
  verifyWebhook,
} from '@pis/client';
import {
  type HttpsReceiver,
  type ReceivedRequest,
  startHttpsReceiver,
  until,
} from '@pis/local-servers/testing';
import { paymentTo } from './support/payable.js';
import { allInOne, type System } from './support/systems.js';

const startLimitMs = 240_000;
const testLimitMs = 90_000;
const arrivalLimitMs = 30_000;
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown;
/** Each payment has three events, until it is COMPLETED. */
const eventTypes = ['payment.queued', 'payment.processing', 'payment.completed'];

let receiver: HttpsReceiver;
let system: System;
let client: PisClient;
let endpoint: { readonly id: string; readonly secret: string; readonly path: string };

beforeAll(async () => {
  receiver = await startHttpsReceiver();
  system = await allInOne({
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
    PIS_WEBHOOK_RETRY_INITIAL_MS: '100',
    PIS_RATE_LIMIT_PER_KEY: '0',
  });
  client = new PisClient({ baseUrl: system.apiUrl, apiKey: system.apiKey });
}, startLimitMs);
afterAll(async () => {
  await system?.stop();
  await receiver?.close();
}, startLimitMs);

beforeEach(async () => {
  receiver.respondWith(() => ({}));
  const path = `/${randomUUID()}`;
  const url = `${receiver.url}${path}`;
  endpoint = { ...(await client.webhooks.create({ url, subscribedEvents: ['payment.*'] })), path };
});
afterEach(() => client.webhooks.delete(endpoint.id));

async function payer() {
  const payment = await paymentTo(client);
  return async () => (await client.payments.create(payment)).paymentId;
}

const pay = async () => (await payer())();

/** The requests at the endpoint of this test, once there are `count` of them. */
async function received(count: number, text = ''): Promise<ReceivedRequest[]> {
  const found = () =>
    receiver.requests.filter(({ path, body }) => path === endpoint.path && body.includes(text));
  await until(() => found().length >= count, { timeoutMs: arrivalLimitMs });
  return found();
}

async function deliveriesOf(paymentId: string) {
  const found = [];
  for await (const one of client.webhooks.deliveries(endpoint.id, { paymentId })) found.push(one);
  return found;
}

const settled = (paymentId: string) =>
  until(
    async () => {
      const all = await deliveriesOf(paymentId);
      const done = all.filter(({ state }) => state !== 'pending');
      return done.length === eventTypes.length ? all : null;
    },
    { timeoutMs: arrivalLimitMs, what: 'the end of all deliveries' },
  );

const idOf = ({ headers }: ReceivedRequest) => String(headers['x-webhook-delivery']);

it(
  'each delivery is found with its attempts and payload, and can be sent again',
  async () => {
    const failed = new Set<string>();
    receiver.respondWith((request) => {
      const type = request.headers['x-webhook-event'];
      // One is refused permanently, one only the first time.
      if (type === 'payment.processing') return { status: 410, body: 'gone for good' };
      if (type !== 'payment.queued' || failed.has(idOf(request))) return {};
      failed.add(idOf(request));
      return { status: 503, body: 'not yet' };
    });
    const paymentId = await pay();
    const deliveries = await settled(paymentId);
    const byType = Object.fromEntries(deliveries.map((one) => [one.eventType, one]));
    expect(byType).toMatchObject({
      'payment.queued': { state: 'delivered', attemptCount: 2, lastStatusCode: 200 },
      'payment.processing': { state: 'failed', finishedReason: 'refused', lastStatusCode: 410 },
      'payment.completed': { state: 'delivered', attemptCount: 1, paymentId, replayed: false },
    });
    const states = async (state: 'failed' | 'delivered' | 'pending') =>
      (await client.webhooks.deliveriesPage(endpoint.id, { state })).data.length;
    expect([await states('failed'), await states('delivered'), await states('pending')]).toEqual([
      1, 2, 0,
    ]);

    const [refused] = deliveries.filter(({ state }) => state === 'failed');
    const { deliveryId = '', eventId = '' } = refused ?? {};
    const queued = await client.webhooks.delivery(byType['payment.queued']?.deliveryId ?? '');
    const durationMs = expect.any(Number) as unknown;
    expect(queued.attempts).toMatchObject([
      { attempt: 1, at: isoTime, durationMs, statusCode: 503, responseExcerpt: 'not yet' },
      { attempt: 2, at: isoTime, durationMs, statusCode: 200, error: null },
    ]);
    const [sent] = await received(1, eventId);
    expect((await client.webhooks.delivery(deliveryId)).payload).toEqual(
      JSON.parse(sent?.body ?? ''),
    );

    receiver.respondWith(() => ({}));
    expect(await client.webhooks.redeliver(deliveryId)).toMatchObject({ deliveryId });
    const [first, second] = await received(2, eventId);
    expect(second?.body).toBe(first?.body);
    expect(idOf(second ?? unreachable())).toBe(deliveryId);
    expect(second?.headers['x-webhook-replay']).toBeUndefined();
    const again = await until(
      async () => {
        const one = await client.webhooks.delivery(deliveryId);
        return one.state === 'delivered' ? one : null;
      },
      { timeoutMs: arrivalLimitMs },
    );
    expect(again.attempts.map(({ statusCode }) => statusCode)).toEqual([410, 200]);
  },
  testLimitMs,
);

it(
  'a replay sends all events of a period again, marked, with the same IDs and bytes',
  async () => {
    const from = new Date().toISOString();
    const paymentIds = [await pay(), await pay()];
    for (const paymentId of paymentIds) await settled(paymentId);
    const before = await received(paymentIds.length * eventTypes.length);
    expect(before.every(({ headers }) => headers['x-webhook-replay'] === undefined)).toBe(true);

    const replay = await client.webhooks.replay(endpoint.id, { from });
    const ended = await until(
      async () => {
        const now = await client.webhooks.getReplay(endpoint.id, replay.replayId);
        return now.state === 'running' ? null : now;
      },
      { timeoutMs: arrivalLimitMs },
    );
    expect(ended).toMatchObject({ state: 'completed', eventsSent: before.length });
    const after = (await received(2 * before.length)).slice(before.length);
    const named = (requests: readonly ReceivedRequest[]) =>
      Object.fromEntries(requests.map((request) => [idOf(request), request.body]));
    expect(named(after)).toEqual(named(before));
    for (const { headers, body } of after) {
      expect(headers['x-webhook-replay']).toBe('true');
      verifyWebhook(body, headers, endpoint.secret);
    }
    // Only one event type.
    await client.webhooks.replay(endpoint.id, { from, eventTypes: ['payment.completed'] });
    const third = (await received(2 * before.length + paymentIds.length)).slice(2 * before.length);
    expect(third.map(({ headers }) => headers['x-webhook-event'])).toEqual(
      paymentIds.map(() => 'payment.completed'),
    );
    expect((await deliveriesOf(paymentIds[0] ?? '')).every(({ replayed }) => replayed)).toBe(true);
  },
  testLimitMs,
);

/** Reads from a position to the current end. */
async function readOn(after: string | undefined, limit: number) {
  const events: PaymentEvent[] = [];
  for (let place = after; ; ) {
    const { data, nextCursor } = await client.events.page({ after: place, limit });
    events.push(...(data as readonly PaymentEvent[]));
    if (data.length === 0) return { events, place: nextCursor ?? unreachable() };
    place = nextCursor ?? unreachable();
  }
}

it(
  'the event feed misses nothing during concurrent payments, for any reader',
  async () => {
    const begin = (await readOn(undefined, 100)).place;
    const payments = 60;
    const create = await payer();
    const paymentIds: string[] = [];
    const writers = Array.from({ length: 12 }, async () => {
      for (let n = 0; n < payments / 12; n += 1) paymentIds.push(await create());
    });
    const reader = async (limit: number) => {
      const seen: PaymentEvent[] = [];
      for (let place = begin; seen.length < payments * eventTypes.length; ) {
        const page = await readOn(place, limit);
        seen.push(...page.events);
        place = page.place;
      }
      return seen;
    };
    const readers = [1, 3, 7, 100].map(reader);
    await Promise.all(writers);
    const [first = [], ...others] = await Promise.all(readers);
    const afterwards = (await readOn(begin, 100)).events;
    // Readers during the writes saw the same events in the same order as a later reader.
    for (const seen of [first, ...others]) expect(seen).toEqual(afterwards);
    expect(new Set(first.map(({ id }) => id)).size).toBe(payments * eventTypes.length);
    const typesOf = (paymentId: string) =>
      first.filter(({ data }) => data.paymentId === paymentId).map(({ eventType }) => eventType);
    for (const paymentId of paymentIds) expect(typesOf(paymentId)).toEqual(eventTypes);

    // The same events as were delivered.
    const delivered = await received(payments * eventTypes.length);
    const bodies = new Map(
      delivered.map(({ body }) => [(JSON.parse(body) as PaymentEvent).id, body]),
    );
    for (const event of first) expect(JSON.stringify(event)).toBe(bodies.get(event.id));
  },
  testLimitMs,
);

it(
  'test deliveries appear nowhere, and have both signatures while the secret is rotated',
  async () => {
    const before = (await readOn(undefined, 100)).place;
    const { secret } = await client.webhooks.rotateSecret(endpoint.id, { overlapHours: 1 });
    expect(await client.webhooks.test(endpoint.id)).toMatchObject({ success: true });
    const sample = { eventType: 'payment.completed' } as const;
    expect(await client.webhooks.test(endpoint.id, sample)).toMatchObject({ success: true });
    for (const { body, headers } of await received(2))
      for (const held of [secret, endpoint.secret])
        expect(verifyWebhook(body, headers, held)).toMatchObject({ synthetic: true });
    // Only real events follow.
    const paymentId = await pay();
    await settled(paymentId);
    const { data } = await client.webhooks.deliveriesPage(endpoint.id);
    expect(data.map((delivery) => delivery.paymentId)).toEqual([paymentId, paymentId, paymentId]);
    // The feed may be a moment behind the deliveries.
    const events = await until(
      async () => {
        const { events } = await readOn(before, 100);
        return events.length < eventTypes.length ? null : events;
      },
      { timeoutMs: arrivalLimitMs },
    );
    expect(events.map((event) => event.data.paymentId)).toEqual([paymentId, paymentId, paymentId]);
  },
  testLimitMs,
);

it(
  'a secret is replaced with an overlap, at once, and twice in a row',
  async () => {
    const verifiesWith = async (secret: string, paymentId: string) => {
      const requests = await received(eventTypes.length, paymentId);
      const answers = requests.map(({ body, headers }) => {
        try {
          return verifyWebhook(body, headers, secret).eventType;
        } catch (error) {
          if (error instanceof PisWebhookError) return error.reason;
          throw error;
        }
      });
      return answers.every((answer) => eventTypes.includes(answer));
    };
    const verifying = async (...secrets: string[]) => {
      const paymentId = await pay();
      return Promise.all(secrets.map((secret) => verifiesWith(secret, paymentId)));
    };
    const { secret: first } = endpoint;
    const second = await client.webhooks.rotateSecret(endpoint.id, { overlapHours: 72 });
    const hours = Date.parse(second.previousSecretEndsAt ?? '') - Date.parse(second.updatedAt);
    expect(hours).toBe(72 * 3_600_000);
    expect(await verifying(first, second.secret)).toEqual([true, true]);

    const third = await client.webhooks.rotateSecret(endpoint.id, { overlapHours: 72 });
    expect(await verifying(first, second.secret, third.secret)).toEqual([false, true, true]);

    const fourth = await client.webhooks.rotateSecret(endpoint.id, { overlapHours: 0 });
    expect(fourth.previousSecretEndsAt).toBeNull();
    expect(await verifying(first, second.secret, third.secret, fourth.secret)).toEqual([
      false,
      false,
      false,
      true,
    ]);
    const { secret: _, previousSecretEndsAt: __, ...shown } = fourth;
    expect(await client.webhooks.get(endpoint.id)).toEqual(shown);
    await expect(
      client.webhooks.rotateSecret(endpoint.id, { overlapHours: 73 }),
    ).rejects.toMatchObject({ status: 400, code: 'VALIDATION_ERROR' });
    await expect(client.webhooks.rotateSecret(randomUUID())).rejects.toThrow(PisApiError);
  },
  testLimitMs,
);

function unreachable(): never {
  throw new Error('there should have been one');
}
