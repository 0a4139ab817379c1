import { randomUUID } from 'node:crypto';
import { endpointsMax } from '@pis/domain';
import { type EventStore, memoryEventStore, sealData } from '@pis/event-store';
import { type CountingStore, countingStore } from '@pis/event-store/testing';
import {
  bankAccount,
  createContact,
  type Gateway,
  startGateway,
  type Tenant,
} from './testing/gateway.js';

const databaseUrl = 'postgres://nobody@127.0.0.1:1/none';
/** This many changes once slowed down all other requests. */
const changes = 2_700;

let store: CountingStore;
let shared: EventStore;
const running: Gateway[] = [];

beforeEach(() => {
  shared = memoryEventStore();
  // A key in use is read again every two seconds, in the background.
  store = countingStore(shared, { counts: (streamId) => !streamId.startsWith('apiKey-') });
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((gateway) => gateway.close()));
});

async function start(on: EventStore): Promise<Gateway> {
  const gateway = await startGateway({ databaseUrl, store: on, projects: false });
  running.push(gateway);
  return gateway;
}

async function pay(gateway: Gateway, tenant: Tenant, contactId: string) {
  const { originatorId } = tenant;
  const body = { originatorId, contactId, paymentAmount: 100, direction: 'OUTBOUND' };
  const headers = { 'idempotency-key': randomUUID() };
  const reply = await gateway.call('/v1/payments/', { tenant, method: 'POST', body, headers });
  expect([reply.status, reply.body?.error]).toEqual([201, undefined]);
  return (reply.body?.data as { paymentId: string }).paymentId;
}

/** Appends the events of `changes` requests to change the contact. */
async function changeOften(on: EventStore, contactId: string): Promise<void> {
  const streamId = `contact-${contactId}`;
  const [created] = await on.readStream(streamId);
  if (created === undefined) throw new Error('no contact');
  const { metadata } = created;
  const batch = 100;
  for (let revision = 0; revision < changes; revision += batch) {
    const events = Array.from({ length: batch }, async (_, index) => {
      const type = 'ContactUpdated';
      const changed = { firstName: `Ada ${revision + index}` };
      const data = { changes: changed, identity: created.data['identity'] };
      const place = { streamId, revision: revision + 1 + index };
      const sealed = await sealData(on, { ...place, type, data });
      return { id: randomUUID(), type, data: sealed, metadata };
    });
    await on.append(streamId, revision, await Promise.all(events));
  }
}

describe('creating a payment', () => {
  it('takes one append and three reads, each only of new events', async () => {
    const gateway = await start(store);
    const tenant = await gateway.createTenant();
    const contactId = await createContact(gateway, tenant);
    await pay(gateway, tenant, contactId);
    store.counted();
    for (let payments = 0; payments < 3; payments += 1) {
      await pay(gateway, tenant, contactId);
      // The last known events of organization, originator and contact: there are no later ones.
      expect(store.counted()).toEqual({ appends: 1, reads: 3, events: 3, pages: 0 });
    }
  });

  it('uses the bank account that another gateway stored a moment ago', async () => {
    const gateway = await start(store);
    const other = await start(shared);
    const tenant = await gateway.createTenant();
    const contactId = await createContact(gateway, tenant);
    await pay(gateway, tenant, contactId);
    for (const lastFour of ['1111', '2222', '3333']) {
      const body = { bankAccount: { ...bankAccount, achAccountNumber: `00012345${lastFour}` } };
      const path = `/v1/contacts/${contactId}`;
      expect((await other.call(path, { tenant, method: 'PATCH', body })).status).toBe(200);
      store.counted();
      const paymentId = await pay(gateway, tenant, contactId);
      expect(store.counted()).toEqual({ appends: 1, reads: 3, events: 4, pages: 0 });
      const { body: payment } = await gateway.call(`/v1/payments/${paymentId}`, { tenant });
      expect(payment?.data).toMatchObject({
        contact: { bankAccount: { achAccountNumber: `********${lastFour}` } },
      });
    }
  });

  it('to a contact that has changed 2,700 times reads it once, and costs others nothing', async () => {
    const gateway = await start(store);
    const [tenant, other] = [await gateway.createTenant(), await gateway.createTenant()];
    const contactId = await createContact(gateway, tenant);
    const otherContactId = await createContact(gateway, other);
    await changeOften(gateway.store, contactId);
    await pay(gateway, other, otherContactId);
    store.counted();
    await pay(gateway, tenant, contactId);
    expect(store.counted().events).toBeLessThanOrEqual(changes + 20);
    for (let payments = 0; payments < 5; payments += 1) {
      await Promise.all([pay(gateway, tenant, contactId), pay(gateway, other, otherContactId)]);
      expect(store.counted()).toEqual({ appends: 2, reads: 6, events: 6, pages: 0 });
    }
  });
});

it('changing a contact that has changed 2,700 times reads no more than its last event', async () => {
  const gateway = await start(store);
  const tenant = await gateway.createTenant();
  const contactId = await createContact(gateway, tenant);
  await changeOften(gateway.store, contactId);
  const path = `/v1/contacts/${contactId}`;
  for (let more = 0; more < 3; more += 1) {
    store.counted();
    const body = { firstName: `Ada the ${more}` };
    expect((await gateway.call(path, { tenant, method: 'PATCH', body })).status).toBe(200);
    const { events } = store.counted();
    if (more > 0) expect(events).toBeLessThanOrEqual(6);
  }
});

it('an organization has at most 500 webhook endpoints, including those without subscriptions', async () => {
  const gateway = await start(store);
  const tenant = await gateway.createTenant();
  const call = (path: string, method: 'POST' | 'PATCH' | 'DELETE', body?: object) =>
    gateway.call(path, { tenant, method, body });
  const create = () =>
    call('/v1/webhooks', 'POST', {
      url: 'https://203.0.113.7/hooks',
      subscribedEvents: ['statement.generated'],
    });
  const ids: string[] = [];
  for (let endpoints = 0; endpoints < endpointsMax; endpoints += 1) {
    const reply = await create();
    expect(reply.status).toBe(201);
    const { id } = reply.body?.data as { id: string };
    ids.push(id);
    await call(`/v1/webhooks/${id}`, 'PATCH', { subscribedEvents: [] });
  }
  const refused = await create();
  expect(refused.status).toBe(400);
  expect(refused.body?.error).toMatchObject({
    code: 'VALIDATION_ERROR',
    details: [{ field: 'subscribedEvents', issue: 'validation_subscription_limit' }],
  });
  // Deleting one frees its place. The list and the tests continue.
  await call(`/v1/webhooks/${ids[0]}`, 'DELETE');
  expect((await create()).status).toBe(201);
  store.counted();
  await gateway.call('/v1/webhooks', { tenant });
  expect(store.counted()).toMatchObject({ reads: 1, events: 1 });
});
