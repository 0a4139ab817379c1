import { randomUUID } from 'node:crypto';
import { contact } from '@pis/domain';
import { contactExample, ids, originatorExample, paymentExample } from '@pis/domain/testing';
import { memoryEventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import { plainHistory } from './plain-history.js';

const at = '2026-11-21T09:00:00.000Z';
const by = systemContext('test');

it('counts the plain events of older releases and names their parties, and needs no key', async () => {
  const raw = memoryEventStore();
  const store = sealedStore(raw, testKeyring());
  const plain = (streamId: string, type: string, data: object) =>
    raw.append(streamId, 'noStream', [
      {
        id: randomUUID(),
        type,
        data: { ...data },
        metadata: { ...by, at, schemaVersion: 1, previousHash: null },
      },
    ]);
  await plain(`originator-${ids.originator}`, 'OriginatorCreated', originatorExample());
  await plain(`contact-${ids.contact}`, 'ContactCreated', contactExample());
  await plain(`payment-${ids.payment}`, 'PaymentQueued', paymentExample());
  await plain('payment-2', 'PaymentCompleted', {});
  await plain('organization-1', 'OrganizationCreated', {});
  const data = contactExample({ contactId: ids.otherContact });
  const sealed = { type: 'CreateContact', at, data } as const;
  await repository(store, contact).create(ids.otherContact, sealed, by);

  const read: number[] = [];
  const withoutKeys = sealedStore(raw, {
    seal: () => Promise.reject(new Error('no key')),
    openAll: () => Promise.reject(new Error('no key')),
    destroyedOf: () => Promise.reject(new Error('no key')),
  });
  expect(await plainHistory(withoutKeys, (count) => read.push(count))).toEqual({
    plainEvents: {
      contact: 1,
      originator: 1,
      payment: 1,
      user: 0,
      userAction: 0,
      approval: 0,
      collection: 0,
    },
    parties: [`originator:${ids.originator}`, `contact:${ids.contact}`],
    hasMoreParties: false,
  });
  expect(read.at(-1)).toBe(5);
});

it('goes on after a malformed event', async () => {
  const store = memoryEventStore();
  const append = (streamId: string, metadata: object | null) =>
    store.append(streamId, 'noStream', [
      {
        id: randomUUID(),
        type: 'PaymentQueued',
        data: { contact: { id: 'a b' } },
        metadata: metadata as never,
      },
    ]);
  await append('payment-1', null);
  await append('payment-2', { ...by, at, schemaVersion: 1, previousHash: null });
  expect(await plainHistory(store)).toEqual({
    plainEvents: {
      contact: 0,
      originator: 0,
      payment: 1,
      user: 0,
      userAction: 0,
      approval: 0,
      collection: 0,
    },
    parties: [],
    hasMoreParties: false,
  });
});

it('finds nothing in a new installation', async () => {
  expect(await plainHistory(memoryEventStore())).toEqual({
    plainEvents: {
      contact: 0,
      originator: 0,
      payment: 0,
      user: 0,
      userAction: 0,
      approval: 0,
      collection: 0,
    },
    parties: [],
    hasMoreParties: false,
  });
});
