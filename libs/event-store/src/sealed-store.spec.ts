import {
  contact,
  type ContactRecord,
  type DomainEvent,
  originator,
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
import { systemContext } from './command-context.js';
import { hashOfEvent } from './event-hash.js';
import { MemoryLog, memoryEventStore } from './memory/memory-event-store.js';
import {
  beginning,
  type EventStore,
  type JsonObject,
  type RecordedEvent,
  StoreUnavailable,
} from './port.js';
import { domainEventOf, UnreadableEvent } from './readable.js';
import { repository } from './repository.js';
import { sealedStore } from './sealed-store.js';
import { sharedLog } from './shared-log/shared-log.js';
import { StreamStates } from './stream-states.js';
import { follow } from './testing/conformance-kit.js';
import { MemorySealing } from './testing/memory-sealing.js';

const by = systemContext('test');
const at = '2026-11-21T09:00:00.000Z';
const contactOwner: PersonalOwner = `contact:${ids.contact}`;
const originatorOwner: PersonalOwner = `originator:${ids.originator}`;
/** What no stored event may hold: every value that tells who one of the two is. */
const telling =
  /"Ada|Moreno|Northwind|@|\+1217|Market Street|Springfield|"62701|\*4321|\*0021|Example Bank/;

let log: MemoryLog;
let sealing: MemorySealing;
let store: EventStore;

beforeEach(() => {
  log = new MemoryLog();
  sealing = new MemorySealing();
  store = sealedStore(memoryEventStore(log), sealing);
});

const changes = { email: 'ada@other.example', phoneNumber: '+12175550199' };

/** A contact that was changed, its originator, and a payment that was processed. */
async function history(): Promise<void> {
  const contacts = repository(store, contact);
  await contacts.create(ids.contact, { type: 'CreateContact', at, data: contactExample() }, by);
  const change = { changes, identity: 'identity-2' };
  await contacts.execute(ids.contact, { type: 'UpdateContact', at: later, data: change }, by);
  const created = { type: 'CreateOriginator', at, data: originatorExample() } as const;
  await repository(store, originator).create(ids.originator, created, by);
  const payments = repository(store, payment);
  await payments.create(ids.payment, { ...paymentCommands.QueuePayment, at }, by);
  await payments.execute(ids.payment, paymentCommands.ProcessPayment, by);
}

const stored = (type: string) => log.events.find((event) => event.type === type);

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

  it('copies one sealed text of an unchanged party to its payments, for a moment', async () => {
    const paymentIds = [1, 2, 3].map((n) => `6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1b0${n}`);
    const queueAll = async (through: EventStore) => {
      const payments = repository(through, payment);
      for (const paymentId of paymentIds) {
        const data = paymentExample({ paymentId });
        await payments.create(paymentId, { type: 'QueuePayment', at, data }, by);
      }
    };
    await queueAll(store);
    expect(sealing.calls.seal).toBe(2);
    const forgetting = sealedStore(memoryEventStore(), sealing, { texts: { maxAgeMs: 0 } });
    await queueAll(forgetting);
    expect(sealing.calls.seal).toBe(8);
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

describe('an event that cannot be opened', () => {
  const change = (data: (before: JsonObject) => JsonObject) => {
    const index = log.events.findIndex(({ type }) => type === 'ContactCreated');
    const event = log.events[index];
    if (event === undefined) throw new Error('no contact');
    const other = { ...event, data: data(event.data) };
    log.events[index] = other;
    log.streams.get(event.streamId)?.splice(0, 1, other);
  };
  const altered = () =>
    change((data) => ({ ...data, sealed: `${String(data['sealed']).slice(0, -8)}AAAAAAAA` }));
  const lost = () => void sealing.lose(contactOwner);
  const plain = () => change(() => ({ ...contactExample() }));
  const locked = () => void sealing.locked.add(contactOwner);
  const moved = () =>
    change((data) => ({ ...data, sealed: stored('OriginatorCreated')?.data['sealed'] }));

  it.each([
    ['whose text was altered', altered],
    ['whose text was moved from another record', moved],
    ['whose key is missing', lost],
    ['whose master key this process lacks', locked],
    ['that claims to be sealed and is not', plain],
  ])('%s is unreadable: commands on its stream are refused, others are not', async (_, damage) => {
    await history();
    damage();
    const contacts = repository(store, contact);
    await expect(contacts.load(ids.contact)).rejects.toThrow(UnreadableEvent);
    const update = { type: 'UpdateContact', at, data: { changes, identity: 'i' } } as const;
    await expect(contacts.execute(ids.contact, update, by)).rejects.toThrow('cannot be opened');
    const { events } = await store.readLog({ after: beginning });
    expect(events).toHaveLength(log.events.length);
    const created = events.find(({ type }) => type === 'ContactCreated');
    expect(created?.data).toEqual(stored('ContactCreated')?.data);
    const opened = events.filter(({ streamId }) => streamId === `originator-${ids.originator}`);
    expect(opened.map(({ data }) => data)).toEqual([originatorExample()]);
    expect((await repository(store, originator).load(ids.originator)).state).not.toBeNull();
  });

  it('holds up no other event when it is malformed', async () => {
    const at1 = { ...by, at, previousHash: null };
    const malformed = [null, [], 'text', { originator: { id: 'a\u0000b', sealed: 'x' } }];
    for (const [index, data] of malformed.entries())
      for (const schemaVersion of [1, 2]) {
        const id = `00000000-0000-4000-8000-0000000000${index}${schemaVersion}`;
        const event = { id, type: 'PaymentQueued', data: data as never };
        const metadata = { ...at1, schemaVersion };
        await store.append(`payment-${id}`, 'noStream', [{ ...event, metadata }]);
      }
    await history();
    const { events } = await store.readLog({ after: beginning });
    expect(events).toHaveLength(log.events.length);
    expect(events.at(-2)?.data).toEqual(paymentExample());
  });

  it('is opened again when its key is back', async () => {
    await history();
    const bringBack = sealing.lose(originatorOwner);
    const originators = repository(store, originator);
    await expect(originators.load(ids.originator)).rejects.toThrow(UnreadableEvent);
    bringBack();
    expect((await originators.load(ids.originator)).state).toMatchObject({
      entityType: 'BUSINESS',
    });
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
