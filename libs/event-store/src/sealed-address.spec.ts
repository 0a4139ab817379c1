/** The addresses of callers in the metadata of events. */
import { payment } from '@pis/domain';
import { ids, paymentEvents } from '@pis/domain/testing';
import type { CallerAddress } from './command-context.js';
import { hashOfEvent } from './event-hash.js';
import { type MemoryLog, memoryEventStore } from './memory/memory-event-store.js';
import type { EventStore, RecordedEvent } from './port.js';
import { repository } from './repository.js';
import { openAddresses } from './sealed-address.js';
import type { MemorySealing } from './testing/memory-sealing.js';
import { by, sealedWorld } from './testing/sealed-history.js';

const address = '203.0.113.77';
const caller: CallerAddress = { owner: `user:${ids.contact}`, address };
const streamId = `payment-${ids.payment}`;
const { queued, processing, completed, returned } = paymentEvents;

let log: MemoryLog;
let sealing: MemorySealing;
let store: EventStore;

beforeEach(() => {
  ({ log, sealing, store } = sealedWorld());
});

/** Two events of a caller, and one that nobody's request caused. */
async function write(to: EventStore = store): Promise<void> {
  const payments = repository(to, payment);
  for (const event of [queued, processing])
    await payments.append(ids.payment, await payments.load(ids.payment), [event], {
      ...by,
      caller,
    });
  await payments.append(ids.payment, await payments.load(ids.payment), [completed], by);
}

const read = () => store.readStream(streamId);

it('are stored sealed, under the key of who called', async () => {
  await write();
  expect(JSON.stringify(log.events)).not.toContain(address);
  expect(log.events.map(({ metadata }) => metadata.address?.owner)).toEqual([
    caller.owner,
    caller.owner,
    undefined,
  ]);
  expect(await openAddresses(store, await read())).toEqual([caller, caller, null]);
});

it('are gone with the key of the caller, and no hash changes', async () => {
  await write();
  const hashes = (await read()).map((event) => hashOfEvent(event));
  sealing.destroy(`user:${ids.contact}`);
  const events = await read();
  expect(await openAddresses(store, events)).toEqual([null, null, null]);
  expect(events.map((event) => hashOfEvent(event))).toEqual(hashes);
  const chain = events.map(({ metadata }) => metadata.previousHash);
  expect(chain).toEqual([null, ...hashes.slice(0, -1)]);
});

it('do not open in another event', async () => {
  await write();
  const [first, second] = await read();
  if (first?.metadata.address === undefined || second === undefined) throw new Error('no address');
  const { address: moved } = first.metadata;
  const forged: RecordedEvent = { ...second, metadata: { ...second.metadata, address: moved } };
  await expect(openAddresses(store, [forged])).rejects.toThrow('altered');
});

it('are left out when the caller was erased meanwhile: what was asked for is recorded', async () => {
  sealing.destroy(`user:${ids.contact}`);
  await write();
  expect(await openAddresses(store, await read())).toEqual([null, null, null]);
  expect(log.events).toHaveLength(3);
});

it('are left out by a store that seals nothing', async () => {
  await write();
  const plain = repository(memoryEventStore(log), payment);
  const loaded = await repository(store, payment).load(ids.payment);
  const { lastEvent } = await plain.append(ids.payment, loaded, [returned], { ...by, caller });
  expect(lastEvent.metadata).not.toHaveProperty('address');
});
