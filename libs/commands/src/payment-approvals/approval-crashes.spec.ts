/** What a process leaves that dies while it creates the payment of an approval, and who goes on with it. */
import { type EventStore, StoreUnavailable } from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { approvalWorld } from '../testing/approval-world.js';
import { by } from '../testing/link-world.js';
import { unrefused } from '../use-case.js';

type World = Awaited<ReturnType<typeof approvalWorld>>;
let world: World;
beforeEach(async () => {
  world = await approvalWorld();
});

describe('a process that dies', () => {
  /** A store that goes away before or after it has appended an event of this type. */
  const dyingAt = (store: EventStore, type: string, when: 'before' | 'after'): EventStore => ({
    ...store,
    append: async (stream, expected, events) => {
      const isIt = events.some((event) => event.type === type);
      if (isIt && when === 'before') throw new StoreUnavailable('killed');
      const appended = await store.append(stream, expected, events);
      if (isIt) throw new StoreUnavailable('killed');
      return appended;
    },
  });

  describe.each(['before', 'after'] as const)('%s it records', (when) => {
    it.each(['PaymentAwaitingConfirmation', 'ApprovedPaymentCreated'])(
      '%s leaves one payment and the note of it to the next one',
      async (type) => {
        const approvalId = await world.waiting();
        const dying = world.processOn(dyingAt(world.store, type, when));
        const { organizationId, bob } = world;
        const granted = await dying.grant(organizationId, approvalId, bob, by);
        expect(granted).toMatchObject({ status: 'GRANTED' });
        const isCreated = type === 'ApprovedPaymentCreated' || when === 'after';
        expect(await world.payments()).toHaveLength(isCreated ? 1 : 0);
        for (let times = 1; times <= 2; times += 1)
          expect(await world.approvals.settle(approvalId)).toMatchObject({ status: 'CREATED' });
        expect(await world.payments()).toEqual([`payment-${approvalId}`]);
      },
    );

    it('ApprovalGranted leaves an approval that can be granted, or is', async () => {
      const approvalId = await world.waiting();
      const dying = world.processOn(dyingAt(world.store, 'ApprovalGranted', when));
      const granting = dying.grant(world.organizationId, approvalId, world.bob, by);
      await expect(granting).rejects.toThrow('killed');
      // Granted again, it is left to the one who settles what was left.
      const status = when === 'before' ? 'CREATED' : 'GRANTED';
      expect(await world.grant(approvalId)).toMatchObject({ status });
      expect(await world.approvals.settle(approvalId)).toMatchObject({ status: 'CREATED' });
      expect(await world.payments()).toEqual([`payment-${approvalId}`]);
    });
  });

  it('after a payment that came late leaves a refusal, which the next one corrects', async () => {
    const { store, organizationId, directory, approvals: others, bob } = world;
    const contactId = await world.newContact();
    const approvalId = await world.waiting({ direction: 'OUTBOUND', recipient: { contactId } });
    const halted = world.processOn({
      ...store,
      append: async (...given) => {
        if (!given[0].startsWith('payment-')) return store.append(...given);
        // The repository asks again.
        if ((await world.payments()).length > 0) throw new StoreUnavailable('killed');
        unrefused(await directory.update(organizationId, contactId, { lastName: 'Byron' }, by));
        expect(await others.settle(approvalId)).toMatchObject({ status: 'REFUSED' });
        await store.append(...given);
        throw new StoreUnavailable('killed');
      },
    });
    await halted.grant(organizationId, approvalId, bob, by);
    const status = async () => unrefused(await others.get(organizationId, approvalId)).status;
    expect([await status(), await world.payments()]).toEqual([
      'REFUSED',
      [`payment-${approvalId}`],
    ]);
    expect(await others.settle(approvalId)).toMatchObject({ status: 'CREATED', refusal: null });
  });

  it('leaves no refusal of its payment, although the request was repeated and the contact changed', async () => {
    const contactId = await world.newContact();
    const approvalId = await world.waiting({ direction: 'OUTBOUND', recipient: { contactId } });
    const { store, organizationId } = world;
    const meanwhile = async () => {
      const patch = { lastName: 'Byron' };
      unrefused(await world.directory.update(organizationId, contactId, patch, by));
      expect(await world.grant(approvalId)).toMatchObject({ status: 'GRANTED' });
    };
    const first = world.processOn(
      dyingAt(
        {
          ...store,
          append: async (stream, expected, events) => {
            if (stream.startsWith('payment-')) await meanwhile();
            return store.append(stream, expected, events);
          },
        },
        'ApprovedPaymentCreated',
        'before',
      ),
    );
    unrefused(await first.grant(organizationId, approvalId, world.bob, by));
    expect(await world.payments()).toEqual([`payment-${approvalId}`]);
    expect(await world.approvals.settle(approvalId)).toMatchObject({ status: 'CREATED' });
  });

  it('before it notes the payment leaves one that is noted although the recipient was erased', async () => {
    const approvalId = await world.waiting();
    const dying = world.processOn(dyingAt(world.store, 'ApprovedPaymentCreated', 'before'));
    unrefused(await dying.grant(world.organizationId, approvalId, world.bob, by));
    const { recipient } = unrefused(await world.approvals.get(world.organizationId, approvalId));
    await world.keyring.destroy([ownerOf.contact(recipient.id)]);
    expect(await world.approvals.settle(approvalId)).toMatchObject({ status: 'CREATED' });
  });

  it('leaves no second payment when many settle at once', async () => {
    const approvalId = await world.waiting();
    const processes = Array.from({ length: 5 }, () => world.processOn(world.store));
    const dying = world.processOn(dyingAt(world.store, 'PaymentAwaitingConfirmation', 'before'));
    unrefused(await dying.grant(world.organizationId, approvalId, world.bob, by));
    await Promise.all(processes.map((one) => one.settle(approvalId)));
    expect(await world.payments()).toEqual([`payment-${approvalId}`]);
    const stream = await world.store.readStream(`approval-${approvalId}`);
    expect(stream.map(({ type }) => type)).toEqual([
      'ApprovalRequested',
      'ApprovalGranted',
      'ApprovedPaymentCreated',
    ]);
    expect(await world.store.readStream(`payment-${approvalId}`)).toHaveLength(1);
  });
});
