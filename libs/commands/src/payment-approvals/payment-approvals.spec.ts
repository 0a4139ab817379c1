/** Payments that a second person must approve before they are created. */
import { randomUUID } from 'node:crypto';
import {
  approval as approvals,
  approvalLifetimeMs,
  type ApprovalRequest,
  user as users,
} from '@pis/domain';
import { openAddresses, repository, type Sealing } from '@pis/event-store';
import { CannotOpen, ownerOf } from '@pis/keyring';
import { OriginatorDirectory } from '../originator-directory.js';
import { setOrganizationRails } from '../organization-rails.js';
import { amountAbove, approvalWorld } from '../testing/approval-world.js';
import { account, at, by, stranger } from '../testing/link-world.js';
import { unrefused } from '../use-case.js';

type World = Awaited<ReturnType<typeof approvalWorld>>;
let world: World;
beforeEach(async () => {
  world = await approvalWorld();
});

/** A request as an approval has it. */
function requestedBy({
  organizationId,
  originatorId,
  ada,
}: World): Omit<ApprovalRequest, 'approvalId'> {
  const recipient = { id: randomUUID(), ...stranger, companyName: null, bankAccount: null };
  return {
    ...{ organizationId, originatorId, direction: 'INBOUND', contactId: null, recipient },
    ...{ amountMinor: 10_000, paymentNote: null, externalPaymentId: null },
    requestedBy: ada.userId,
  };
}

const waits = { status: 'WAITING_FOR_APPROVAL', approvalId: expect.any(String) as unknown };

describe('a request', () => {
  it('up to the amount creates the payment, above it an approval alone', async () => {
    const [paymentAmount, above] = [amountAbove, amountAbove + 1];
    expect(await world.ask({ paymentAmount })).toMatchObject({ status: 'AWAITING_CONFIRMATION' });
    expect(await world.payments()).toHaveLength(1);
    expect(await world.ask({ paymentAmount: above })).toEqual(waits);
    expect(await world.payments()).toHaveLength(1);
    await world.setAmount(null);
    expect(await world.ask({ paymentAmount: above })).toMatchObject({
      status: 'AWAITING_CONFIRMATION',
    });
  });

  it('is one approval however often it is repeated, and a refusal for another body', async () => {
    const key = randomUUID();
    const first = unrefused(await world.ask({}, key));
    expect(await world.ask({}, key)).toEqual(first);
    expect(await world.ask({ paymentAmount: 1 }, key)).toMatchObject({
      refused: 'IDEMPOTENCY_KEY_REUSED',
      differingFields: ['paymentAmount'],
    });
    const { events } = await world.store.readLog({ after: '', streamPrefixes: ['approval-'] });
    expect(events).toHaveLength(1);
  });

  it('that was repeated after the amount was changed stays what it was', async () => {
    const [waitingKey, paidKey] = [randomUUID(), randomUUID()];
    const waiting = unrefused(await world.ask({}, waitingKey));
    await world.setAmount(null);
    const paid = unrefused(await world.ask({}, paidKey));
    expect(await world.ask({}, waitingKey)).toEqual(waiting);
    await world.setAmount(0);
    expect(await world.ask({}, paidKey)).toEqual({ ...paid, replayed: true });
    expect(await world.payments()).toHaveLength(1);
  });

  it('waits when the amount was lowered while it was made ready', async () => {
    const { table } = world.options;
    const slow = await approvalWorld({
      table: {
        ...table,
        add: async (row) => {
          await table.add(row);
          await slow.setAmount(amountAbove);
        },
      },
    });
    await slow.setAmount(null);
    expect(await slow.ask()).toEqual(waits);
    expect(await slow.payments()).toEqual([]);
  });

  it.each(['payment', 'approval'] as const)(
    'that is sent twice while the amount changes is one payment, also when the %s comes first',
    async (first) => {
      const key = randomUUID();
      const { store, setAmount, organizationId, ada } = world;
      const at = first === 'payment' ? 'approval-' : 'payment-';
      const { promise: rival, resolve: rivaling } = Promise.withResolvers<unknown>();
      const ask = (approvals: World['approvals']) =>
        approvals.request(
          ...[organizationId, world.requestOf({}), { ...ada, idempotencyKey: key }, by],
        );
      const halted = world.processOn({
        ...store,
        append: async (...given) => {
          if (given[0].startsWith(at)) {
            await setAmount(first === 'payment' ? null : amountAbove);
            rivaling(await ask(world.approvals));
          }
          return store.append(...given);
        },
      });
      await setAmount(first === 'payment' ? amountAbove : null);
      const paid = { status: 'AWAITING_CONFIRMATION', paymentId: expect.any(String) as unknown };
      expect(await ask(halted)).toMatchObject(paid);
      expect(await rival).toMatchObject(first === 'payment' ? paid : waits);
      const [payment = ''] = await world.payments();
      const approval = await world.approvals.get(organizationId, payment.slice('payment-'.length));
      expect(approval).toMatchObject({ status: 'CREATED', decidedBy: null });
    },
  );

  it('whose payment exists is neither rejected nor withdrawn', async () => {
    const key = randomUUID();
    await world.setAmount(null);
    const created = unrefused(await world.ask({}, key));
    if (!('paymentId' in created)) throw new Error('no payment');
    const { paymentId } = created;
    // A process died between the two.
    const data = { ...requestedBy(world), approvalId: paymentId };
    const request = { type: 'RequestApproval', at, data } as const;
    unrefused(await repository(world.store, approvals).create(paymentId, request, by));
    expect(await world.reject(paymentId)).toEqual({ refused: 'APPROVAL_DECIDED' });
    expect(await world.withdraw(paymentId)).toEqual({ refused: 'APPROVAL_DECIDED' });
    expect(unrefused(await world.approvals.get(world.organizationId, paymentId)).status).toBe(
      'CREATED',
    );
  });

  it('that could never be a payment is refused at once', async () => {
    const nobody = { contactId: randomUUID() };
    expect(await world.ask({ recipient: nobody })).toEqual({ refused: 'CONTACT_NOT_FOUND' });
    expect(await world.ask({ originatorId: randomUUID() })).toEqual({
      refused: 'ORIGINATOR_NOT_FOUND',
    });
    expect(await world.ask({ paymentAmount: 99_999_999_999 })).toMatchObject({
      refused: 'INVALID_REQUEST',
    });
    const { events } = await world.store.readLog({ after: '', streamPrefixes: ['approval-'] });
    expect(events).toEqual([]);
  });

  it('has the personal data of its recipient sealed', async () => {
    const approvalId = await world.waiting({ recipient: stranger });
    const [stored] = await world.store.readStream(`approval-${approvalId}`, {
      ...{ from: 0, maxCount: 1, leaveSealed: true },
    });
    expect(JSON.stringify(stored)).not.toMatch(/Grace|Hopper/);
    const read = unrefused(await world.approvals.get(world.organizationId, approvalId));
    expect(read.recipient).toMatchObject(stranger);
  });
});

describe('an approval', () => {
  it('creates exactly the payment that was asked for, which names both people', async () => {
    const contactId = await world.newContact();
    const asked = { direction: 'OUTBOUND', recipient: { contactId }, paymentNote: 'Invoice 7' };
    const approvalId = await world.waiting({ ...asked, externalPaymentId: 'e-7' });
    expect(await world.grant(approvalId)).toMatchObject({
      ...{ status: 'CREATED', requestedBy: world.ada.userId, decidedBy: world.bob.userId },
    });
    expect(await world.stateOf(approvalId)).toMatchObject({
      ...{ status: 'QUEUED', contactId, amountMinor: 10_000, direction: 'OUTBOUND', link: null },
      ...{ paymentNote: 'Invoice 7', externalPaymentId: 'e-7', originatorId: world.originatorId },
      approval: { requestedBy: world.ada.userId, approvedBy: world.bob.userId },
    });
    const [{ metadata } = {}] = await world.store.readStream(`payment-${approvalId}`);
    expect(metadata?.actor).toBe(`user:${world.bob.userId}`);
  });

  it('creates a payment that holds the address of the approver', async () => {
    const { store, organizationId, bob } = world;
    const approvalId = await world.waiting();
    const caller = { owner: `user:${bob.userId}`, address: '203.0.113.77' } as const;
    unrefused(await world.approvals.grant(organizationId, approvalId, bob, { ...by, caller }));
    const events = await store.readStream(`payment-${approvalId}`);
    expect(JSON.stringify(events)).not.toContain(caller.address);
    expect(await openAddresses(store, events)).toEqual([caller]);
  });

  it('creates the payment without the address when nobody can open it any more', async () => {
    const { store, organizationId, bob } = world;
    const approvalId = await world.waiting();
    const caller = { owner: `user:${bob.userId}`, address: '203.0.113.77' } as const;
    const lost: Sealing['openAll'] = (texts) =>
      texts.some(({ owner }) => owner === caller.owner)
        ? Promise.reject(new CannotOpen('the table data_keys has no such key'))
        : world.keyring.openAll(texts);
    const sealing = Object.create(world.keyring, { openAll: { value: lost } }) as Sealing;
    const process = world.processOn({ ...store, sealing });
    unrefused(await process.grant(organizationId, approvalId, bob, { ...by, caller }));
    const events = await store.readStream(`payment-${approvalId}`);
    expect(events).toHaveLength(1);
    expect(await openAddresses(store, events)).toEqual([null]);
  });

  it('creates the link of the user who asked for it, for the recipient of the request', async () => {
    const approvalId = await world.waiting();
    unrefused(await world.grant(approvalId));
    const { recipient } = unrefused(await world.approvals.get(world.organizationId, approvalId));
    expect(await world.stateOf(approvalId)).toMatchObject({
      status: 'AWAITING_CONFIRMATION',
      link: { createdBy: world.ada.userId, counterpartyId: recipient.id, holder: stranger },
    });
  });

  it('is never granted by who asked for it, also not by an administrator', async () => {
    for (const user of [world.bob, world.cleo]) {
      const approvalId = await world.waiting({}, user);
      expect(await world.grant(approvalId, user)).toEqual({ refused: 'OWN_REQUEST' });
      expect(await world.reject(approvalId, user)).toEqual({ refused: 'OWN_REQUEST' });
    }
    expect(await world.payments()).toEqual([]);
  });

  it('is granted by nobody who was disabled or demoted meanwhile, or is of another organization', async () => {
    const approvalId = await world.waiting();
    const eve = await world.newUser('admin', randomUUID());
    const change = (userId: string, command: Parameters<typeof users.decide>[0]) =>
      repository(world.store, users).execute(userId, command, by);
    await change(world.bob.userId, { type: 'DisableUser', at, data: { sparesAdmins: false } });
    await change(world.cleo.userId, {
      type: 'ChangeUserRole',
      at,
      data: { role: 'operator', sparesAdmins: false },
    });
    for (const user of [world.bob, world.cleo, eve, world.ada, { userId: randomUUID() }]) {
      expect(await world.grant(approvalId, user)).toEqual({ refused: 'ROLE_CANNOT_APPROVE' });
      expect(await world.reject(approvalId, user)).toEqual({ refused: 'ROLE_CANNOT_APPROVE' });
    }
    expect(await world.payments()).toEqual([]);
  });

  it('of another organization is unknown', async () => {
    const approvalId = await world.waiting();
    const { approvals, bob, ada } = world;
    const unknown = { refused: 'APPROVAL_NOT_FOUND' };
    expect(await approvals.get(randomUUID(), approvalId)).toEqual(unknown);
    expect(await approvals.withdraw(randomUUID(), approvalId, ada, by)).toEqual(unknown);
    expect(await approvals.grant(world.organizationId, randomUUID(), bob, by)).toEqual(unknown);
  });

  it('is neither rejected nor withdrawn after a failover that may have lost its grant and its payment', async () => {
    let restoredAt: Date | null = new Date(at);
    world = await approvalWorld({ restoredAt: () => Promise.resolve(restoredAt) });
    const approvalId = await world.waiting();
    expect(await world.reject(approvalId)).toEqual({ refused: 'MAY_BE_SUBMITTED' });
    expect(await world.withdraw(approvalId)).toEqual({ refused: 'MAY_BE_SUBMITTED' });
    world.clock.at = new Date(Date.parse(at) + 1).toISOString();
    expect(await world.withdraw(await world.waiting())).toMatchObject({ status: 'WITHDRAWN' });
    expect(await world.grant(approvalId)).toMatchObject({ status: 'CREATED' });
    expect(await world.withdraw(approvalId)).toEqual({ refused: 'APPROVAL_DECIDED' });
    const other = await world.waiting();
    restoredAt = new Date(Date.parse(world.clock.at));
    expect(await world.reject(other)).toEqual({ refused: 'MAY_BE_SUBMITTED' });
    restoredAt = null;
    expect(await world.reject(other)).toMatchObject({ status: 'REJECTED' });
  });

  it('that was rejected, withdrawn or left for seven days creates nothing', async () => {
    const [one, two, three] = [await world.waiting(), await world.waiting(), await world.waiting()];
    expect(await world.reject(one)).toMatchObject({ status: 'REJECTED', reason: 'too much' });
    expect(await world.withdraw(two, world.bob)).toEqual({ refused: 'NOT_OWN_REQUEST' });
    expect(await world.withdraw(two)).toMatchObject({ status: 'WITHDRAWN' });
    for (const id of [one, two])
      expect(await world.grant(id, world.cleo)).toEqual({ refused: 'APPROVAL_DECIDED' });
    world.clock.at = new Date(Date.parse(at) + approvalLifetimeMs).toISOString();
    expect(await world.grant(three)).toEqual({ refused: 'APPROVAL_EXPIRED' });
    expect(await world.payments()).toEqual([]);
  });

  it('stays needed when the amount is lowered or taken back', async () => {
    const approvalId = await world.waiting();
    await world.setAmount(null);
    expect(await world.grant(approvalId, world.ada)).toEqual({ refused: 'ROLE_CANNOT_APPROVE' });
    expect(await world.grant(approvalId)).toMatchObject({ status: 'CREATED' });
  });

  it.each([
    ['INBOUND', 'credits'],
    ['OUTBOUND', 'debits'],
  ])('of an %s payment holds for the account of the originator that it %s', async (direction) => {
    const { organizationId, originatorId } = world;
    const originators = new OriginatorDirectory(world.options);
    const asked = { direction, recipient: { contactId: await world.newContact() } };
    const patched = async (bankAccount: object) => {
      const approvalId = await world.waiting(asked);
      unrefused(await originators.update(organizationId, originatorId, { bankAccount }, by));
      return world.grant(approvalId);
    };
    const other = { ...account, swiftCode: null, achAccountNumber: '999888777666' };
    expect(await patched(other)).toMatchObject({
      status: 'REFUSED',
      refusal: { refused: 'ORIGINATOR_CHANGED', problems: [] },
    });
    expect(await world.payments()).toEqual([]);
    // Sealed anew, it is the same account.
    expect(await patched(other)).toMatchObject({ status: 'CREATED' });
  });

  it('that an earlier release requested creates its payment whatever the account of the originator', async () => {
    const { organizationId, originatorId } = world;
    const originators = new OriginatorDirectory(world.options);
    const approvalId = randomUUID();
    const request = { type: 'RequestApproval', at, data: { ...requestedBy(world), approvalId } };
    unrefused(await repository(world.store, approvals).create(approvalId, request as never, by));
    const bankAccount = { ...account, swiftCode: null, achAccountNumber: '999888777666' };
    unrefused(await originators.update(organizationId, originatorId, { bankAccount }, by));
    expect(await world.grant(approvalId)).toMatchObject({ status: 'CREATED' });
  });

  it('shows why no payment could be created: a limit, the contact, its name or its account', async () => {
    const { organizationId, store, directory } = world;
    const contactId = await world.newContact();
    const sent = { direction: 'OUTBOUND', recipient: { contactId } };
    const patched = async (patch: object) => {
      const approvalId = await world.waiting(sent);
      unrefused(await directory.update(organizationId, contactId, patch, by));
      return world.grant(approvalId);
    };
    const changed = {
      status: 'REFUSED',
      refusal: { refused: 'RECIPIENT_CHANGED', problems: [] },
    };
    const other = { ...account, swiftCode: null, achAccountNumber: '999888777666' };
    expect(await patched({ bankAccount: other })).toMatchObject(changed);
    expect(await patched({ lastName: 'Byron' })).toMatchObject(changed);
    expect(await patched({ email: 'new@example.com' })).toMatchObject({ status: 'CREATED' });
    expect(await patched({ bankAccount: null })).toMatchObject(changed);
    const limited = await world.waiting();
    unrefused(await setOrganizationRails({ store, by }, organizationId, { limits: { ACH: 1 } }));
    expect(await world.grant(limited)).toMatchObject({
      status: 'REFUSED',
      refusal: {
        refused: 'INVALID_REQUEST',
        problems: [{ field: 'paymentAmount', issue: 'validation_max' }],
      },
    });
    expect(await world.payments()).toHaveLength(1);
  });

  it('of somebody who was erased creates nothing', async () => {
    const unsaved = await world.waiting();
    const { recipient } = unrefused(await world.approvals.get(world.organizationId, unsaved));
    await world.keyring.destroy([ownerOf.contact(recipient.id)]);
    expect(await world.grant(unsaved)).toEqual({ refused: 'PARTY_ERASED' });
    await world.approvals.end(unsaved, by);
    await world.approvals.end(unsaved, by);
    const read = unrefused(await world.approvals.get(world.organizationId, unsaved));
    expect(read).toMatchObject({ status: 'ENDED', recipient: { erased: true, firstName: null } });
    expect(await world.payments()).toEqual([]);
  });
});
