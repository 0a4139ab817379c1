/**
 * The log is restored from a backup that is older than PostgreSQL, and a client repeats a lost payment, under its key, for
 * another account. The bank has executed the earlier one.
 */
import type { PaymentRail, TransferOwner } from '@pis/domain';
import { type Formats, openFormats } from './testing/formats.js';
import { ended, handle, historyIn, restoredFor } from './testing/restored-log.js';
import { openWorld, type QueuedMessage, settle, type World } from './testing/world.js';

const completed = ['Queued', 'Processing', 'Completed'];

let world: World;
let formats: Formats;
const openFor = async (owner: TransferOwner) => {
  world = await openWorld({ confirmationTimeoutMs: 60_000, owner });
  formats = await openFormats(world);
};
afterEach(async () => {
  await formats.close();
  await world.close();
});

async function executed(rail: PaymentRail): Promise<QueuedMessage> {
  const message = await ended(world, formats, rail);
  expect(await world.history(message.paymentId)).toEqual(completed);
  return message;
}

it.each(['ACH', 'RTP'] as const)(
  'a payment that was executed over %s to another account is in doubt, not COMPLETED, when the client has repeated it in its second life',
  async (rail) => {
    await openFor('payment');
    const message = await executed(rail);
    const store = await restoredFor(world, message, await world.queue('4322', 'OUTBOUND', rail));
    const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
    const executor = world.executor({ banks: formats.banks, store, config });
    await handle(executor, message);
    for (let times = 1; times <= 3; times += 1) {
      await formats.exchangeFiles();
      await world.timePasses(message.paymentId);
      await settle(executor);
    }
    expect(await historyIn(world, store, message)).toEqual([
      'Queued',
      'Processing',
      'FailedInFlight',
    ]);
    expect(await formats.executions()).toBe(1);
    expect(world.logger.lines.join()).toContain('a transfer with another account');
  },
);

it.each([
  ['ACH', '4321'],
  ['RTP', '0402'],
] as const)(
  'a payment that is confirmed over %s for another account, after the client has repeated it in its second life, is in doubt, and staff see it',
  async (rail, ending) => {
    await openFor('payment');
    const message = await world.queue(ending, 'OUTBOUND', rail);
    await handle(world.executor({ banks: formats.banks }), message);
    await formats.exchangeFiles();
    await longAgo();
    const store = await restoredFor(world, message, await world.queue('4322', 'OUTBOUND', rail));
    const config = { ...world.config, PIS_RAIL_CONFIRMATION_TIMEOUT_MS: 0 };
    for (let lives = 1; lives <= 3; lives += 1) {
      const executor = world.executor({ banks: formats.banks, store, config });
      await handle(executor, message);
      await settle(executor);
      await world.timePasses(message.paymentId);
      await world.pool.query(
        "UPDATE rail_notified_references SET since = now() - interval '1 hour'",
      );
      await world.makeNotificationsDue();
      await settle(executor);
    }
    expect(await historyIn(world, store, message)).toEqual([
      'Queued',
      'Processing',
      'FailedInFlight',
    ]);
    expect(await formats.executions()).toBe(1);
    const { rows } = await world.pool.query('SELECT type, reason FROM rail_notifications');
    expect(rows).toEqual([
      { type: 'confirmed', reason: 'the bank has another account under this reference' },
    ]);
  },
);

it.each([
  ['an answer', 'ACH', '4321', true],
  ['an answer', 'RTP', '4321', true],
  ['a report', 'ACH', '4321', false],
  ['a report', 'RTP', '0402', false],
] as const)(
  'a payment to a contact that the client has created again, with the same account, is COMPLETED by %s over %s',
  async (_by, rail, ending, isKnown) => {
    await openFor('payment');
    const message = await world.queue(ending, 'OUTBOUND', rail);
    const first = world.executor({ banks: formats.banks });
    await handle(first, message);
    await formats.exchangeFiles();
    if (isKnown) await settle(first);
    await longAgo();
    const store = await restoredFor(world, message, await world.queue(ending, 'OUTBOUND', rail));
    const executor = world.executor({ banks: formats.banks, store });
    await handle(executor, message);
    for (let times = 1; times <= 2; times += 1) {
      await world.makeNotificationsDue();
      await settle(executor);
      await world.timePasses(message.paymentId);
    }
    expect(await historyIn(world, store, message)).toEqual(completed);
    expect(await formats.executions()).toBe(1);
  },
);

it('a collection that was executed from another account is COMPLETED in its second life: what is owed is paid', async () => {
  await openFor('collection');
  const message = await executed('ACH');
  const store = await restoredFor(world, message, await world.queue('4322', 'OUTBOUND', 'ACH'));
  const executor = world.executor({ banks: formats.banks, store });
  await handle(executor, message);
  await settle(executor);
  expect(await historyIn(world, store, message)).toEqual(completed);
  expect(await formats.executions()).toBe(1);
});

/** The records of the connections are older than any claim of a second life. */
async function longAgo(): Promise<void> {
  await world.pool.query("UPDATE ach_entries SET submitted_at = submitted_at - interval '1 hour'");
  await world.pool.query("UPDATE iso_transfers SET created_at = created_at - interval '1 hour'");
}
