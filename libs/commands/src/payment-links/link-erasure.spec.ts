/** The erasure of a counterparty that is no saved contact: known by its link alone, under the ID that it gave. */
import { randomUUID } from 'node:crypto';
import { paymentView } from '@pis/contracts';
import { contact as contacts, payment as payments } from '@pis/domain';
import { repository } from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { PartyErasure } from '../party-erasure.js';
import { completed, order, overriding, transfersIn } from '../testing/erasure-world.js';
import { account, by, client, linkWorld, submission, visitor } from '../testing/link-world.js';
import { unrefused } from '../use-case.js';

type World = Awaited<ReturnType<typeof linkWorld>>;
let world: World;
let erasure: PartyErasure;
beforeEach(async () => {
  world = await linkWorld();
  const { rows } = world.memory;
  erasure = new PartyErasure({
    store: world.store,
    transfers: transfersIn(world.store),
    counterpartyPayments: async (id) =>
      [...rows.values()].flatMap((row) => (row.counterpartyId === id ? [row.paymentId] : [])),
    notify: () => Promise.resolve(),
    destroyKeys: (owners) => world.keyring.destroy(owners),
    defaultRetentionYears: 7,
    ...{ settleMs: 0, keysInUseMs: 0, listWaitMaxMs: 0, pause: () => Promise.resolve() },
  });
});

async function counterpartyOf(paymentId: string): Promise<string> {
  const { link } = await world.stateOf(paymentId);
  if (link === null) throw new Error('no link');
  return link.counterpartyId;
}

async function completedPayment() {
  const { token, paymentId } = await world.linked();
  const link = await world.links.find(token);
  if (link === null) throw new Error('no link');
  await world.links.recordOpen(link, client);
  unrefused(await world.links.submit(token, submission, visitor));
  for (const command of completed)
    unrefused(await repository(world.store, payments).execute(paymentId, command, by));
  return { token, paymentId, counterpartyId: await counterpartyOf(paymentId) };
}

it('takes its name, its account and the record of its visits, and keeps the payment', async () => {
  const { token, paymentId, counterpartyId } = await completedPayment();
  expect(await erasure.erase(overriding(counterpartyId), by)).toMatchObject({
    id: counterpartyId,
    alreadyErased: false,
  });
  const state = await world.stateOf(paymentId);
  expect(state).toMatchObject({ status: 'COMPLETED', link: { holder: null, erased: true } });
  expect(paymentView(state).contact).toEqual({
    id: counterpartyId,
    entityType: 'INDIVIDUAL',
    erased: true,
    ...{ firstName: null, lastName: null, companyName: null, bankAccount: null },
  });
  const visits = await world.links.accesses(world.organizationId, paymentId);
  expect(visits).toMatchObject([
    { kind: 'submit', visitor: null },
    { kind: 'open', visitor: null },
  ]);
  // The page goes on, and names nobody.
  const link = await world.links.find(token);
  expect(link).toMatchObject({ state: 'submitted', payment: { holder: null, bankName: null } });
  const another = { ...client, userAgent: 'Browser/2.0' };
  if (link !== null) await world.links.recordOpen(link, another);
  expect(world.memory.accesses.at(-1)).toMatchObject({ kind: 'open', sealed: null });
  expect(await erasure.erase(overriding(counterpartyId), by)).toMatchObject({
    alreadyErased: true,
  });
});

it('works for a payment that was canceled, and the contact never exists for anybody', async () => {
  const { paymentId } = await world.linked();
  const counterpartyId = await counterpartyOf(paymentId);
  await world.links.cancel(world.organizationId, paymentId, by);
  unrefused(await erasure.erase(overriding(counterpartyId), by));
  const { state } = await repository(world.store, contacts).load(counterpartyId);
  expect(state).toMatchObject({ erasure: 'erased', unsaved: true });
  expect(await world.ask({ recipient: { contactId: counterpartyId } })).toEqual({
    refused: 'CONTACT_NOT_FOUND',
  });
});

it('is refused while its payment is open or must be kept, without a trace', async () => {
  const { paymentId } = await world.linked();
  const waiting = await counterpartyOf(paymentId);
  expect(await erasure.erase(overriding(waiting), by)).toMatchObject({
    refused: 'PAYMENTS_NOT_FINAL',
    paymentId,
  });
  const { counterpartyId: kept } = await completedPayment();
  expect(await erasure.erase(order(kept), by)).toMatchObject({ refused: 'RETENTION_RUNNING' });
  for (const id of [waiting, kept])
    expect(await world.store.readStream(`contact-${id}`)).toEqual([]);
});

it('leaves somebody whom another run has begun to erase no contact of the organization', async () => {
  const { counterpartyId } = await completedPayment();
  const { organizationId, originatorId, store } = world;
  const data = { contactId: counterpartyId, organizationId, originatorId };
  const note = { ...data, entityType: 'INDIVIDUAL' } as const;
  const at = new Date().toISOString();
  await repository(store, contacts).execute(
    counterpartyId,
    { type: 'NoteUnsavedContact', at, data: note },
    by,
  );
  expect(await world.ask({ recipient: { contactId: counterpartyId } })).toEqual({
    refused: 'CONTACT_NOT_FOUND',
  });
  unrefused(await erasure.erase(overriding(counterpartyId), by));
  expect(await world.keyring.destroyedOf([ownerOf.contact(counterpartyId)])).toEqual(
    new Set([ownerOf.contact(counterpartyId)]),
  );
});

it('knows no ID that no link has given', async () => {
  const id = randomUUID();
  expect(await erasure.erase(overriding(id), by)).toEqual({
    refused: 'PARTY_NOT_FOUND',
    kind: 'contact',
    id,
  });
  // A saved contact with a link is erased as itself.
  const contactId = await world.newContact({ bankAccount: account });
  const { paymentId } = await world.linked({ recipient: { contactId } });
  await world.links.cancel(world.organizationId, paymentId, by);
  unrefused(await erasure.erase(overriding(contactId), by));
  expect((await repository(world.store, contacts).load(contactId)).state).not.toMatchObject({
    unsaved: true,
  });
});
