import { randomUUID } from 'node:crypto';
import { until } from '@pis/local-servers/testing';
import { completePayment, queuePayment } from '@pis/read-models/testing';
import type { DeliveryLog } from '@pis/webhook-deliveries';
import { insertAttempt, insertDelivery, poolOf, type TestDelivery } from './testing/deliveries.js';
import {
  type Call,
  type Gateway,
  type Reply,
  startGatewayWithDatabase,
  type Tenant,
} from './testing/gateway.js';
import { codeOf, issuesOf } from './testing/payments.js';
import { DELIVERY_LOG } from './tokens.js';

let gateway: Gateway;
let tenant: Tenant;
let endpointId: string;

beforeAll(async () => {
  gateway = await startGatewayWithDatabase({ projects: false });
});
afterAll(async () => {
  await gateway?.close();
});
beforeEach(async () => {
  tenant = await gateway.createTenant();
  endpointId = await createEndpoint();
});

const call = (path: string, options: Call = {}) => gateway.call(path, { tenant, ...options });
const redeliver = (id: string, options: Call = {}) =>
  call(`/v1/webhooks/deliveries/${id}/redeliver`, { method: 'POST', ...options });

async function createEndpoint(): Promise<string> {
  const body = { url: 'https://203.0.113.7/', subscribedEvents: ['payment.*'] };
  const reply = await call('/v1/webhooks', { method: 'POST', body });
  return (reply.body?.data as { id: string }).id;
}

type State = 'pending' | 'delivered' | 'failed' | 'canceled';
const inserted = (state: State, changes: Partial<TestDelivery> = {}) => {
  const { organizationId } = tenant;
  return insertDelivery(gateway, { organizationId, endpointId, state }, changes);
};
async function list(query: Readonly<Record<string, string>> = {}, options: Call = {}) {
  const parameters = new URLSearchParams(query).toString();
  const reply = await call(`/v1/webhooks/${endpointId}/deliveries?${parameters}`, options);
  const items = (reply.body?.data ?? []) as { deliveryId: string; state: string }[];
  const next = reply.body?.meta?.pagination?.nextCursor ?? null;
  return { reply, ids: items.map(({ deliveryId }) => deliveryId), items, next };
}
const dataOf = (reply: Reply) => reply.body?.data as Record<string, unknown>;
const time = (minute: number) =>
  new Date(Date.parse('2026-11-21T09:00:00.000Z') + minute * 60_000).toISOString();

describe('the deliveries of an organization', () => {
  const requests = 20;
  const atOnceMax = 3;

  /** Holds one of the reads of deliveries. */
  function held(name: 'list' | 'attempts') {
    const log = gateway.app.get<DeliveryLog>(DELIVERY_LOG);
    const read = log[name] as (...given: unknown[]) => Promise<unknown>;
    const waiting: (() => void)[] = [];
    const holding = async (...given: unknown[]) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return read(...given);
    };
    Object.assign(log, { [name]: holding });
    return {
      waiting,
      open() {
        Object.assign(log, { [name]: read });
        for (const release of waiting.splice(0)) release();
      },
    };
  }

  it.each(['list', 'attempts'] as const)(
    'are read a few at a time, so that others find connections (%s)',
    async (name) => {
      const { id } = await inserted('delivered');
      const list = `/v1/webhooks/${endpointId}/deliveries`;
      const path = name === 'list' ? list : `/v1/webhooks/deliveries/${id}`;
      const { waiting, open } = held(name);
      const asked = Array.from({ length: requests }, () => call(path));
      try {
        await until(() => waiting.length >= atOnceMax, { timeoutMs: 30_000 });
        const other = await gateway.createTenant();
        for (let calls = 0; calls < requests; calls += 1)
          expect(codeOf(await gateway.call('/v1/webhooks', { tenant: other }))).toBe('200');
        expect(waiting).toHaveLength(atOnceMax);
      } finally {
        open();
      }
      expect(new Set((await Promise.all(asked)).map(codeOf))).toEqual(new Set(['200']));
    },
  );
});

describe('the deliveries of an endpoint', () => {
  it('are listed newest first, pending and finished ones together', async () => {
    const made: string[] = [];
    const states = ['delivered', 'pending', 'failed', 'pending', 'canceled'] as const;
    for (const [minute, state] of states.entries())
      made.push((await inserted(state, { createdAt: time(minute) })).id);
    await insertDelivery(gateway, {
      organizationId: tenant.organizationId,
      endpointId: randomUUID(),
      state: 'pending',
    });
    const { ids, items, next } = await list();
    expect(ids).toEqual(made.toReversed());
    expect(next).toBeNull();
    expect(items.at(-1)).toEqual({
      deliveryId: made[0],
      webhookId: endpointId,
      eventId: expect.any(String),
      eventType: 'payment.queued',
      paymentId: expect.any(String),
      occurredAt: time(0),
      state: 'delivered',
      replayed: false,
      attemptCount: 1,
      createdAt: time(0),
      nextAttemptAt: null,
      finishedAt: time(0),
      finishedReason: null,
      lastStatusCode: null,
      lastError: null,
    });
    expect(items[1]).toMatchObject({ state: 'pending', nextAttemptAt: time(63), finishedAt: null });
    expect(items[2]).toMatchObject({ state: 'failed', finishedReason: 'refused' });
  });

  it('are paged without gaps, even if all have the same time and more arrive', async () => {
    const made = await Promise.all(
      Array.from({ length: 7 }, (_, n) => inserted(n % 2 === 0 ? 'pending' : 'delivered')),
    );
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { ids, next } = await list({ limit: '3', ...(cursor === '' ? {} : { cursor }) });
      seen.push(...ids);
      cursor = next;
      await inserted('pending', { createdAt: time(100) });
    }
    expect(seen).toEqual(
      made
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    );
  });

  it('are filtered by event type, state, payment and time, alone and together', async () => {
    const { organizationId } = tenant;
    const payment = await queuePayment(gateway.store, time(0), { organizationId });
    await completePayment(gateway.store, payment);
    const { paymentId } = payment;
    const [first, second] = await gateway.store.readStream(payment.streamId);
    const failed = await inserted('failed', {
      eventType: 'payment.failed',
      paymentId,
      eventId: first?.id ?? '',
    });
    const late = await inserted('delivered', {
      occurredAt: time(60),
      createdAt: time(60),
      paymentId,
      eventId: second?.id ?? '',
    });
    const pending = await inserted('pending', { occurredAt: time(30), createdAt: time(30) });
    const found = async (query: Record<string, string>) => (await list(query)).ids.toSorted();
    const sorted = (...some: TestDelivery[]) => some.map(({ id }) => id).toSorted();
    expect(await found({ eventType: 'payment.failed' })).toEqual(sorted(failed));
    expect(await found({ state: 'pending' })).toEqual(sorted(pending));
    expect(await found({ paymentId })).toEqual(sorted(failed, late));
    expect(await found({ from: time(30) })).toEqual(sorted(late, pending));
    expect(await found({ to: time(30) })).toEqual(sorted(failed, pending));
    expect(await found({ from: '2026-11-21', to: '2026-11-21' })).toHaveLength(3);
    expect(await found({ paymentId, state: 'delivered', from: time(60), to: time(60) })).toEqual(
      sorted(late),
    );
    expect(await found({ paymentId, state: 'pending' })).toEqual([]);
    expect(await found({ paymentId: randomUUID() })).toEqual([]);
  });

  it('are filtered by any valid time', async () => {
    const { id } = await inserted('pending');
    const begin = '0001-01-01';
    const end = '9999-12-31T23:59:59.999Z';
    expect((await list({ from: begin, to: end })).ids).toEqual([id]);
    expect((await list({ from: end })).ids).toEqual([]);
    expect((await list({ to: begin })).ids).toEqual([]);
  });

  it('are not listed for an invalid query, and all its problems are reported', async () => {
    await inserted('pending');
    await inserted('pending');
    const { next } = await list({ limit: '1' });
    const wrong = {
      cursor: `${next ?? ''}x`,
      limit: '101',
      eventType: 'nope',
      state: 'DELIVERED',
      paymentId: '1',
      from: time(2),
      to: time(1),
    };
    const { reply } = await list(wrong);
    expect(reply.status).toBe(400);
    expect(issuesOf(reply)).toEqual([
      'limit validation_max',
      'eventType validation_enum',
      'state validation_enum',
      'paymentId validation_uuid',
      'to validation_date_range',
      'cursor validation_cursor',
    ]);
    // A cursor belongs to its endpoint.
    endpointId = await createEndpoint();
    expect((await list({ cursor: next ?? '' })).reply.status).toBe(400);
    endpointId = randomUUID();
    expect((await list()).reply.status).toBe(404);
  });
});

describe('a delivery', () => {
  it('shows all its attempts and its payload', async () => {
    const { id, body } = await inserted('failed', { attempts: 2 });
    await insertAttempt(gateway, id, 2, null);
    await insertAttempt(gateway, id, 1, 500);
    const reply = await call(`/v1/webhooks/deliveries/${id}`);
    expect(reply.status).toBe(200);
    expect(dataOf(reply)).toMatchObject({
      deliveryId: id,
      state: 'failed',
      attempts: [
        { attempt: 1, statusCode: 500, durationMs: 12, error: null, responseExcerpt: 'said' },
        { attempt: 2, statusCode: null, error: 'timeout: none' },
      ],
      payload: JSON.parse(body ?? '') as unknown,
    });
  });

  it('still shows its payload when its body is no longer stored, for any status of the payment', async () => {
    const { organizationId } = tenant;
    const payment = await queuePayment(gateway.store, time(0), { organizationId });
    await completePayment(gateway.store, payment);
    const [queued, processing] = await gateway.store.readStream(payment.streamId);
    const { id } = await inserted('delivered', {
      body: null,
      paymentId: payment.paymentId,
      eventId: processing?.id ?? '',
    });
    const { payload } = dataOf(await call(`/v1/webhooks/deliveries/${id}`));
    expect(payload).toMatchObject({
      id: processing?.id,
      eventType: 'payment.processing',
      createdAt: processing?.metadata.at,
      data: { status: 'PROCESSING', previousStatus: 'QUEUED', paymentId: payment.paymentId },
    });
    expect(queued).toBeDefined();
  });
});

describe('a delivery that is sent again', () => {
  const rows = async (id: string) => {
    const { rows: found } = await poolOf(gateway).query<Record<string, unknown>>(
      'SELECT * FROM webhook_delivery_records WHERE id = $1',
      [id],
    );
    return found;
  };

  it.each(['delivered', 'failed', 'canceled'] as const)(
    'is pending again after it was %s, with its id, its body and its attempts, in a new window',
    async (state) => {
      const { id, body } = await inserted(state, { attempts: 3 });
      const before = Date.now();
      const reply = await redeliver(id);
      expect(reply.status).toBe(200);
      expect(dataOf(reply)).toMatchObject({
        deliveryId: id,
        state: 'pending',
        attemptCount: 3,
        createdAt: time(0),
        replayed: false,
        finishedAt: null,
      });
      const [row, ...more] = await rows(id);
      expect(more).toEqual([]);
      expect(row).toMatchObject({ body, state: 'pending', finished_reason: null });
      const nextAttemptAt = (row?.['next_attempt_at'] as Date).getTime();
      expect(nextAttemptAt).toBeGreaterThanOrEqual(before);
      // The window in the test's configuration.
      expect((row?.['window_ends_at'] as Date).getTime()).toBe(nextAttemptAt + 1);
    },
  );

  it('is tried at once when it is pending, in the window it has', async () => {
    const { id } = await inserted('pending', { createdAt: new Date().toISOString() });
    const [before] = await rows(id);
    expect((await redeliver(id)).status).toBe(200);
    const [after] = await rows(id);
    expect((after?.['next_attempt_at'] as Date).getTime()).toBeLessThanOrEqual(Date.now());
    expect(after?.['window_ends_at']).toEqual(before?.['window_ends_at']);
  });

  it('by many requests at a time is pending once', async () => {
    const { id } = await inserted('delivered');
    const replies = await Promise.all(Array.from({ length: 10 }, () => redeliver(id)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await rows(id)).toHaveLength(1);
  });

  it('is refused while its endpoint is disabled, and once it is deleted', async () => {
    const { id } = await inserted('delivered');
    const path = `/v1/webhooks/${endpointId}`;
    await call(path, { method: 'PATCH', body: { enabled: false } });
    expect(codeOf(await redeliver(id))).toBe('409 CONFLICT');
    await call(path, { method: 'DELETE' });
    expect(codeOf(await redeliver(id))).toBe('409 CONFLICT');
    expect(await rows(id)).toMatchObject([{ state: 'delivered' }]);
    // The delivery can still be read.
    expect((await call(`/v1/webhooks/deliveries/${id}`)).status).toBe(200);
  });

  it('must exist', async () => {
    expect(codeOf(await redeliver(randomUUID()))).toBe('404 NOT_FOUND');
    expect(codeOf(await redeliver('nonsense'))).toBe('400 VALIDATION_ERROR');
    for (const path of ['/v1/webhooks/deliveries', '/v1/webhooks/deliveries/deliveries'])
      expect(codeOf(await call(path))).toBe('400 VALIDATION_ERROR');
  });
});

describe('a replay', () => {
  const replay = (body: object) =>
    call(`/v1/webhooks/${endpointId}/replay`, { method: 'POST', body });

  it('starts for a period, by default until now and for the subscribed events', async () => {
    await call(`/v1/webhooks/${endpointId}`, {
      method: 'PATCH',
      body: { subscribedEvents: ['payment.failed', 'statement.generated'] },
    });
    const reply = await replay({ from: '2020-11-20' });
    expect(reply.status).toBe(202);
    const begun = dataOf(reply);
    expect(begun).toEqual({
      replayId: expect.any(String),
      webhookId: endpointId,
      from: '2020-11-20T00:00:00.000Z',
      to: expect.any(String),
      eventTypes: ['payment.failed', 'statement.generated'],
      state: 'running',
      eventsSent: 0,
      reachedAt: null,
      requestedAt: begun['to'],
      finishedAt: null,
    });
    const path = `/v1/webhooks/${endpointId}/replays/${String(begun['replayId'])}`;
    expect(dataOf(await call(path))).toEqual(begun);
    endpointId = await createEndpoint();
    const other = `/v1/webhooks/${endpointId}/replays/${String(begun['replayId'])}`;
    expect(codeOf(await call(other))).toBe('404 NOT_FOUND');
  });

  it('accepts a date as a whole day, and event types regardless of subscriptions', async () => {
    const eventTypes = ['payment.*', 'payment.failed'];
    const reply = await replay({ from: '2020-02-29', to: '2020-02-29', eventTypes });
    expect(dataOf(reply)).toMatchObject({
      from: '2020-02-29T00:00:00.000Z',
      to: '2020-02-29T23:59:59.999Z',
    });
    expect(dataOf(reply)['eventTypes']).toHaveLength(9);
  });

  it('may cover any valid period, and ends with its request', async () => {
    const reply = await replay({ from: '0001-01-01', to: '9999-12-31' });
    expect(reply.status).toBe(202);
    const begun = dataOf(reply);
    expect(begun).toMatchObject({ from: '0001-01-01T00:00:00.000Z', to: begun['requestedAt'] });
    const path = `/v1/webhooks/${endpointId}/replays/${String(begun['replayId'])}`;
    expect(dataOf(await call(path))).toEqual(begun);
  });

  it('is refused with all problems', async () => {
    expect(issuesOf(await replay({}))).toEqual(['from validation_required']);
    expect(issuesOf(await replay({ from: 5, to: 'x', eventTypes: ['nope'] }))).toEqual([
      'from validation_type',
      'to validation_datetime',
      'eventTypes.0 validation_event_type',
    ]);
    expect(issuesOf(await replay({ from: time(2), to: time(1), eventTypes: [] }))).toEqual([
      'eventTypes validation_min_length',
      'to validation_date_range',
    ]);
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    expect(issuesOf(await replay({ from: tomorrow }))).toEqual(['from validation_date_range']);
  });

  it('is refused for a disabled endpoint, and beyond five running replays', async () => {
    for (let n = 0; n < 5; n += 1) expect((await replay({ from: time(n) })).status).toBe(202);
    expect(codeOf(await replay({ from: time(9) }))).toBe('409 CONFLICT');
    endpointId = await createEndpoint();
    await call(`/v1/webhooks/${endpointId}`, { method: 'PATCH', body: { enabled: false } });
    expect(codeOf(await replay({ from: time(9) }))).toBe('409 CONFLICT');
    endpointId = randomUUID();
    expect(codeOf(await replay({ from: time(9) }))).toBe('404 NOT_FOUND');
  });
});
