import { contact, originator, payment, type PersonalOwner } from '@pis/domain';
import { contactExample, ids, originatorExample, paymentExample } from '@pis/domain/testing';
import type { MemoryLog } from './memory/memory-event-store.js';
import { beginning, type EventStore, type JsonObject, type RecordedEvent } from './port.js';
import { UnreadableEvent } from './readable.js';
import { repository } from './repository.js';
import type { MemorySealing } from './testing/memory-sealing.js';
import { at, by, changes, sealedWorld } from './testing/sealed-history.js';

const contactOwner: PersonalOwner = `contact:${ids.contact}`;
const originatorOwner: PersonalOwner = `originator:${ids.originator}`;
const created = `contact-${ids.contact}`;

let log: MemoryLog;
let sealing: MemorySealing;
let store: EventStore;
let history: () => Promise<void>;
let stored: (type: string) => RecordedEvent | undefined;

beforeEach(() => {
  ({ log, sealing, store, history, stored } = sealedWorld());
});

/** As somebody does who can write to the store: changes the first event of a stream. */
function change(streamId: string, data: (before: JsonObject) => JsonObject): void {
  const index = log.events.findIndex((event) => event.streamId === streamId);
  const event = log.events[index];
  if (event === undefined) throw new Error(`${streamId} is empty`);
  const other = { ...event, data: data(event.data) };
  log.events[index] = other;
  log.streams.get(streamId)?.splice(0, 1, other);
}

describe('an event that cannot be opened', () => {
  const altered = () =>
    change(created, (data) => ({
      ...data,
      sealed: `${String(data['sealed']).slice(0, -8)}AAAAAAAA`,
    }));
  const lost = () => void sealing.lose(contactOwner);
  const plain = () => change(created, () => ({ ...contactExample() }));
  const locked = () => void sealing.locked.add(contactOwner);
  const moved = () =>
    change(created, (data) => ({ ...data, sealed: stored('OriginatorCreated')?.data['sealed'] }));
  const later = () => {
    const { sealed } = stored('ContactUpdated')?.data['changes'] as { sealed: string };
    change(created, (data) => ({ ...data, sealed }));
  };

  it.each([
    ['whose text was altered', altered],
    ['whose text was moved from another record', moved],
    ['whose text was moved from another event of the same record', later],
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
    const read = events.find(({ type }) => type === 'ContactCreated');
    expect(read?.data).toEqual(stored('ContactCreated')?.data);
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

it('a party that was moved from another payment of the same party is not opened', async () => {
  await history();
  const otherId = '6f1b2c1e-0c7a-4f0e-9d55-0d4a0c6f1b01';
  const data = paymentExample({ paymentId: otherId });
  const payments = repository(store, payment);
  await payments.create(otherId, { type: 'QueuePayment', at, data }, by);
  change(`payment-${otherId}`, (before) => ({
    ...before,
    contact: stored('PaymentQueued')?.data['contact'],
  }));
  await expect(payments.load(otherId)).rejects.toThrow('cannot be opened');
  expect((await payments.load(ids.payment)).state?.contact?.firstName).toBe('Ada');
});
