import { randomUUID } from 'node:crypto';
import {
  collection as collections,
  originator as originators,
  payment as payments,
} from '@pis/domain';
import { later } from '@pis/domain/testing';
import { repository } from '@pis/event-store';
import { KeyDestroyed, ownerOf } from '@pis/keyring';
import { by, completed, order, overriding, transfersIn, setUp } from './testing/erasure-world.js';
import { unrefused } from './use-case.js';

describe('erasing a contact', () => {
  it('destroys its keys, frees its identity, and leaves nothing to pay or change', async () => {
    const { newContact, newPayment, erasureOn, here, destroyed, organizationId } = await setUp();
    const contactId = await newContact();
    await newPayment(contactId, ...completed);
    const erased = await erasureOn().erase(overriding(contactId), by);
    expect(erased).toMatchObject({ id: contactId, alreadyErased: false });
    expect([...destroyed]).toEqual([ownerOf.contact(contactId)]);
    expect(await here.pay(contactId)).toEqual({ refused: 'CONTACT_NOT_FOUND' });
    const patch = { firstName: 'Eve' };
    expect(await here.directory.update(organizationId, contactId, patch, by)).toEqual({
      refused: 'CONTACT_NOT_FOUND',
    });
    const anew = unrefused(await here.create());
    expect(anew.contactId).not.toBe(contactId);
  });

  it('leaves the Idempotency-Keys of its payments as they are', async () => {
    const { newContact, erasureOn, here, originatorId, store } = await setUp();
    const contactId = await newContact();
    const texts = { paymentNote: 'Invoice 7', externalPaymentId: 'inv-7' };
    const pay = (changes: object = {}) =>
      here.pay(contactId, originatorId, { key: 'order-7', ...texts, ...changes });
    const { paymentId } = unrefused(await pay());
    for (const command of completed)
      unrefused(await repository(store, payments).execute(paymentId, command, by));
    await erasureOn().erase(overriding(contactId), by);
    expect(await pay()).toEqual({ paymentId, replayed: true });
    expect(await pay({ paymentAmount: 1_001 })).toEqual({
      ...{ refused: 'IDEMPOTENCY_KEY_REUSED', paymentId },
      differingFields: ['paymentAmount'],
    });
    expect(await pay({ key: 'order-8' })).toEqual({ refused: 'CONTACT_NOT_FOUND' });
  });

  it('is refused while a payment is not final, without a trace in the stream of the contact', async () => {
    const { newContact, newPayment, erasureOn, here, store } = await setUp();
    const contactId = await newContact();
    const paymentId = await newPayment(contactId);
    expect(await erasureOn().erase(overriding(contactId), by)).toEqual({
      refused: 'PAYMENTS_NOT_FINAL',
      transfer: 'payment',
      count: 1,
      paymentId,
    });
    expect(await store.readStream(`contact-${contactId}`)).toHaveLength(1);
    unrefused(await here.pay(contactId));
  });

  it('is refused until the retention period of its last payment has ended, unless that is overridden', async () => {
    const { newContact, newPayment, erasureOn } = await setUp();
    const contactId = await newContact();
    await newPayment(contactId, ...completed);
    expect(await erasureOn().erase(order(contactId), by)).toEqual({
      refused: 'RETENTION_RUNNING',
      until: '2033-11-21T09:00:00.000Z',
      retentionYears: 7,
    });
    const unkept = erasureOn({ defaultRetentionYears: 0 });
    expect(await unkept.erase(order(contactId), by)).toMatchObject({ retentionYears: 0 });
  });

  it('decides by the clock that it is given whether the retention period has ended', async () => {
    const { newContact, newPayment, erasureOn } = await setUp();
    const contactId = await newContact();
    await newPayment(contactId, ...completed);
    const eraseAt = (time: string) =>
      erasureOn({ clock: () => Promise.resolve(new Date(time)) }).erase(order(contactId), by);
    expect(await eraseAt('2033-11-21T08:59:59.999Z')).toMatchObject({
      refused: 'RETENTION_RUNNING',
    });
    expect(await eraseAt('2033-11-21T09:00:00.000Z')).toMatchObject({ alreadyErased: false });
  });

  it('records who asked for it, why, and that the retention period was overridden', async () => {
    const { newContact, erasureOn, store } = await setUp();
    const contactId = await newContact();
    await erasureOn().erase(overriding(contactId), by);
    const events = await store.readStream(`contact-${contactId}`);
    expect(events.map(({ type }) => type)).toEqual([
      'ContactCreated',
      'ContactErasureRequested',
      'ContactErasureConfirmed',
      'ContactErased',
    ]);
    expect(events[1]?.data).toEqual({
      reason: 'asked by letter',
      by: 'user:cli:ada',
      overridesRetention: true,
      requestId: expect.any(String),
    });
  });

  it('can be repeated, and refuses an unknown ID', async () => {
    const { newContact, erasureOn, destroyed, store } = await setUp();
    const contactId = await newContact();
    const first = unrefused(await erasureOn().erase(order(contactId), by));
    destroyed.clear();
    const again = unrefused(await erasureOn().erase(order(contactId), by));
    expect(again).toEqual({ ...first, alreadyErased: true, retentionYears: null });
    expect([...destroyed]).toEqual([ownerOf.contact(contactId)]);
    expect(await store.readStream(`contact-${contactId}`)).toHaveLength(4);
    const id = randomUUID();
    expect(await erasureOn().erase(order(id), by)).toEqual({
      refused: 'PARTY_NOT_FOUND',
      kind: 'contact',
      id,
    });
  });
});

describe('a request that began before the erasure', () => {
  it('is answered as for an unknown contact when nothing can be sealed for the contact any more', async () => {
    const { newContact, processOn, store } = await setUp();
    const contactId = await newContact();
    const append = () => Promise.reject(new KeyDestroyed(ownerOf.contact(contactId)));
    const late = processOn({ ...store, append });
    expect(await late.pay(contactId)).toEqual({ refused: 'CONTACT_NOT_FOUND' });
  });

  it('creates its payment, and then the erasure is withdrawn', async () => {
    const { newContact, erasureOn, processOn, store, contactState, here } = await setUp();
    const contactId = await newContact();
    const { promise: mayAppend, resolve: letAppend } = Promise.withResolvers<undefined>();
    const { promise: hasRead, resolve: read } = Promise.withResolvers<undefined>();
    const slow = processOn({
      ...store,
      append: async (...args) => {
        read(undefined);
        await mayAppend;
        return store.append(...args);
      },
    });
    const paying = slow.pay(contactId);
    await hasRead;
    const erasure = erasureOn({
      pause: async () => {
        letAppend(undefined);
        await paying;
      },
    });
    const { paymentId } = unrefused(
      await erasure.erase(order(contactId), by).then(async (r) => {
        expect(r).toMatchObject({ refused: 'PAYMENTS_NOT_FINAL', count: 1 });
        return paying;
      }),
    );
    expect((await contactState(contactId))?.erasure).toBeNull();
    expect(await store.readStream(`payment-${paymentId}`)).toHaveLength(1);
    unrefused(await here.pay(contactId));
  });

  it('cannot change the contact: it finds the request first', async () => {
    const { newContact, erasureOn, processOn, store, organizationId } = await setUp();
    const contactId = await newContact();
    let erased = false;
    const slow = processOn({
      ...store,
      append: async (...args) => {
        if (args[0] === `contact-${contactId}` && !erased) {
          erased = true;
          unrefused(await erasureOn().erase(order(contactId), by));
        }
        return store.append(...args);
      },
    });
    const patch = { firstName: 'Augusta', email: 'augusta@example.com' };
    const updated = await slow.directory.update(organizationId, contactId, patch, by);
    expect(updated).toEqual({ refused: 'CONTACT_NOT_FOUND' });
    // The identity that it had reserved is free too.
    unrefused(await slow.create(patch));
  });
});

describe('a payment that comes after the check', () => {
  it('keeps the keys until an executor has failed it', async () => {
    const { newContact, newPayment, erasureOn, processOn, store, destroyed, contactState } =
      await setUp();
    const contactId = await newContact();
    await newPayment(contactId, ...completed);
    const { promise: mayAppend, resolve: letAppend } = Promise.withResolvers<undefined>();
    const { promise: hasRead, resolve: read } = Promise.withResolvers<undefined>();
    const slow = processOn({
      ...store,
      append: async (...args) => {
        read(undefined);
        await mayAppend;
        return store.append(...args);
      },
    });
    const paying = slow.pay(contactId);
    await hasRead;
    let late = '';
    const lists = transfersIn(store);
    let checks = 0;
    const erasure = erasureOn({
      listWaitMaxMs: 60_000,
      transfers: {
        ...lists,
        async open(party) {
          const open = await lists.open(party);
          checks += 1;
          // After the check of the request, its append takes effect at last.
          if (checks === 2) {
            letAppend(undefined);
            late = unrefused(await paying).paymentId;
          }
          return open;
        },
      },
      pause: async () => {
        if (late === '') return;
        expect([...destroyed]).toEqual([]);
        const fail = { failureCode: 'INVALID_CONTACT_DATA', failureMessage: 'm' } as const;
        const data = { ...fail, failureReason: 'm' };
        const command = { type: 'FailPayment', at: later, data } as const;
        await repository(store, payments).execute(late, command, by);
        late = '';
      },
    });
    unrefused(await erasure.erase(overriding(contactId), by));
    expect(checks).toBeGreaterThan(3);
    expect((await contactState(contactId))?.erasure).toBe('erased');
  });

  it('leaves the erasure confirmed and the keys there while it is not final', async () => {
    const { newContact, newPayment, erasureOn, store, destroyed, contactState } = await setUp();
    const contactId = await newContact();
    const paymentId = await newPayment(contactId);
    const lists = transfersIn(store);
    const unseen = { ...lists, open: async () => null };
    // The run dies before it looks for late payments.
    let notices = 0;
    const dying = erasureOn({
      transfers: unseen,
      notify: async () => {
        notices += 1;
        if (notices > 1) throw new Error('the process died');
      },
    });
    await expect(dying.erase(overriding(contactId), by)).rejects.toThrow('died');
    expect(await erasureOn().erase(overriding(contactId), by)).toEqual({
      refused: 'LATE_PAYMENT_NOT_FINAL',
      transfer: 'payment',
      paymentId,
    });
    expect([...destroyed]).toEqual([]);
    expect((await contactState(contactId))?.erasure).toBe('confirmed');
    for (const command of completed)
      unrefused(await repository(store, payments).execute(paymentId, command, by));
    unrefused(await erasureOn().erase(overriding(contactId), by));
  });
});

describe('what executors are told', () => {
  it('is durable before the payments are checked, and again before the keys are destroyed', async () => {
    const { newContact, erasureOn, store, notices } = await setUp();
    const contactId = await newContact();
    const order: string[] = [];
    const lists = transfersIn(store);
    await erasureOn({
      notify: async (party) => {
        notices.push(party);
        order.push(`notice ${party.phase ?? ''}`);
      },
      transfers: {
        ...lists,
        haveReached: async () => order.push('list') > 0,
        open: async (party) => {
          order.push('check');
          return lists.open(party);
        },
      },
      destroyKeys: async () => void order.push('destroy'),
    }).erase(overriding(contactId), by);
    expect(order).toEqual([
      'check',
      'notice requested',
      'list',
      'check',
      'notice confirmed',
      'list',
      'check',
      'destroy',
    ]);
    const positions = (await store.readStream(`contact-${contactId}`)).map((e) => e.position);
    expect(notices.map(({ position }) => position)).toEqual(positions.slice(1, 3));
  });
});

describe('two runs at the same time', () => {
  it('leave the request of the other one alone, and only the later one confirms', async () => {
    const { newContact, newPayment, erasureOn, store, contactState } = await setUp();
    const contactId = await newContact();
    await newPayment(contactId, ...completed);
    const second = erasureOn();
    let result: unknown;
    const first = erasureOn({
      pause: async () => {
        // It is refused for the retention period, and withdraws what it has requested itself.
        result ??= await second.erase(order(contactId), by);
      },
    });
    expect(await first.erase(overriding(contactId), by)).toEqual({
      refused: 'ERASURE_INTERRUPTED',
      kind: 'contact',
      id: contactId,
    });
    expect(result).toMatchObject({ refused: 'RETENTION_RUNNING' });
    expect((await contactState(contactId))?.erasure).toBeNull();
    const types = (await store.readStream(`contact-${contactId}`)).map(({ type }) => type);
    expect(types).toEqual([
      'ContactCreated',
      'ContactErasureRequested',
      'ContactErasureRequested',
      'ContactErasureWithdrawn',
    ]);
  });

  it('the later one does not confirm what the earlier one has waited for', async () => {
    const { newContact, erasureOn, contactState, destroyed } = await setUp();
    const contactId = await newContact();
    let asked = false;
    const dyingSecond = erasureOn({ notify: () => Promise.reject(new Error('away')) });
    const first = erasureOn({
      pause: async () => {
        if (asked) return;
        asked = true;
        await dyingSecond.erase(overriding(contactId), by).catch(() => undefined);
      },
    });
    expect(await first.erase(overriding(contactId), by)).toMatchObject({
      refused: 'ERASURE_INTERRUPTED',
    });
    expect((await contactState(contactId))?.erasure).toBeNull();
    expect([...destroyed]).toEqual([]);
  });
});

describe('erasing an originator', () => {
  const dana = {
    entityType: 'INDIVIDUAL',
    firstName: 'Dana',
    lastName: 'Demo',
    email: 'd@d.example',
  };

  it('is refused for a business', async () => {
    const { originatorId, erasureOn } = await setUp();
    const business = order(originatorId, { kind: 'originator' });
    expect(await erasureOn().erase(business, by)).toEqual({
      refused: 'PARTY_IS_BUSINESS',
      kind: 'originator',
      id: originatorId,
    });
  });

  it('is refused while a collection of its fees is not final, and while its retention period runs', async () => {
    const { newOriginator, newCollection, erasureOn, store, destroyed } = await setUp();
    const danaId = await newOriginator(dana);
    const collectionId = await newCollection(danaId);
    const orderOfDana = { kind: 'originator', overridesRetention: true } as const;
    expect(await erasureOn().erase(order(danaId, orderOfDana), by)).toEqual({
      refused: 'PAYMENTS_NOT_FINAL',
      transfer: 'collection',
      count: 1,
      paymentId: collectionId,
    });
    expect(destroyed.size).toBe(0);
    for (const command of completed)
      unrefused(await repository(store, collections).execute(collectionId, command, by));
    const kept = await erasureOn().erase(order(danaId, { kind: 'originator' }), by);
    expect(kept).toMatchObject({ refused: 'RETENTION_RUNNING' });
    unrefused(await erasureOn().erase(order(danaId, orderOfDana), by));
  });

  it('leaves nothing to use or change, and its contacts as they are', async () => {
    const world = await setUp();
    const { newOriginator, newContact, erasureOn, here, store, destroyed, organizationId } = world;
    const danaId = await newOriginator(dana);
    const contactId = await newContact({ originatorId: danaId });
    unrefused(await erasureOn().erase(order(danaId, { kind: 'originator' }), by));
    expect(await world.contactState(contactId)).toMatchObject({ firstName: 'Ada', erasure: null });
    expect(destroyed.has(ownerOf.originator(danaId))).toBe(true);
    // The records of banks hold under this key what a collection of its fees has sent.
    expect(destroyed.has(ownerOf.contact(danaId))).toBe(true);
    const { state } = await repository(store, originators).load(danaId);
    expect(state).toMatchObject({ firstName: null, bankAccount: null, erased: true });
    expect(await here.pay(contactId, danaId)).toEqual({ refused: 'ORIGINATOR_NOT_FOUND' });
    expect(await here.create({ originatorId: danaId })).toEqual({
      refused: 'ORIGINATOR_NOT_FOUND',
    });
    const patch = { firstName: 'Eve' };
    expect(await here.originatorDirectory.update(organizationId, danaId, patch, by)).toEqual({
      refused: 'ORIGINATOR_NOT_FOUND',
    });
  });
});
