/** An executor that acts on a payment as it remembers it, while the store has more. */
import { randomUUID } from 'node:crypto';
import { BankUnavailable } from '@pis/bank-rails';
import { transferOwners } from '@pis/domain';
import { type EventStore, memoryEventStore, sealedStore } from '@pis/event-store';
import type { RailExecutor, RailExecutorOptions } from './rail-executor.js';
import { keyring, openWorld, type QueuedMessage, type World } from './testing/world.js';

type Review = RailExecutorOptions['review'];

let world: World;

const handle = (executor: RailExecutor, { value, delivery }: QueuedMessage) =>
  executor.handle(value, delivery);
const holding: Review = { of: () => Promise.resolve({ outcome: 'hold', rule: 'test' }) };
const silent = () => Promise.reject(new BankUnavailable('no answer'));
const failing: Review = { of: silent };

describe.each(transferOwners)('the transfer of a %s', (owner) => {
  beforeEach(async () => {
    world = await openWorld({ owner });
  });
  afterEach(() => world.close());

  /** An executor that remembers the payment of the message: its review has failed. */
  async function remembering(message: QueuedMessage) {
    let review = failing;
    const executor = world.executor({ review: { of: (...args) => review.of(...args) } });
    await handle(executor, message);
    return { executor, setReview: (next: Review) => (review = next) };
  }

  /** Another executor claims it, and dies before the bank has it. */
  async function claimed(message: QueuedMessage): Promise<void> {
    const other = world.executor({ bank: { ...world.bank, submit: silent } });
    await handle(other, message);
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing']);
  }

  it('is submitted by whoever gets the message again, also if it would hold the payment', async () => {
    const message = await world.queue('0001');
    const { executor, setReview } = await remembering(message);
    await claimed(message);
    setReview(holding);
    await handle(executor, message);
    expect(await world.transfers(message.paymentId)).toHaveLength(1);
  });

  it('is submitted by whoever gets the message again, also if the review fails again', async () => {
    const message = await world.queue('0001');
    const { executor } = await remembering(message);
    await claimed(message);
    await handle(executor, message);
    expect(await world.transfers(message.paymentId)).toHaveLength(1);
  });

  it('is submitted by whoever gets the message again, also if the review would block it now', async () => {
    const message = await world.queue('0001');
    const { executor, setReview } = await remembering(message);
    await claimed(message);
    const block = { rules: ['test'], reasons: ['listed since'] };
    setReview({ of: () => Promise.resolve({ outcome: 'blocked', block }) });
    await handle(executor, message);
    expect(await world.transfers(message.paymentId)).toHaveLength(1);
  });

  it('leaves no row behind if another executor has ended it', async () => {
    const message = await world.queue('0001');
    const { executor, setReview } = await remembering(message);
    const other = world.executor();
    await handle(other, message);
    await other.feedRound();
    expect(await world.history(message.paymentId)).toEqual(['Queued', 'Processing', 'Completed']);
    expect(await world.pending(message.paymentId)).toBeNull();
    setReview(holding);
    await handle(executor, message);
    expect(await world.pending(message.paymentId)).toBeNull();
  });

  it('is executed as it was created last, after the log was restored from before it', async () => {
    const message = await world.queue('0001');
    const restored = memoryEventStore();
    let log: EventStore = world.store;
    const store: EventStore = {
      ...log,
      append: (...args) => log.append(...args),
      readStream: (...args) => log.readStream(...args),
    };
    let review = failing;
    const executor = world.executor({ store, review: { of: (...args) => review.of(...args) } });
    await handle(executor, message);

    const streamId = world.streamIdOf(message.paymentId);
    const [lost] = await world.store.readStream(streamId, { leaveSealed: true });
    if (lost === undefined) throw new Error('the payment was queued');
    const { type, metadata } = lost;
    const eventId = randomUUID();
    const data = { ...lost.data, amountMinor: 777 };
    await restored.append(streamId, 'noStream', [{ id: eventId, type, metadata, data }]);
    [log, review] = [sealedStore(restored, keyring), world.review];
    await handle(executor, { ...message, value: { ...(message.value as object), eventId } });
    const { rows } = await world.pool.query<{ amount: string }>(
      'SELECT amount_minor::text AS amount FROM bank_transfers WHERE payment_id = $1',
      [message.paymentId],
    );
    expect(rows).toEqual([{ amount: '777' }]);
  });
});
