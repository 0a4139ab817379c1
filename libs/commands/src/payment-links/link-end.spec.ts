/** How links end: by time, by the cancellation, and by a crash before the payment was recorded. */
import { randomUUID } from 'node:crypto';
import { beginning, StoreUnavailable } from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import {
  account,
  at,
  by,
  linkWorld,
  memoryTables,
  submission,
  tokenIn,
  visitor,
} from '../testing/link-world.js';
import { unrefused } from '../use-case.js';

type World = Awaited<ReturnType<typeof linkWorld>>;
let world: World;
beforeEach(async () => {
  world = await linkWorld();
});

const afterDays = (days: number) => new Date(Date.parse(at) + days * 86_400_000).toISOString();

describe('the end of a link', () => {
  it('comes after 30 days: nothing can be submitted, and the status stays', async () => {
    const { token, paymentId } = await world.linked();
    world.clock.at = afterDays(30);
    expect(await world.links.find(token)).toMatchObject({ state: 'expired' });
    expect(await world.links.submit(token, submission, visitor)).toEqual({
      refused: 'LINK_EXPIRED',
    });
    expect(await world.stateOf(paymentId)).toMatchObject({ status: 'AWAITING_CONFIRMATION' });
  });

  it('comes for a link that was used, too', async () => {
    const { token } = await world.linked();
    unrefused(await world.links.submit(token, submission, visitor));
    world.clock.at = afterDays(30);
    expect(await world.links.find(token)).toMatchObject({ state: 'expired' });
    expect(await world.links.submit(token, submission, visitor)).toEqual({
      refused: 'LINK_EXPIRED',
    });
  });

  it('comes at once with the cancellation: the token is as unknown as one that never was', async () => {
    const { token, paymentId } = await world.linked();
    const canceled = unrefused(await world.links.cancel(world.organizationId, paymentId, by));
    expect(canceled.status).toBe('CANCELED');
    expect(await world.memory.table.find([...world.memory.rows.keys()][0] ?? '')).toBeNull();
    const unknown = 'A'.repeat(43);
    for (const one of [token, unknown, 'no token']) {
      expect(await world.links.find(one)).toBeNull();
      expect(await world.links.submit(one, submission, visitor)).toEqual({
        refused: 'LINK_NOT_FOUND',
      });
    }
    expect(await world.links.cancel(world.organizationId, paymentId, by)).toMatchObject({
      status: 'CANCELED',
    });
  });

  it('does not come with a cancellation after a failover that may have lost the answer of the payer', async () => {
    let restoredAt: Date | null = new Date(at);
    world = await linkWorld({ restoredAt: () => Promise.resolve(restoredAt) });
    const cancel = (paymentId: string) => world.links.cancel(world.organizationId, paymentId, by);
    const { paymentId } = await world.linked();
    expect(await cancel(paymentId)).toEqual({ refused: 'MAY_BE_SUBMITTED' });
    world.clock.at = new Date(Date.parse(at) + 1).toISOString();
    const later = await world.linked();
    expect(unrefused(await cancel(later.paymentId)).status).toBe('CANCELED');
    restoredAt = null;
    expect(unrefused(await cancel(paymentId)).status).toBe('CANCELED');
  });

  it('comes with the cancellation even while its row cannot be disabled', async () => {
    const { table } = memoryTables();
    const stuck = { ...table, disable: () => Promise.reject(new StoreUnavailable('away')) };
    world = await linkWorld({ table: stuck });
    const { token, paymentId } = await world.linked();
    unrefused(await world.links.cancel(world.organizationId, paymentId, by));
    expect(await world.links.find(token)).toBeNull();
    expect(await world.links.submit(token, submission, visitor)).toEqual({
      refused: 'LINK_NOT_FOUND',
    });
  });

  it('cannot be brought about once the payment is under way, or by another organization', async () => {
    const { token, paymentId } = await world.linked();
    expect(await world.links.cancel(randomUUID(), paymentId, by)).toEqual({
      refused: 'PAYMENT_NOT_FOUND',
    });
    unrefused(await world.links.submit(token, submission, visitor));
    expect(await world.links.cancel(world.organizationId, paymentId, by)).toEqual({
      refused: 'NOT_ALLOWED_IN_STATUS',
      status: 'QUEUED',
    });
  });
});

describe('a crash', () => {
  it('between the row and the payment leaves a token that is unknown, and the next try works', async () => {
    const key = randomUUID();
    const row = { tokenDigest: 'ab'.repeat(32), paymentId: randomUUID() };
    const { organizationId } = world;
    await world.memory.table.add({ ...row, organizationId, expiresAt: at, counterpartyId: null });
    const asked = unrefused(await world.ask({}, key));
    expect(await world.links.find(tokenIn(asked.url))).not.toBeNull();
  });

  it('of the table of links records no payment', async () => {
    const { table } = memoryTables();
    world = await linkWorld({
      table: { ...table, add: () => Promise.reject(new StoreUnavailable('away')) },
    });
    await expect(world.ask()).rejects.toThrow('away');
    const { events } = await world.store.readLog({
      after: beginning,
      streamPrefixes: ['payment-'],
    });
    expect(events).toEqual([]);
  });
});

it('an account that was erased cannot be asked for', async () => {
  const contactId = await world.newContact({ bankAccount: account });
  await world.keyring.destroy([ownerOf.contact(contactId)]);
  expect(await world.ask({ direction: 'OUTBOUND', recipient: { contactId } })).toEqual({
    refused: 'CONTACT_NOT_FOUND',
  });
});
