import type { BankConnection } from '@pis/bank-rails';
import type { EventStore, RecordedEvent } from '@pis/event-store';
import { KeyDestroyed } from '@pis/keyring';
import { keyring, openWorld, type World } from './testing/world.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

type Side = 'originator' | 'contact';

/** The store as it is once the keys of a party are destroyed. */
function afterErasure(store: EventStore, side: Side): EventStore {
  const opened = (event: RecordedEvent): RecordedEvent => {
    if (event.type !== 'PaymentQueued') return event;
    const party = event.data[side] as { id: string; entityType: string };
    const names = { firstName: null, lastName: null, companyName: null, bankAccount: null };
    return { ...event, data: { ...event.data, [side]: { ...party, ...names, erased: true } } };
  };
  return {
    ...store,
    readStream: async (...args) => (await store.readStream(...args)).map(opened),
    readStreams: async (...args) =>
      (await store.readStreams(...args)).map((events) => events.map(opened)),
  };
}

/** A bank that counts what it is asked to move. */
function watched(bank: BankConnection) {
  const asked: string[] = [];
  const watching: BankConnection = {
    ...bank,
    screen: (instruction) => {
      asked.push('screen');
      return bank.screen(instruction);
    },
    submit: (instruction) => {
      asked.push('submit');
      return bank.submit(instruction);
    },
  };
  return { bank: watching, asked };
}

describe.each([
  ['contact', 'INVALID_CONTACT_DATA'],
  ['originator', 'INVALID_ORIGINATOR_DATA'],
] as const)('a payment that slipped in before its %s was erased', (side, failureCode) => {
  it('fails before its claim, and nothing reaches the bank', async () => {
    const message = await world.queue('4321');
    const { bank, asked } = watched(world.bank);
    const executor = world.executor({ bank, store: afterErasure(world.store, side) });
    await executor.handle(message.value, message.delivery);
    await executor.handle(message.value, message.delivery);
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Failed']);
    expect(await world.payment(message.paymentId)).toMatchObject({
      failureCode,
      failureMessage: `${side}: its personal data was erased`,
    });
    expect(asked).toEqual([]);
  });
});

it('a payment of a party whose key is destroyed when it is about to be sent fails, and nothing reaches the bank', async () => {
  const message = await world.queue('4321');
  const { contactId } = await world.payment(message.paymentId);
  const { bank, asked } = watched(world.bank);
  const open = () => Promise.reject(new KeyDestroyed(`contact:${contactId ?? ''}`));
  const executor = world.executor({ bank, keyring: { ...keyring, open } });
  await executor.handle(message.value, message.delivery);
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Failed']);
  expect(await world.payment(message.paymentId)).toMatchObject({
    failureCode: 'INVALID_CONTACT_DATA',
  });
  expect(asked).toEqual([]);
});

it('a payment that was claimed before an erasure is investigated and not submitted', async () => {
  const message = await world.queue('4321');
  const dying = world.executor({
    bank: { ...world.bank, submit: () => Promise.reject(new Error('the process died')) },
  });
  await dying.handle(message.value, message.delivery);
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  const { bank, asked } = watched(world.bank);
  const executor = world.executor({ bank, store: afterErasure(world.store, 'contact') });
  await world.timePasses(message.paymentId);
  await executor.handle(message.value, message.delivery);
  expect(asked).toEqual([]);
  expect(await world.executions()).toBe(0);
});
