import {
  contact,
  type ContactRecord,
  type DomainEvent,
  payment,
  type PersonalOwner,
} from '@pis/domain';
import {
  contactExample,
  ids,
  later,
  originatorExample,
  paymentExample,
  paymentCommands,
} from '@pis/domain/testing';
import { hashOfEvent } from './event-hash.js';
import { type MemoryLog, memoryEventStore } from './memory/memory-event-store.js';
import { beginning, type EventStore, type RecordedEvent, StoreUnavailable } from './port.js';
import { domainEventOf } from './readable.js';
import { repository } from './repository.js';
import { sealedStore } from './sealed-store.js';
import { sharedLog } from './shared-log/shared-log.js';
import { StreamStates } from './stream-states.js';
import { follow } from './testing/conformance-kit.js';
import type { MemorySealing } from './testing/memory-sealing.js';
import { at, by, changes, sealedWorld } from './testing/sealed-history.js';

const contactOwner: PersonalOwner = `contact:${ids.contact}`;
/** What no stored event may hold: every value that tells who one of the two is. */
const telling =
  /"Ada|Moreno|Northwind|@|\+1217|Market Street|Springfield|"62701|\*4321|\*0021|Example Bank/;

let log: MemoryLog;
let sealing: MemorySealing;
let store: EventStore;
let history: () => Promise<void>;
let stored: (type: string) => RecordedEvent | undefined;

beforeEach(() => {
  ({ log, sealing, store, history, stored } = sealedWorld());
});

describe('what is stored', () => {
  it('holds no name, e-mail, phone number, address or account number of a party', async () => {
    await history();
    expect(JSON.stringify(log.events)).not.toMatch(telling);
    const { contactId, organizationId, originatorId, entityType } = contactExample();
    expect(stored('ContactCreated')).toMatchObject({ metadata: { schemaVersion: 2 } });
    expect(stored('ContactCreated')?.data).toEqual({
      contactId,
      organizationId,
      originatorId,
      entityType,
      identity: 'identity-1',
      sealed: expect.any(String),
    });
    expect(stored('ContactUpdated')?.data).toEqual({
      changes: { sealed: expect.any(String) },
      identity: 'identity-2',
    });
    const { originator: from, contact: to, ...open } = paymentExample();
    expect(stored('PaymentQueued')?.data).toEqual({
      ...open,
      originator: { id: from.id, entityType: 'BUSINESS', sealed: expect.any(String) },
      contact: { id: to?.id, entityType: 'INDIVIDUAL', sealed: expect.any(String) },
    });
  });

  it('is refused by a store that does not seal', async () => {
    const plain = repository(memoryEventStore(log), contact);
    const command = { type: 'CreateContact', at, data: contactExample() } as const;
    await expect(plain.create(ids.contact, command, by)).rejects.toThrow('does not seal');
    expect(log.events).toEqual([]);
  });

  it('forms a chain of hashes that can be verified without a key, also after erasure', async () => {
    await history();
    expectChained(log.events);
    const before = log.events.map((event) => hashOfEvent(event));
    sealing.destroy(contactOwner);
    const { events } = await store.readLog({ after: beginning });
    expect(events.map((event) => hashOfEvent(event))).toEqual(before);
  });

  it('has the hash that an event in memory has after its append', async () => {
    const contacts = repository(store, contact);
    const created = { type: 'CreateContact', at, data: contactExample() } as const;
    const appended = await contacts.create(ids.contact, created, by);
    const inMemory = 'refused' in appended ? null : appended.lastEvent;
    expect(inMemory?.data).toEqual(contactExample());
    const read = (await store.readStream(`contact-${ids.contact}`)).map((e) => hashOfEvent(e));
    expect(read).toEqual([inMemory && hashOfEvent(inMemory)]);
    expect(read).toEqual(log.events.map((event) => hashOfEvent(event)));
  });

  it('has the same bytes in each repetition of an append', async () => {
    const sent: string[] = [];
    const answersLate: EventStore = {
      ...store,
      append: async (streamId, expected, events) => {
        sent.push(JSON.stringify(events));
        const result = await store.append(streamId, expected, events);
        if (sent.length < 3) throw new StoreUnavailable('the answer was lost');
        return result;
      },
    };
    const command = { type: 'CreateContact', at, data: contactExample() } as const;
    await repository(answersLate, contact).create(ids.contact, command, by);
    expect(sent).toHaveLength(3);
    expect(new Set(sent).size).toBe(1);
  });

  it('keeps its chain when a repetition under the same event id was sealed anew', async () => {
    const contacts = repository(store, contact);
    const created: DomainEvent<'ContactCreated', ContactRecord> = {
      type: 'ContactCreated',
      at,
      data: contactExample(),
    };
    const again = { eventIds: ['00000000-0000-4000-8000-000000000001'] };
    await contacts.append(ids.contact, contacts.fold([]), [created], by, again);
    const otherProcess = sealedStore(memoryEventStore(log), sealing);
    const repeated = repository(otherProcess, contact);
    const appended = await repeated.append(ids.contact, repeated.fold([]), [created], by, again);
    const change = { changes, identity: 'identity-2' };
    const update = { type: 'UpdateContact', at: later, data: change } as const;
    await repeated.record(ids.contact, appended, [update], by);
    expectChained(log.events);
  });
});

describe('what is read', () => {
  it('has its plain shape, by whichever way it is read', async () => {
    await history();
    const streamId = `payment-${ids.payment}`;
    const [queued] = await store.readStream(streamId);
    expect(queued?.data).toEqual(paymentExample());
    expect(queued?.storedData).toEqual(stored('PaymentQueued')?.data);
    const [payments, none] = await store.readStreams([streamId, 'payment-none']);
    expect([payments?.map(({ data }) => data), none]).toEqual([
      [paymentExample(), { railReference: 'rail-1' }],
      [],
    ]);
    const { events } = await store.readLog({ after: beginning });
    expect(events.map(({ data }) => data)).toEqual([
      contactExample(),
      { changes, identity: 'identity-2' },
      originatorExample(),
      paymentExample(),
      { railReference: 'rail-1' },
    ]);
    const follower = follow(sharedLog(store), { after: beginning });
    await until(() => follower.events.length === events.length);
    await follower.stop();
    expect(follower.events).toEqual(events);
    const loaded = await repository(store, contact).load(ids.contact);
    expect(loaded.state).toEqual({
      ...contactExample(),
      ...changes,
      identity: 'identity-2',
      createdAt: at,
      updatedAt: later,
      erasure: null,
      erasureRequest: null,
      correction: null,
      lastReturn: null,
    });
  });

  it('is opened with one call for a page, and with none for a page without personal data', async () => {
    await history();
    sealing.calls.openAll = 0;
    await store.readLog({ after: beginning });
    expect(sealing.calls.openAll).toBe(1);
    const [processing] = await store.readStream(`payment-${ids.payment}`, { from: 1 });
    expect(sealing.calls.openAll).toBe(1);
    expect(processing).toBe(log.events.at(-1));
  });

  it('is not opened again for a state that is remembered', async () => {
    await history();
    const contacts = repository(store, contact, { states: new StreamStates() });
    const first = await contacts.load(ids.contact);
    sealing.calls.openAll = 0;
    expect(await contacts.load(ids.contact)).toEqual(first);
    expect(sealing.calls.openAll).toBe(0);
  });

  it('can be left sealed by callers that need no personal data', async () => {
    await history();
    sealing.isAway = true;
    const sealed = await store.readStream(`payment-${ids.payment}`, { leaveSealed: true });
    expect(sealed.map((event) => hashOfEvent(event))).toEqual(
      log.events.slice(-2).map((event) => hashOfEvent(event)),
    );
    const [first] = sealed;
    expect(() => first && domainEventOf(payment, first)).toThrow('left sealed');
    expect(await store.lastEvent('00000000000000000001')).toMatchObject({ type: 'ContactCreated' });
  });

  it('still has the plain events of schema version 1, until their party is erased', async () => {
    const metadata = { ...by, at, schemaVersion: 1, previousHash: null };
    const data = { ...contactExample(), dataKey: 'v1.wrapped' };
    const id = '00000000-0000-4000-8000-000000000001';
    const streamId = `contact-${ids.contact}`;
    await store.append(streamId, 'noStream', [{ id, type: 'ContactCreated', data, metadata }]);
    const contacts = repository(store, contact);
    const { state, lastEvent } = await contacts.load(ids.contact);
    expect(state).toMatchObject({ ...contactExample(), createdAt: at, updatedAt: at });
    expect(lastEvent).toBe(log.events[0]);
    sealing.destroy(contactOwner);
    const erased = await contacts.load(ids.contact);
    expect(erased.state).toMatchObject({ contactId: ids.contact, erased: true, email: null });
    expect(JSON.stringify(erased.state)).not.toMatch(telling);
    expect([erased.lastEvent && hashOfEvent(erased.lastEvent)]).toEqual(
      log.events.map((event) => hashOfEvent(event)),
    );
  });

  it('shows an erased party with its id and entity type, and nothing else', async () => {
    await history();
    sealing.destroy(contactOwner);
    const { state } = await repository(store, contact).load(ids.contact);
    expect(state).toMatchObject({ contactId: ids.contact, entityType: 'INDIVIDUAL', erased: true });
    expect(JSON.stringify(state)).not.toMatch(telling);
    const paid = await repository(store, payment).load(ids.payment);
    expect(paid.state).toMatchObject({
      amountMinor: 125_000,
      originator: { companyName: 'Northwind Traders LLC' },
      contact: {
        id: ids.contact,
        entityType: 'INDIVIDUAL',
        firstName: null,
        lastName: null,
        companyName: null,
        bankAccount: null,
        erased: true,
      },
    });
    const queue = { ...paymentCommands.QueuePayment, at };
    const other = repository(sealedStore(memoryEventStore(), sealing), payment);
    await expect(other.create(ids.payment, queue, by)).rejects.toMatchObject({
      name: 'KeyDestroyed',
    });
  });
});

describe('while the keys are away', () => {
  it('reads and commands fail as when the store is away, and nothing is decided', async () => {
    await history();
    sealing.isAway = true;
    const away = expect.objectContaining({ name: 'StoreUnavailable' });
    await expect(store.readStream(`contact-${ids.contact}`)).rejects.toEqual(away);
    await expect(store.readLog({ after: beginning })).rejects.toEqual(away);
    const update = { type: 'UpdateContact', at, data: { changes: {}, identity: 'i' } } as const;
    await expect(repository(store, contact).execute(ids.contact, update, by)).rejects.toEqual(away);
    const events = log.events.length;
    const restarted = sealedStore(memoryEventStore(log), sealing);
    const command = { type: 'QueuePayment', at, data: paymentExample() } as const;
    await expect(repository(restarted, payment).create('another', command, by)).rejects.toEqual(
      away,
    );
    expect(log.events).toHaveLength(events);
  });

  it('subscriptions wait, say so, and skip nothing', async () => {
    await history();
    sealing.isAway = true;
    const connections: (Error | null)[] = [];
    const follower = follow(store, {
      after: beginning,
      onConnection: (failure) => connections.push(failure),
    });
    await until(() => connections.filter((failure) => failure !== null).length >= 2);
    expect(follower.events).toEqual([]);
    sealing.isAway = false;
    await until(() => follower.events.length === log.events.length);
    expect(connections.at(-1)).toBeNull();
    await follower.stop();
    expect(follower.events).toEqual((await store.readLog({ after: beginning })).events);
  });

  it('a subscription that waits for them can be ended', async () => {
    await history();
    sealing.isAway = true;
    const connections: (Error | null)[] = [];
    const onConnection = (failure: Error | null) => connections.push(failure);
    const follower = follow(store, { after: beginning, onConnection });
    await until(() => connections.some((failure) => failure !== null));
    await follower.stop();
    expect(follower.events).toEqual([]);
  });
});

function expectChained(events: readonly RecordedEvent[]): void {
  const last = new Map<string, RecordedEvent>();
  for (const event of events) {
    const before = last.get(event.streamId);
    expect(event.metadata.previousHash).toBe(before === undefined ? null : hashOfEvent(before));
    last.set(event.streamId, event);
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}
