import { randomUUID } from 'node:crypto';
import { contact as contacts, type Payment, payment as payments } from '@pis/domain';
import { beginning, type EventStore, repository } from '@pis/event-store';
import { type Owner, ownerOf } from '@pis/keyring';
import type { ErasableParty } from './party-stream.js';
import {
  at,
  by,
  completed,
  type Deps,
  overriding,
  transfersIn,
  setUp,
} from './testing/erasure-world.js';
import { unrefused } from './use-case.js';

/** Calls of the erasure's parts, of which one fails: before it does its work, or after. */
function failing(deps: Deps, failAt: number, when: 'before' | 'after') {
  let calls = 0;
  const call = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    calls += 1;
    if (calls !== failAt) return work();
    if (when === 'after') await work();
    throw new Error('the process died');
  };
  const { store, transfers: of, destroyKeys } = deps;
  return {
    get isOver() {
      return calls < failAt;
    },
    deps: {
      store: {
        ...store,
        append: (...args: Parameters<EventStore['append']>) => call(() => store.append(...args)),
        readStream: (...args: Parameters<EventStore['readStream']>) =>
          call(() => store.readStream(...args)),
      },
      transfers: {
        haveReached: (...given: Parameters<typeof of.haveReached>) =>
          call(() => of.haveReached(...given)),
        open: (party: ErasableParty) => call(() => of.open(party)),
        lastFinalAt: (party: ErasableParty) => call(() => of.lastFinalAt(party)),
      },
      notify: () => call(() => Promise.resolve()),
      destroyKeys: (owners: readonly Owner[]) => call(() => destroyKeys(owners)),
      pause: () => call(() => Promise.resolve()),
    },
  };
}

describe.each(['before', 'after'] as const)('an erasure that dies %s any of its calls', (when) => {
  it('ends with an erased contact when it is run again', async () => {
    for (let failAt = 1; ; failAt += 1) {
      const {
        newContact,
        newPayment,
        erasureOn,
        destroyed,
        destroyKeys,
        contactState,
        here,
        store,
      } = await setUp();
      const contactId = await newContact();
      await newPayment(contactId, ...completed);
      const run = failing(depsOf(store, destroyKeys), failAt, when);
      await erasureOn(run.deps)
        .erase(overriding(contactId), by)
        .catch(() => undefined);
      if (run.isOver) return expect(failAt).toBeGreaterThan(15);
      unrefused(await erasureOn().erase(overriding(contactId), by));
      expect((await contactState(contactId))?.erasure).toBe('erased');
      expect(destroyed.has(ownerOf.contact(contactId))).toBe(true);
      expect(await here.pay(contactId)).toEqual({ refused: 'CONTACT_NOT_FOUND' });
      unrefused(await here.create());
    }
  });

  it('ends with a contact as it was, when a payment turns up meanwhile and it is run again', async () => {
    for (let failAt = 1; ; failAt += 1) {
      const {
        newContact,
        newPayment,
        erasureOn,
        destroyed,
        destroyKeys,
        contactState,
        here,
        store,
      } = await setUp();
      const contactId = await newContact();
      await newPayment(contactId, ...completed);
      const run = failing(depsOf(store, destroyKeys), failAt, when);
      let hasPaid = false;
      const slippingIn = {
        ...run.deps,
        pause: async () => {
          if (!hasPaid) {
            hasPaid = true;
            const { state } = await repository(store, contacts).load(contactId);
            if (state === null) throw new Error('the contact is not there');
            const paid = await repository(store, payments).create(
              randomUUID(),
              { type: 'QueuePayment', at, data: detailsLike(await firstPayment(store)) },
              by,
            );
            unrefused(paid);
          }
          await run.deps.pause();
        },
      };
      await erasureOn(slippingIn)
        .erase(overriding(contactId), by)
        .catch(() => undefined);
      if (run.isOver) return expect(failAt).toBeGreaterThan(8);
      if (!hasPaid) continue;
      const again = await erasureOn().erase(overriding(contactId), by);
      expect(again).toMatchObject({ refused: 'PAYMENTS_NOT_FINAL' });
      expect((await contactState(contactId))?.erasure).toBeNull();
      expect(destroyed.size).toBe(0);
      unrefused(await here.pay(contactId));
    }
  });
});

function depsOf(store: EventStore, destroyKeys: Deps['destroyKeys']): Deps {
  const transfers = transfersIn(store);
  const notify = () => Promise.resolve();
  const waits = { settleMs: 0, keysInUseMs: 0, listWaitMaxMs: 0 };
  return { store, transfers, notify, destroyKeys, defaultRetentionYears: 7, ...waits };
}

async function firstPayment(store: EventStore): Promise<Payment> {
  const { events } = await store.readLog({ after: beginning, streamPrefixes: ['payment-'] });
  const { state } = await repository(store, payments).load(
    events[0]?.streamId.slice('payment-'.length) ?? '',
  );
  if (state === null) throw new Error('there is no payment');
  return state;
}

/** Another payment of the same parties. */
function detailsLike(payment: Payment) {
  return { ...payment, paymentId: randomUUID(), idempotencyKey: randomUUID() };
}
