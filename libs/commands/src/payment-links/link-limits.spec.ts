/** A link that no rail could ever pay is refused when it is requested, not after the counterparty has answered. */
import { randomUUID } from 'node:crypto';
import { paymentRails, type RailSettings } from '@pis/domain';
import { defaultCutoffs } from '@pis/bank-rails';
import { setOrganizationRails } from '../organization-rails.js';
import { by, linkWorld, submission, visitor } from '../testing/link-world.js';
import { unrefused } from '../use-case.js';

/** The most that an ACH entry moves, cents. */
const achMax = 99_999_999_99;
/** With the fees of the test's organization the payer pays exactly the most: 0.25 % and 50 cents. */
const askedMax = 9_975_062_294;
const tooLarge = {
  refused: 'INVALID_REQUEST',
  problems: [{ field: 'paymentAmount', issue: 'validation_max' }],
};

type World = Awaited<ReturnType<typeof linkWorld>>;
const limit = async (world: World, limits: RailSettings['limitsMinor']) => {
  const { store, organizationId } = world;
  unrefused(await setOrganizationRails({ store, by }, organizationId, { limits }));
};

it('a request may ask for what ACH takes, with the fee of the payer', async () => {
  const world = await linkWorld();
  expect(askedMax + Math.floor((askedMax * 25) / 10_000) + 50).toBe(achMax);
  expect(await world.ask({ paymentAmount: askedMax + 1 })).toMatchObject(tooLarge);
  expect(world.memory.rows.size).toBe(0);
  const { token, paymentId } = await world.linked({ paymentAmount: askedMax });
  unrefused(await world.links.submit(token, submission, visitor));
  expect(await world.stateOf(paymentId)).toMatchObject({ railDecision: { isPossible: true } });
});

it("a request may ask for what the organization's limit for ACH allows, with the fee", async () => {
  const world = await linkWorld();
  await limit(world, { ACH: 10_075 });
  expect(await world.ask({ paymentAmount: 10_000 })).toMatchObject({
    status: 'AWAITING_CONFIRMATION',
  });
  expect(await world.ask({ paymentAmount: 10_001 })).toMatchObject(tooLarge);
});

it('a link to send money is refused when it is above the limits of all rails that may take it', async () => {
  const world = await linkWorld();
  const send = (paymentAmount: number) => world.ask({ direction: 'OUTBOUND', paymentAmount });
  // By wire.
  expect(await send(achMax + 1)).toMatchObject({ status: 'AWAITING_CONFIRMATION' });
  await limit(world, { FEDWIRE: achMax });
  expect(await send(achMax + 1)).toMatchObject(tooLarge);
  // The payer's fee is no part of what is sent.
  expect(await send(achMax)).toMatchObject({ status: 'AWAITING_CONFIRMATION' });
});

it('a small link to send money waits for no hour: a rail that is closed now may take it later', async () => {
  const rails = { connectedRails: paymentRails, cutoffs: defaultCutoffs };
  const sunday = '2026-11-22T03:00:00.000Z';
  const world = await linkWorld({ rails, clock: () => sunday });
  await limit(world, { ACH: 100, RTP: 100, FEDNOW: 100 });
  expect(await world.ask({ direction: 'OUTBOUND', paymentAmount: 200 })).toMatchObject({
    status: 'AWAITING_CONFIRMATION',
  });
});

it('the answer to a repeated request stays, whatever the limits are since', async () => {
  const world = await linkWorld();
  const first = unrefused(await world.ask({}, 'key'));
  await limit(world, { ACH: 1 });
  expect(await world.ask({}, 'key')).toEqual({ ...first, replayed: true });
});

describe('a link for a name that no rail can send', () => {
  const unnamed = { entityType: 'INDIVIDUAL', firstName: '小龙', lastName: '李' } as const;
  const refusedAt = (field: string) => ({
    refused: 'INVALID_REQUEST',
    problems: [{ field, issue: expect.stringContaining('Latin letters') as string }],
  });

  it.each(['INBOUND', 'OUTBOUND'])('is refused for an %s payment', async (direction) => {
    const world = await linkWorld();
    const ask = (recipient: object) => world.ask({ direction, recipient });
    expect(await ask(unnamed)).toMatchObject(refusedAt('recipient.firstName'));
    const company = { entityType: 'BUSINESS', companyName: '株式会社' };
    expect(await ask(company)).toMatchObject(refusedAt('recipient.companyName'));
    const contactId = await world.newContact({ ...unnamed, bankAccount: null });
    expect(await ask({ contactId })).toMatchObject(refusedAt('recipient.contactId'));
    expect(world.memory.rows.size).toBe(0);
    for (const firstName of ['Zoë', 'Ольга', '小龙 (Bruce)'])
      expect(await ask({ ...unnamed, firstName })).toMatchObject({
        status: 'AWAITING_CONFIRMATION',
      });
  });

  it('that was created before stays what it is when it is repeated', async () => {
    const world = await linkWorld();
    const key = randomUUID();
    const asked = unrefused(await world.ask({}, key));
    expect(await world.ask({ recipient: unnamed }, key)).toMatchObject({
      refused: 'IDEMPOTENCY_KEY_REUSED',
      paymentId: asked.paymentId,
    });
  });
});
