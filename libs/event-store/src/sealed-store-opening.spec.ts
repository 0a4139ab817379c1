import { contact, originator } from '@pis/domain';
import { contactExample, ids, originatorExample } from '@pis/domain/testing';
import { systemContext } from './command-context.js';
import { MemoryLog, memoryEventStore } from './memory/memory-event-store.js';
import { beginning, type EventStore } from './port.js';
import { repository } from './repository.js';
import { sealedStore } from './sealed-store.js';
import { follow } from './testing/conformance-kit.js';
import { MemorySealing } from './testing/memory-sealing.js';

const by = systemContext('test');
const at = '2026-11-21T09:00:00.000Z';

let log: MemoryLog;
let sealing: MemorySealing;
let store: EventStore;

beforeEach(async () => {
  log = new MemoryLog();
  sealing = new MemorySealing();
  store = sealedStore(memoryEventStore(log), sealing);
  const contacts = repository(store, contact);
  await contacts.create(ids.contact, { type: 'CreateContact', at, data: contactExample() }, by);
  const created = { type: 'CreateOriginator', at, data: originatorExample() } as const;
  await repository(store, originator).create(ids.originator, created, by);
});

it('a text in a form that is not ours is not opened', async () => {
  const [event] = log.events;
  if (event === undefined) throw new Error('no event');
  const data = { ...event.data, sealed: 'v1.unknown.x.y.z' };
  log.streams.get(event.streamId)?.splice(0, 1, { ...event, data });
  sealing.calls.openAll = 0;
  const [read] = await store.readStream(event.streamId);
  expect(read?.unopened).toContain('a form that is not ours');
  expect(sealing.calls.openAll).toBe(0);
});

it('a missing master key stops no subscription', async () => {
  sealing.locked.add(`contact:${ids.contact}`);
  const follower = follow(store, { after: beginning });
  await until(() => follower.events.length === log.events.length);
  await follower.stop();
  const unopened = follower.events.filter((event) => event.unopened !== undefined);
  expect(unopened.map(({ type }) => type)).toEqual(['ContactCreated']);
});

it('a large page is opened in slices, and other work runs between them', async () => {
  for (let index = 0; index < 250; index += 1) {
    const contactId = `6f1b2c1e-0c7a-4f0e-9d55-${String(index).padStart(12, '0')}`;
    const create = { type: 'CreateContact', at, data: contactExample({ contactId }) } as const;
    await repository(store, contact).create(contactId, create, by);
  }
  const sizes: number[] = [];
  let turns = 0;
  const turnsAtCalls: number[] = [];
  const observed = sealedStore(memoryEventStore(log), {
    seal: (...args) => sealing.seal(...args),
    destroyedOf: (owners) => sealing.destroyedOf(owners),
    openAll: (texts) => {
      sizes.push(texts.length);
      turnsAtCalls.push(turns);
      setImmediate(() => (turns += 1));
      return sealing.openAll(texts);
    },
  });
  const { events } = await observed.readLog({ after: beginning, pageMax: 1_000 });
  expect(events.filter(({ unopened }) => unopened === undefined)).toHaveLength(252);
  expect(sizes).toEqual([100, 100, 52]);
  expect(turnsAtCalls).toEqual([0, 1, 2]);
});

it('a missing answer of the keyring is an error, and no erased party', async () => {
  const silent = sealedStore(memoryEventStore(log), {
    seal: (...args) => sealing.seal(...args),
    destroyedOf: (owners) => sealing.destroyedOf(owners),
    openAll: () => Promise.resolve([]),
  });
  await expect(silent.readStream(`contact-${ids.contact}`)).rejects.toThrow('0 answers for 1');
});

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve));
}
