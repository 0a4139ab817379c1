import { randomUUID } from 'node:crypto';
import { paymentEvents, paymentExample } from '@pis/domain/testing';
import { appendEvents, completePayment, queuePayment } from '@pis/read-models/testing';
import { integrationFeed } from '@pis/integration';
import { paymentIntegrationEventSchema, topics } from '@pis/contracts';
import { paymentEnvelope } from '@pis/webhooks';
import {
  contactBody,
  createContact,
  type Call,
  type Gateway,
  startGatewayWithDatabase,
  type Tenant,
} from './testing/gateway.js';

let gateway: Gateway;
let tenant: Tenant;

beforeAll(async () => {
  gateway = await startGatewayWithDatabase();
});
afterAll(async () => {
  await gateway?.close();
});
beforeEach(async () => {
  tenant = await gateway.createTenant();
});

interface Envelope {
  readonly id: string;
  readonly eventType: string;
  readonly createdAt: string;
  readonly data: { readonly paymentId: string };
}

async function page(query: Readonly<Record<string, string>> = {}, options: Call = {}) {
  const path = `/v1/events?${new URLSearchParams(query).toString()}`;
  const { status, body } = await gateway.call(path, { tenant, ...options });
  const events = (body?.data ?? []) as Envelope[];
  return { status, events, next: body?.meta?.pagination?.nextCursor ?? '', error: body?.error };
}

const at = (minute: number) =>
  new Date(Date.parse('2026-11-21T09:00:00.000Z') + minute * 60_000).toISOString();

/** Payments that were not created over the API. Once the next payment is indexed, these are too. */
async function payments(minutes: readonly number[]): Promise<void> {
  for (const minute of minutes) {
    const { organizationId } = tenant;
    await queuePayment(gateway.store, at(minute), { organizationId });
  }
  await createPayment();
}

async function createPayment(): Promise<string> {
  const contactId = await createContact(gateway, tenant, { email: `${Math.random()}@a.example` });
  const { originatorId } = contactBody(tenant) as { originatorId: string };
  const body = { originatorId, contactId, paymentAmount: 100, direction: 'OUTBOUND' };
  const headers = { 'idempotency-key': String(Math.random()) };
  const options = { tenant, method: 'POST', body, headers } as const;
  const reply = await gateway.call('/v1/payments/', options);
  return (reply.body?.data as { paymentId: string }).paymentId;
}

describe('the feed of events', () => {
  it('shows a new payment at once to its creator, with the cursor to continue', async () => {
    const first = await page();
    expect(first).toMatchObject({ status: 200, events: [] });
    expect(first.next).not.toBe('');
    const paymentId = await createPayment();
    const second = await page({ after: first.next });
    expect(second.events).toMatchObject([
      { eventType: 'payment.queued', version: '1', synthetic: false, data: { paymentId } },
    ]);
    const third = await page({ after: second.next });
    expect(third.events).toEqual([]);
    const another = await createPayment();
    expect((await page({ after: third.next })).events).toMatchObject([
      { data: { paymentId: another } },
    ]);
  });

  it('has every event once, oldest first, however long the pages are', async () => {
    await payments([0, 1, 2, 3, 4, 5, 6]);
    const whole = await page({ limit: '100' });
    expect(whole.events).toHaveLength(8);
    const seen: Envelope[] = [];
    for (let next = ''; ; ) {
      const some = await page({ limit: '3', ...(next === '' ? {} : { after: next }) });
      if (some.events.length === 0) break;
      seen.push(...some.events);
      next = some.next;
    }
    expect(seen).toEqual(whole.events);
  });

  it('has the same bytes as the webhooks, whatever happened to the payment since', async () => {
    const details = { organizationId: tenant.organizationId, paymentNote: 'Zażółć 💸 \u2028 "\\"' };
    const payment = await queuePayment(gateway.store, at(0), paymentExample(details));
    await completePayment(gateway.store, payment);
    await appendEvents(gateway.store, payment.streamId, [paymentEvents.returned]);
    await createPayment();
    const path = '/v1/events?limit=4';
    const authorization = `Bearer ${tenant.keys.full_access}`;
    const { body } = await gateway.app.inject({ url: path, headers: { authorization } });
    const sent = await sentBodies(payment.streamId);
    expect(sent).toHaveLength(4);
    for (const one of sent) expect(body).toContain(one);
  });

  it('has payments by link as webhooks have them: they wait, and are canceled or submitted', async () => {
    const { organizationId } = tenant;
    const { awaiting, canceled, queuedFromLink } = paymentEvents;
    const ids = { canceled: randomUUID(), queued: randomUUID() };
    for (const paymentId of Object.values(ids)) {
      const own = { paymentId, organizationId };
      const waits = { ...awaiting, data: { ...awaiting.data, ...own } };
      const goesOn = { ...queuedFromLink, data: { ...queuedFromLink.data, ...own } };
      const next = paymentId === ids.canceled ? canceled : goesOn;
      await appendEvents(gateway.store, `payment-${paymentId}`, [waits, next]);
    }
    await createPayment();
    const waiting = 'payment.awaiting_confirmation';
    const { events } = await page({ limit: '4' });
    expect(events).toMatchObject([
      { eventType: waiting, data: { paymentId: ids.canceled, contact: null } },
      { eventType: 'payment.canceled', data: { contact: null } },
      { eventType: waiting, data: { paymentId: ids.queued, contact: null } },
      { eventType: 'payment.queued', data: { contact: { firstName: 'Ada' } } },
    ]);
    for (const [eventType, count] of [
      [waiting, 2],
      ['payment.canceled', 1],
    ] as const)
      expect((await page({ eventType })).events).toHaveLength(count);
    const authorization = `Bearer ${tenant.keys.full_access}`;
    const { body } = await gateway.app.inject({ url: '/v1/events', headers: { authorization } });
    for (const paymentId of Object.values(ids)) {
      const sent = await sentBodies(`payment-${paymentId}`);
      expect(sent).toHaveLength(2);
      for (const one of sent) expect(body).toContain(one);
    }
  });

  /** The bodies that the dispatcher makes from the broker's messages. */
  async function sentBodies(key: string): Promise<string[]> {
    const feed = integrationFeed(gateway.store);
    const { signal } = new AbortController();
    const end = await gateway.store.lastPosition();
    const bodies: string[] = [];
    for await (const { messages, position } of feed.subscribe({
      after: '',
      topics: [topics.payments],
      signal,
    })) {
      for (const message of messages.filter((one) => one.key === key)) {
        const event = paymentIntegrationEventSchema.parse(JSON.parse(message.value));
        bodies.push(JSON.stringify(paymentEnvelope(event)));
      }
      if (position >= end) break;
    }
    return bodies;
  }

  it('filters by time and event type, and an empty page still has a cursor', async () => {
    await payments([0, 10, 20]);
    const later = await page({ from: at(10), limit: '2' });
    expect(later.events.map(({ createdAt }) => createdAt)).toEqual([at(10), at(20)]);
    const rest = await page({ from: at(10), limit: '2', after: later.next });
    expect(rest.events).toHaveLength(1);

    const none = await page({ eventType: 'payment.failed' });
    expect(none.events).toEqual([]);
    const future = await page({ from: '2999-01-01' });
    expect(future.events).toEqual([]);
    // Without the filter, the skipped events do not return.
    expect((await page({ after: none.next })).events).toEqual([]);
  });

  it('may begin at any valid time', async () => {
    const paymentId = await createPayment();
    for (const from of ['0001-01-01', '0001-01-01T23:00+23:00', '1969-12-31', '1970-01-01'])
      expect(await page({ from })).toMatchObject({
        status: 200,
        events: [{ data: { paymentId } }],
      });
    for (const from of ['9999-12-31', '9999-12-31T23:59:59.999Z'])
      expect(await page({ from })).toMatchObject({ status: 200, events: [] });
    // There is no year 0.
    for (const from of ['0000-12-31', '0001-01-01T00:00+00:01', '9999-12-31T23:59-00:01'])
      expect(await page({ from })).toMatchObject({
        status: 400,
        error: { details: [{ field: 'from', issue: 'validation_datetime' }] },
      });
  });

  it('is only for keys of the organization that may read it', async () => {
    await createPayment();
    const { keys } = tenant;
    expect((await page({}, { key: keys.read_only })).events).toHaveLength(1);
    expect((await page({}, { key: keys.webhook_admin })).status).toBe(403);
    const { next } = await page();
    tenant = await gateway.createTenant();
    expect((await page()).events).toEqual([]);
    // A cursor belongs to its organization.
    expect(await page({ after: next })).toMatchObject({
      status: 400,
      error: { details: [{ field: 'after', issue: 'validation_cursor' }] },
    });
  });

  it('reports all problems of the query at once', async () => {
    const { next } = await page();
    const wrong = { after: `${next}x`, limit: '0', eventType: 'payment.*', from: 'yesterday' };
    const { status, error } = await page(wrong);
    expect(status).toBe(400);
    expect(error?.details?.map(({ field, issue }) => `${field} ${issue}`).toSorted()).toEqual([
      'after validation_cursor',
      'eventType validation_enum',
      'from validation_datetime',
      'limit validation_min',
    ]);
    for (const after of ['', 'x', next.slice(0, -2), Buffer.from('a/b').toString('base64url')])
      expect((await page({ after })).status).toBe(400);
  });
});
