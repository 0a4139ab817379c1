/** A repeated Idempotency-Key is answered from the record of the payment, whoever cannot be read. */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { payment as payments } from '@pis/domain';
import { type EventStore, repository, StoreUnavailable, UnreadableEvent } from '@pis/event-store';
import { by, completed, overriding, setUp } from './testing/erasure-world.js';
import { unrefused } from './use-case.js';

/** Nothing is opened or sealed: the table of keys is away. */
function withoutKeys(store: EventStore): EventStore {
  const away = () => Promise.reject(new StoreUnavailable('the keys cannot be read'));
  return {
    ...store,
    sealing: store.sealing && { ...store.sealing, openAll: away, seal: away },
    readStream: (id, options) =>
      options?.leaveSealed === true ? store.readStream(id, options) : away(),
    readStreams: away,
  };
}

/** A repetition has another time than its first request. */
async function nextMillisecond(): Promise<void> {
  const nowMs = Date.now();
  while (Date.now() <= nowMs) await setImmediate();
}

/** The payment of a key, and what a process says that gets the key again. */
async function paid() {
  const world = await setUp();
  const { here, newContact, originatorId, store } = world;
  const contactId = await newContact();
  const key = randomUUID();
  const { paymentId } = unrefused(await here.pay(contactId, originatorId, { key }));
  await nextMillisecond();
  const again = (on: EventStore, changes: object = {}) =>
    world.processOn(on).pay(contactId, originatorId, { key, ...changes });
  return { ...world, contactId, paymentId, again, store };
}

it('while the keys of the parties cannot be read, a used key replays its payment or names what differs', async () => {
  const { store, paymentId, again } = await paid();
  const away = withoutKeys(store);
  expect(await again(away)).toEqual({ paymentId, replayed: true });
  expect(await again(away, { paymentAmount: 1, paymentNote: 'Rent' })).toEqual({
    ...{ refused: 'IDEMPOTENCY_KEY_REUSED', paymentId },
    differingFields: ['paymentAmount', 'paymentNote'],
  });
  await expect(again(away, { key: randomUUID() })).rejects.toBeInstanceOf(StoreUnavailable);
});

it('also in a process that has the parties in memory, and cannot seal', async () => {
  const { store, paymentId, contactId, originatorId, processOn } = await paid();
  const key = randomUUID();
  let current = store;
  const changing = new Proxy(store, { get: (_, name) => Reflect.get(current, name) as unknown });
  const { pay } = processOn(changing);
  const first = unrefused(await pay(contactId, originatorId, { key }));
  expect(first.paymentId).not.toBe(paymentId);
  await nextMillisecond();
  current = withoutKeys(store);
  expect(await pay(contactId, originatorId, { key })).toEqual({ ...first, replayed: true });
});

it('while the contact has an event that this release cannot read', async () => {
  const { store, paymentId, contactId, again } = await paid();
  const streamId = `contact-${contactId}`;
  const [created] = await store.readStream(streamId);
  if (created === undefined) throw new Error('the contact has no event');
  const { data, metadata } = created;
  await store.append(streamId, 0, [{ id: randomUUID(), type: 'ContactTold', data, metadata }]);
  expect(await again(store)).toEqual({ paymentId, replayed: true });
  await expect(again(store, { key: randomUUID() })).rejects.toBeInstanceOf(UnreadableEvent);
});

it('after the contact was erased, while the keys cannot be read', async () => {
  const { store, paymentId, contactId, again, erasureOn } = await paid();
  for (const command of completed)
    unrefused(await repository(store, payments).execute(paymentId, command, by));
  await erasureOn().erase(overriding(contactId), by);
  expect(await again(withoutKeys(store))).toEqual({ paymentId, replayed: true });
});
