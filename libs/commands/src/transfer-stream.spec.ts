import { randomUUID } from 'node:crypto';
import {
  collection,
  collectionDetails,
  payment,
  type Payment,
  type PaymentCommand,
} from '@pis/domain';
import { originatorParty, paymentExample } from '@pis/domain/testing';
import {
  type EventStore,
  memoryEventStore,
  MemoryLog,
  repository,
  sealedStore,
  systemContext,
} from '@pis/event-store';
import { countingStore } from '@pis/event-store/testing';
import { testKeyring } from '@pis/keyring/testing';
import { noteCreated } from './recent-transfers.js';
import { type LoadedTransfer, TransferMissing, TransferStream } from './transfer-stream.js';

const keyring = testKeyring();
const at = '2026-11-21T09:00:00.000Z';
const railReference = 'reference';
const process: PaymentCommand = { type: 'ProcessPayment', at, data: { railReference } };
const complete: PaymentCommand = { type: 'CompletePayment', at, data: {} };
const failInFlight: PaymentCommand = {
  type: 'FailPaymentInFlight',
  at,
  data: { failureReason: 'late' },
};

function processes(count: number, log = new MemoryLog()) {
  return Array.from({ length: count }, () => {
    const store = countingStore(sealedStore(memoryEventStore(log), keyring));
    return { store, log, stream: new TransferStream(store, 'system:test') };
  });
}

type Process = ReturnType<typeof processes>[number];

async function queue(store: EventStore): Promise<string> {
  const paymentId = randomUUID();
  const data = paymentExample({ paymentId });
  const by = systemContext('test');
  await repository(store, payment).create(paymentId, { type: 'QueuePayment', at, data }, by);
  return paymentId;
}

/** As the API creates it. */
async function created(store: EventStore): Promise<string> {
  const paymentId = await queue(store);
  const { state, ...loaded } = await repository(store, payment).load(paymentId);
  if (state === null) throw new Error('it was just created');
  noteCreated(store, { owner: 'payment', state, ...loaded });
  return paymentId;
}

async function remembered(stream: TransferStream, paymentId: string) {
  const found: LoadedTransfer[] = [];
  const suits = (known: LoadedTransfer) => found.push(known) === 0;
  await stream.work(paymentId, suits, () => Promise.resolve());
  return found[0] ?? null;
}

/** What the bank's confirmation leads to. */
const confirm = ({ status }: Payment) =>
  status === 'PROCESSING' || status === 'FAILED_IN_FLIGHT' ? [complete] : [];

function only<Item>([item]: readonly Item[]): Item {
  if (item === undefined) throw new RangeError('empty');
  return item;
}

describe('a collection', () => {
  async function queued(store: EventStore): Promise<string> {
    const collectionId = randomUUID();
    const { bankAccount } = originatorParty;
    if (bankAccount === null) throw new Error('the example has no account');
    const data = collectionDetails({
      ...{ collectionId, organizationId: randomUUID(), amountMinor: 500, note: 'Fees 2026-10' },
      ...{ settlement: { name: 'Board Operations Inc', bankAccount }, originator: originatorParty },
    });
    const by = systemContext('test');
    const queue = { type: 'QueuePayment', at, data } as const;
    await repository(store, collection).create(collectionId, queue, by);
    return collectionId;
  }

  it('is found by its ID, and recorded in its own stream', async () => {
    const { store, stream } = only(processes(1));
    const collectionId = await queued(store);
    expect(await stream.load(collectionId)).toMatchObject({
      owner: 'collection',
      state: { status: 'QUEUED' },
    });
    await stream.apply(collectionId, {}, () => [process]);
    const { owner, state } = await stream.apply(collectionId, {}, confirm);
    expect({ owner, status: state.status }).toEqual({ owner: 'collection', status: 'COMPLETED' });
    expect(await store.readStream(`collection-${collectionId}`)).toHaveLength(3);
    expect(await store.readStream(`payment-${collectionId}`)).toEqual([]);
  });

  it('costs one read while it is under way, and a payment never more', async () => {
    const { store, stream } = only(processes(1));
    const [collectionId, paymentId] = [await queued(store), await queue(store)];
    await stream.load(collectionId);
    store.counted();
    await stream.load(collectionId);
    expect(store.counted().reads).toBe(1);
    await stream.load(paymentId);
    expect(store.counted().reads).toBe(1);
  });

  it('that does not exist is missing, like a payment', async () => {
    const { stream } = only(processes(1));
    await expect(stream.load(randomUUID())).rejects.toBeInstanceOf(TransferMissing);
  });
});

describe('a transfer at the bank', () => {
  it('is completed without a read by the process that has submitted it', async () => {
    const { store, stream } = only(processes(1));
    const paymentId = await queue(store);
    await stream.apply(paymentId, {}, () => [process]);
    store.counted();
    const completed = await stream.apply(paymentId, {}, confirm);
    expect(completed).toMatchObject({ state: { status: 'COMPLETED' }, revision: 2 });
    expect(store.counted()).toMatchObject({ appends: 1, reads: 0 });
    expect((await stream.load(paymentId)).state).toEqual(completed.state);
  });

  it('is read again when another process has moved it on', async () => {
    const [one, other] = processes(2) as [
      ReturnType<typeof processes>[number],
      ReturnType<typeof processes>[number],
    ];
    const paymentId = await queue(one.store);
    await one.stream.apply(paymentId, {}, () => [process]);
    await other.stream.apply(paymentId, {}, () => [failInFlight]);
    await one.stream.apply(paymentId, {}, confirm);
    await other.stream.apply(paymentId, {}, confirm);
    const events = await one.store.readStream(`payment-${paymentId}`);
    expect(events.map(({ type }) => type)).toEqual([
      'PaymentQueued',
      'PaymentProcessing',
      'PaymentFailedInFlight',
      'PaymentCompleted',
    ]);
  });

  it.each([
    ['nothing', () => []],
    [
      'an error',
      () => {
        throw new Error('does not fit');
      },
    ],
    ['a refusal', () => [process]],
  ])('is read again when its remembered state leads to %s', async (_what, whileProcessing) => {
    const [one, other] = processes(2) as [
      ReturnType<typeof processes>[number],
      ReturnType<typeof processes>[number],
    ];
    const paymentId = await queue(one.store);
    await one.stream.apply(paymentId, {}, () => [process]);
    await other.stream.apply(paymentId, {}, confirm);
    const seen: string[] = [];
    const { state } = await one.stream.apply(paymentId, {}, ({ status }) => {
      seen.push(status);
      return status === 'PROCESSING' ? whileProcessing() : [];
    });
    expect(seen).toEqual(['PROCESSING', 'COMPLETED']);
    expect(state.status).toBe('COMPLETED');
  });

  it('is read again once the remembered states are forgotten or too old', async () => {
    const log = new MemoryLog();
    const store = countingStore(sealedStore(memoryEventStore(log), keyring));
    let nowMs = 0;
    const stream = new TransferStream(store, 'system:test', { nowMs: () => nowMs });
    const [forgotten, old] = [await queue(store), await queue(store)];
    for (const paymentId of [forgotten, old]) await stream.apply(paymentId, {}, () => [process]);
    stream.forget();
    store.counted();
    await stream.apply(forgotten, {}, confirm);
    expect(store.counted().reads).toBe(1);

    await stream.load(old);
    nowMs += 3_600_000;
    store.counted();
    await stream.apply(old, {}, confirm);
    expect(store.counted().reads).toBe(1);
  });

  it('is known to the stream of its process when it was just created', async () => {
    const [here, elsewhere] = processes(2) as [Process, Process];
    const paymentId = await created(here.store);
    for (const { store } of [here, elsewhere]) store.counted();
    await here.stream.apply(paymentId, {}, () => [process]);
    expect(here.store.counted()).toMatchObject({ appends: 1, reads: 0 });
    await elsewhere.stream.apply(paymentId, {}, confirm);
    expect(elsewhere.store.counted()).toMatchObject({ appends: 1, reads: 1 });
  });

  it('is remembered as it was read or written last, when its creation is answered late', async () => {
    const [{ store, stream }] = processes(1) as [Process];
    const paymentId = await queue(store);
    const { state, ...loaded } = await repository(store, payment).load(paymentId);
    await stream.apply(paymentId, {}, () => [process]);
    noteCreated(store, { owner: 'payment', state: state as Payment, ...loaded });
    expect((await remembered(stream, paymentId))?.state.status).toBe('PROCESSING');
  });

  it.each(['is too old', 'is forgotten', 'was read again'])(
    'is worked on as the store has it after a wait, also if what was remembered %s by then',
    async (by) => {
      const log = new MemoryLog();
      const [other] = processes(1, log) as [Process];
      const store = countingStore(sealedStore(memoryEventStore(log), keyring));
      let nowMs = 0;
      const stream = new TransferStream(store, 'system:test', { nowMs: () => nowMs });
      const paymentId = await created(store);
      const seen: string[] = [];
      await stream.work(
        paymentId,
        () => true,
        async ({ state: { status } }) => {
          seen.push(status);
          if (status !== 'QUEUED') return;
          if (by === 'is too old') nowMs += 3_600_000;
          else if (by === 'is forgotten') stream.forget();
          else await stream.load(paymentId);
          await other.stream.apply(paymentId, {}, () => [process]);
        },
      );
      expect(seen).toEqual(['QUEUED', 'PROCESSING']);
    },
  );

  it('is not read after work that has moved it', async () => {
    const [{ store, stream }] = processes(1) as [Process];
    const paymentId = await created(store);
    store.counted();
    await stream.work(
      paymentId,
      () => true,
      async (current) => {
        const claimed = await stream.record(current, [process], {});
        await stream.record(claimed, [complete], {});
      },
    );
    expect(store.counted()).toMatchObject({ appends: 2, reads: 0 });
  });

  it('costs no event when it waits and nobody has moved it', async () => {
    const [{ store, stream }] = processes(1) as [Process];
    const paymentId = await created(store);
    store.counted();
    await stream.work(
      paymentId,
      () => true,
      () => Promise.resolve(),
    );
    expect(store.counted()).toMatchObject({ appends: 0, events: 0 });
  });

  it('leaves its place to the next one while it waits', async () => {
    const store = countingStore(sealedStore(memoryEventStore(), keyring));
    const stream = new TransferStream(store, 'system:test', { rememberedMax: 4 });
    for (const paymentId of [await queue(store), await queue(store)])
      await remembered(stream, paymentId);
    const next = await created(store);
    expect((await remembered(stream, next))?.state.paymentId).toBe(next);
  });

  it('does not push out transfers under way when it was just created', async () => {
    const store = countingStore(sealedStore(memoryEventStore(), keyring));
    let nowMs = 0;
    const options = { rememberedMax: 4, nowMs: () => nowMs };
    const stream = new TransferStream(store, 'system:test', options);
    const underWay = [await queue(store), await queue(store)];
    for (const paymentId of underWay) await stream.apply(paymentId, {}, () => [process]);
    const waiting = await created(store);
    expect(await remembered(stream, waiting)).toBeNull();
    nowMs += 3_600_000;
    // The others are too old by now.
    const later = await created(store);
    expect((await remembered(stream, later))?.state).toMatchObject({
      paymentId: later,
      status: 'QUEUED',
    });
  });

  it('is remembered in bounded memory', async () => {
    const store = countingStore(sealedStore(memoryEventStore(), keyring));
    const stream = new TransferStream(store, 'system:test', { rememberedMax: 2 });
    const paymentIds = [await queue(store), await queue(store), await queue(store)];
    for (const paymentId of paymentIds) await stream.apply(paymentId, {}, () => [process]);
    store.counted();
    for (const paymentId of paymentIds.toReversed()) await stream.apply(paymentId, {}, confirm);
    expect(store.counted()).toMatchObject({ appends: 3, reads: 1 });
  });
});
