/** Requesting payments in the dashboard, and the life of their links (specification, "Payment link"). */
import { randomUUID } from 'node:crypto';
import { dashboardPaymentSchema, paymentListItem, paymentView, validate } from '@pis/contracts';
import { contact as contacts } from '@pis/domain';
import { beginning, repository, StoreUnavailable } from '@pis/event-store';
import { openBankAccount, ownerOf } from '@pis/keyring';
import {
  at,
  by,
  linkWorld,
  memoryTables,
  stranger,
  submission,
  tokenIn,
  client,
  visitor,
} from '../testing/link-world.js';
import { unrefused } from '../use-case.js';

type World = Awaited<ReturnType<typeof linkWorld>>;
let world: World;
beforeEach(async () => {
  world = await linkWorld();
});

const afterDays = (days: number) => new Date(Date.parse(at) + days * 86_400_000).toISOString();

describe('a request', () => {
  it.each(['a saved contact with an account', 'somebody who is not saved'])(
    'for money from %s always takes a link',
    async (who) => {
      const recipient =
        who === 'somebody who is not saved' ? stranger : { contactId: await world.newContact() };
      const asked = unrefused(await world.ask({ recipient }));
      expect(asked).toMatchObject({ status: 'AWAITING_CONFIRMATION', replayed: false });
      expect(asked.url).toMatch(/^https:\/\/pay\.example\/pay\/[\w-]{43}$/);
    },
  );

  it('to send money to a saved contact with an active account needs no link', async () => {
    const contactId = await world.newContact();
    const sent = unrefused(await world.ask({ direction: 'OUTBOUND', recipient: { contactId } }));
    expect(sent).toMatchObject({ status: 'QUEUED', url: null });
    expect(await world.stateOf(sent.paymentId)).toMatchObject({
      status: 'QUEUED',
      link: null,
      contactId,
      idempotencyKey: null,
      railDecision: { isPossible: true },
    });
    expect(world.memory.rows.size).toBe(0);
  });

  it('to send money takes a link if the recipient is not saved, or has no account', async () => {
    const contactId = await world.newContact({ bankAccount: null });
    for (const recipient of [stranger, { contactId }])
      expect(await world.ask({ direction: 'OUTBOUND', recipient })).toMatchObject({
        status: 'AWAITING_CONFIRMATION',
      });
  });

  it.each(['R02', 'R03', 'R04', 'R20'])(
    'to send money takes a link after the account returned %s',
    async (returnReasonCode) => {
      const contactId = await world.newContact();
      const data = { paymentId: randomUUID(), returnReasonCode, returnedAt: at };
      const report = { type: 'ReportContactReturn', at, data } as const;
      unrefused(await repository(world.store, contacts).execute(contactId, report, by));
      expect(await world.ask({ direction: 'OUTBOUND', recipient: { contactId } })).toMatchObject({
        status: 'AWAITING_CONFIRMATION',
      });
    },
  );

  it('is the same payment with the same link under the same key, and a refusal for another body', async () => {
    const key = randomUUID();
    const first = unrefused(await world.ask({}, key));
    expect(await world.ask({}, key)).toEqual({ ...first, replayed: true });
    const other = { paymentAmount: 1, recipient: { ...stranger, lastName: 'Other' } };
    expect(await world.ask(other, key)).toMatchObject({
      refused: 'IDEMPOTENCY_KEY_REUSED',
      paymentId: first.paymentId,
      differingFields: ['recipient', 'paymentAmount'],
    });
  });

  it('that arrives twice at the same time makes one payment, and only its token works', async () => {
    const key = randomUUID();
    const asked = await Promise.all(Array.from({ length: 20 }, () => world.ask({}, key)));
    const urls = new Set(asked.map((one) => unrefused(one).url));
    expect(urls.size).toBe(1);
    expect(await world.links.find(tokenIn([...urls][0] ?? null))).not.toBeNull();
    const { rows } = world.memory;
    const states = await Promise.all(
      [...rows.keys()].map((digest) => world.memory.table.find(digest)),
    );
    expect(new Set(states).size).toBe(1);
  });

  it('names what is wrong: an unknown originator or contact, and a contact of another originator', async () => {
    const elsewhere = await world.newOriginator('Acme Elsewhere');
    const contactId = await world.newContact();
    expect(await world.ask({ originatorId: randomUUID() })).toEqual({
      refused: 'ORIGINATOR_NOT_FOUND',
    });
    expect(await world.ask({ recipient: { contactId: randomUUID() } })).toEqual({
      refused: 'CONTACT_NOT_FOUND',
    });
    expect(await world.ask({ originatorId: elsewhere, recipient: { contactId } })).toMatchObject({
      refused: 'INVALID_REQUEST',
      problems: [{ field: 'recipient.contactId', issue: 'validation_contact_originator_mismatch' }],
    });
    expect(world.memory.rows.size).toBe(0);
  });

  it('reports each missing name of a new recipient', () => {
    const body = { originatorId: randomUUID(), direction: 'OUTBOUND', paymentAmount: 1 };
    const problemsOf = (recipient: unknown) => {
      const result = validate(dashboardPaymentSchema, { ...body, recipient });
      return result.ok ? [] : result.problems.map(({ field, issue }) => [field, issue]);
    };
    expect(problemsOf({ entityType: 'INDIVIDUAL' })).toEqual([
      ['recipient.firstName', 'validation_required'],
      ['recipient.lastName', 'validation_required'],
    ]);
    expect(problemsOf({ entityType: 'BUSINESS', companyName: ' ' })).toEqual([
      ['recipient.companyName', 'validation_min_length'],
    ]);
    expect(problemsOf({ contactId: 'no' })).toEqual([['recipient.contactId', 'validation_uuid']]);
    expect(problemsOf(undefined)).toEqual([['recipient', 'validation_required']]);
  });
});

describe('the token', () => {
  it('is nowhere in the log, and neither is the account holder', async () => {
    const { token } = await world.linked();
    const { events } = await world.store.readLog({ after: beginning, leaveSealed: true });
    const text = JSON.stringify(events.map(({ data, metadata }) => [data, metadata]));
    expect(text).not.toContain(token);
    expect(text).not.toContain('Hopper');
    expect(text).toContain('sealedToken');
  });

  it('is shown again to a user, and each showing is recorded', async () => {
    const { paymentId, url } = await world.linked();
    expect(await world.links.show(world.organizationId, paymentId, { userId: 'u-2' })).toEqual({
      url,
    });
    expect(await world.links.accesses(world.organizationId, paymentId)).toEqual([
      { kind: 'show', at, lastAt: at, count: 1, actor: 'user:u-2', outcome: null, visitor: null },
    ]);
  });

  it('is not shown to another organization, of a payment without a link, or of a canceled one', async () => {
    const { paymentId } = await world.linked();
    const contactId = await world.newContact();
    const direct = unrefused(await world.ask({ direction: 'OUTBOUND', recipient: { contactId } }));
    const show = (id: string, organizationId = world.organizationId) =>
      world.links.show(organizationId, id, { userId: 'u-2' });
    expect(await show(paymentId, randomUUID())).toEqual({ refused: 'PAYMENT_NOT_FOUND' });
    expect(await show(direct.paymentId)).toEqual({ refused: 'NO_LINK' });
    await world.links.cancel(world.organizationId, paymentId, by);
    expect(await show(paymentId)).toEqual({ refused: 'NO_LINK' });
    expect(world.memory.accesses).toEqual([]);
  });
});

describe('an open link', () => {
  it('shows the payer the amount, the fee on top, the originator and the account holder', async () => {
    const { token, paymentId } = await world.linked({ paymentNote: 'Invoice 7' });
    expect(await world.links.find(token)).toEqual({
      paymentId,
      organizationId: world.organizationId,
      counterpartyId: (await world.stateOf(paymentId)).link?.counterpartyId,
      state: 'open',
      payment: {
        organizationName: 'Acme',
        organizationLogo: null,
        originatorName: 'Acme Billing',
        holder: { entityType: 'INDIVIDUAL', name: 'Grace Hopper' },
        direction: 'INBOUND',
        status: 'AWAITING_CONFIRMATION',
        statusAt: at,
        amountMinor: 10_000,
        payerFeeMinor: 25 + 50,
        paymentNote: 'Invoice 7',
        bankName: null,
        expiresAt: afterDays(30),
      },
    });
  });

  it('records who opens it, with the visitor sealed', async () => {
    const { token, paymentId } = await world.linked();
    const link = await world.links.find(token);
    if (link === null) throw new Error('no link');
    await world.links.recordOpen(link, { ...client, userAgent: 'x'.repeat(10_000) });
    expect(JSON.stringify(world.memory.accesses)).not.toContain(visitor.ip);
    expect(await world.links.accesses(world.organizationId, paymentId)).toEqual([
      {
        kind: 'open',
        at,
        lastAt: at,
        count: 1,
        actor: null,
        outcome: null,
        visitor: { ip: visitor.ip, userAgent: 'x'.repeat(512) },
      },
    ]);
  });

  it.each(['saved', 'unsaved'])('hides the account of a %s counterparty (rule 3)', async (who) => {
    const contactId = await world.newContact();
    const recipient = who === 'saved' ? { contactId } : stranger;
    const { paymentId } = await world.linked({ recipient });
    const state = await world.stateOf(paymentId);
    const shown = who === 'saved' ? { id: contactId, bankAccount: null } : null;
    if (shown === null) expect(paymentView(state).contact).toBeNull();
    else expect(paymentView(state).contact).toMatchObject(shown);
    expect(paymentListItem(state).contact === null).toBe(shown === null);
  });
});

describe('a submission', () => {
  it('queues the payment for the submitted account, with the rail that its bank takes', async () => {
    const contactId = await world.newContact();
    const { token, paymentId } = await world.linked({ recipient: { contactId } });
    const before = await repository(world.store, contacts).load(contactId);
    world.clock.at = afterDays(1);
    expect(await world.links.submit(token, submission, visitor)).toEqual({ status: 'QUEUED' });
    const state = await world.stateOf(paymentId);
    expect(state).toMatchObject({
      status: 'QUEUED',
      statusAt: afterDays(1),
      createdAt: at,
      amountMinor: 10_000,
      paymentRail: 'ACH',
      railDecision: { isPossible: true },
      contact: {
        id: contactId,
        firstName: 'Ada',
        legalAddress: submission.legalAddress,
        bankAccount: { subType: 'SAVINGS', achAccountNumber: '********1222', swiftCode: null },
      },
    });
    const { bankAccount } = state.contact ?? {};
    if (!bankAccount) throw new Error('no account');
    const owner = ownerOf.contact(contactId);
    expect(await openBankAccount(world.keyring, bankAccount, owner)).toMatchObject({
      achRoutingNumber: submission.achRoutingNumber,
      achAccountNumber: submission.achAccountNumber,
    });
    // Nothing was written to the saved contact.
    const after = await repository(world.store, contacts).load(contactId);
    expect(after.revision).toBe(before.revision);
    expect(await world.links.accesses(world.organizationId, paymentId)).toEqual([
      {
        ...{ kind: 'submit', at: afterDays(1), lastAt: afterDays(1), count: 1 },
        ...{ actor: null, outcome: 'QUEUED', visitor },
      },
    ]);
  });

  it('gives an unsaved counterparty an id', async () => {
    const { token, paymentId } = await world.linked({ direction: 'OUTBOUND' });
    unrefused(await world.links.submit(token, submission, visitor));
    const state = await world.stateOf(paymentId);
    expect(state.contactId).toBeNull();
    expect(paymentView(state).contact).toMatchObject({
      id: state.link?.counterpartyId,
      firstName: 'Grace',
      lastName: 'Hopper',
      bankAccount: { achAccountNumber: '********1222' },
    });
  });

  it('chooses the rail of an OUTBOUND payment by the submitted bank', async () => {
    const { token, paymentId } = await world.linked({ direction: 'OUTBOUND' });
    const rtp = { ...submission, achRoutingNumber: '110000000' };
    unrefused(await world.links.submit(token, rtp, visitor));
    expect(await world.stateOf(paymentId)).toMatchObject({ paymentRail: 'RTP' });
  });

  it('is refused with the API’s codes for each wrong field, and the link stays open', async () => {
    const { token, paymentId } = await world.linked();
    const problemsOf = async (changes: object) => {
      const result = await world.links.submit(token, { ...submission, ...changes }, visitor);
      if (!('refused' in result) || result.refused !== 'INVALID_REQUEST') throw new Error('valid');
      return result.problems.map(({ field, issue }) => [field, issue]);
    };
    expect(await problemsOf({ achRoutingNumber: '123', achAccountNumber: 'x' })).toEqual([
      ['achRoutingNumber', 'validation_routing_number'],
      ['achAccountNumber', 'validation_account_number'],
    ]);
    expect(await problemsOf({ legalAddress: undefined })).toEqual([
      ['legalAddress', 'validation_required'],
    ]);
    // A valid checksum, of no bank in the directory.
    expect(await problemsOf({ achRoutingNumber: '999999992' })).toEqual([
      ['achRoutingNumber', 'validation_routing_number'],
    ]);
    expect(await world.stateOf(paymentId)).toMatchObject({ status: 'AWAITING_CONFIRMATION' });
    expect(world.memory.accesses.map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 3 }, () => 'INVALID_REQUEST'),
    );
  });

  it('is accepted once; after it the link shows the status', async () => {
    const { token } = await world.linked();
    unrefused(await world.links.submit(token, submission, visitor));
    expect(await world.links.submit(token, submission, visitor)).toEqual({
      refused: 'ALREADY_SUBMITTED',
    });
    expect(await world.links.find(token)).toMatchObject({
      state: 'submitted',
      payment: { status: 'QUEUED', bankName: expect.any(String) as string },
    });
  });

  it('is not made when it cannot be recorded', async () => {
    const { log } = memoryTables();
    const accesses = { ...log, record: () => Promise.reject(new StoreUnavailable('away')) };
    world = await linkWorld({ accesses });
    const { token, paymentId } = await world.linked();
    await expect(world.links.submit(token, submission, visitor)).rejects.toThrow('away');
    expect(await world.stateOf(paymentId)).toMatchObject({ status: 'AWAITING_CONFIRMATION' });
  });
});
