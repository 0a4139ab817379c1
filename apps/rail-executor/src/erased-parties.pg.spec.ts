import type { BankConnection } from '@pis/bank-rails';
import { contact, type ErasureCommand, originator } from '@pis/domain';
import { contactExample, later, originatorExample } from '@pis/domain/testing';
import { type EventStore, type RecordedEvent, repository, systemContext } from '@pis/event-store';
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

const by = systemContext('test');
const requestId = 'request-1';
const request: ErasureCommand = {
  type: 'RequestErasure',
  at: later,
  data: { reason: 'asked by letter', by: 'user:cli:ada', overridesRetention: false, requestId },
};
const confirm: ErasureCommand = { type: 'ConfirmErasure', at: later, data: { requestId } };
const withdraw: ErasureCommand = {
  type: 'WithdrawErasure',
  at: later,
  data: { cause: 'PAYMENTS_NOT_FINAL', requestId },
};

/** The party of a payment. Its erasure takes steps, and each is noted as `pis` notes it. */
async function partyOf(paymentId: string, side: Side) {
  const payment = await world.payment(paymentId);
  const contacts = repository(world.store, contact);
  const originators = repository(world.store, originator);
  const [contactId, originatorId] = [payment.contact?.id ?? '', payment.originator.id];
  const id = side === 'contact' ? contactId : originatorId;
  const ofContact = contactExample({ contactId });
  const individual = originatorExample({ originatorId, entityType: 'INDIVIDUAL' });
  if (side === 'contact')
    await contacts.create(id, { type: 'CreateContact', at: later, data: ofContact }, by);
  else await originators.create(id, { type: 'CreateOriginator', at: later, data: individual }, by);
  return async (command: ErasureCommand, phase: 'requested' | 'confirmed') => {
    if (side === 'contact') await contacts.execute(id, command, by);
    else await originators.execute(id, command, by);
    await world.pool.query(
      `INSERT INTO party_erasures (party_id, kind, phase, since, position) VALUES ($1, $2, $3, now(), '1')
       ON CONFLICT (party_id) DO UPDATE SET phase = excluded.phase`,
      [id, side, phase],
    );
  };
}

describe.each([
  ['contact', 'INVALID_CONTACT_DATA'],
  ['originator', 'INVALID_ORIGINATOR_DATA'],
] as const)('a queued payment whose %s is being erased', (side, failureCode) => {
  it('is held while the erasure is requested, and fails unsent once it is confirmed', async () => {
    const message = await world.queue('4321');
    const take = await partyOf(message.paymentId, side);
    await take(request, 'requested');
    const { bank, asked } = watched(world.bank);
    const executor = world.executor({ bank });
    await executor.handle(message.value, message.delivery);
    expect(await world.history(message.paymentId)).toEqual(['Queued']);
    expect(await world.pending(message.paymentId)).toMatchObject({ stage: 'queued' });
    await take(confirm, 'confirmed');
    await world.timePasses(message.paymentId);
    await executor.sweepRound();
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Failed']);
    expect(await world.payment(message.paymentId)).toMatchObject({
      failureCode,
      failureMessage: `${side}: its personal data was erased`,
    });
    expect(asked).toEqual([]);
  });
});

it('a queued payment is sent when the erasure of its contact was withdrawn, whatever the table still says', async () => {
  const message = await world.queue('4321');
  const take = await partyOf(message.paymentId, 'contact');
  await take(request, 'requested');
  await take(withdraw, 'requested');
  const executor = world.executor();
  await executor.handle(message.value, message.delivery);
  expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', 'Completed']);
});
