import { defaultCutoffs, sandboxDirectory as banks } from '@pis/bank-rails';
import { paymentRails, paymentStatuses } from '@pis/domain';
import { type EventStore, memoryEventStore, sealedStore, StreamStates } from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import { ContactDirectory } from './contact-directory.js';
import { bootstrapDemoOrganization } from './demo-organization.js';
import { demoPayments } from './demo-payments.data.js';
import { demoPaymentsSettled, playDemoPayments } from './demo-payments.js';
import { PaymentLinks } from './payment-links/payment-links.js';
import { memoryTables, paymentIn } from './testing/link-world.js';

const keyring = testKeyring();

/** A start of the sandbox, up to its key, on a store that may die. */
function starter() {
  const lasting = sealedStore(memoryEventStore(), keyring);
  const { table, log: accesses } = memoryTables();
  const start = async (store: EventStore = lasting, clock = () => new Date().toISOString()) => {
    const rails = { connectedRails: paymentRails, cutoffs: defaultCutoffs };
    const ownWrites = { note: () => undefined };
    const options = {
      ...{ store, keyring, banks, rails, ownWrites, states: new StreamStates() },
      ...{ table, accesses, publicUrl: '' },
    };
    let paymentIds: readonly string[] | null = null;
    const { apiKey } = await bootstrapDemoOrganization({
      ...{ store, keyring, banks, environment: 'sandbox' },
      beforeKey: async ({ organizationId, originatorIds: [, originatorId = ''] }) => {
        paymentIds = await playDemoPayments({
          ...{ store, organizationId, originatorId },
          contacts: new ContactDirectory(options),
          links: new PaymentLinks({ ...options, clock }),
        });
      },
    });
    return { apiKey, paymentIds: paymentIds as readonly string[] | null };
  };
  return { store: lasting, start };
}

const typesIn = async (store: EventStore) => {
  const { events } = await store.readLog({ after: '', pageMax: 1_000 });
  return events.map(({ type }) => type).toSorted();
};

it('there is a payment for every status, in both directions', () => {
  const all = new Set(demoPayments.map(({ endsIn }) => endsIn));
  expect([...all].toSorted()).toEqual(paymentStatuses.toSorted());
  expect(new Set(demoPayments.map(({ direction }) => direction)).size).toBe(2);
  expect(new Set(demoPayments.map(({ name }) => name)).size).toBe(demoPayments.length);
});

it('the commands leave each payment where the simulated bank takes over', async () => {
  const { store, start } = starter();
  const { paymentIds } = await start();
  const found = await Promise.all((paymentIds ?? []).map((id) => paymentIn(store, id)));
  expect(found.map(({ status }) => status)).toEqual(
    demoPayments.map(({ endsIn }) =>
      endsIn === 'CANCELED' || endsIn === 'AWAITING_CONFIRMATION' ? endsIn : 'QUEUED',
    ),
  );
  const simulation = { simulate: () => Promise.reject(new Error('none is PROCESSING')) };
  const organizationId = '00000000-0000-4000-8000-00000000de00';
  const settling = { store, simulation, organizationId };
  expect(await demoPaymentsSettled(settling, paymentIds ?? [])).toBe(false);
});

it('a start that was cut off at any step is completed by the next one, and nothing is made twice', async () => {
  const whole = starter();
  await whole.start();
  const wanted = await typesIn(whole.store);
  for (let appends = 0; appends < wanted.length; appends += 1) {
    const { store, start } = starter();
    await expect(start(dyingAfter(store, appends))).rejects.toThrow('died');
    const { apiKey, paymentIds } = await start();
    expect(apiKey).not.toBeNull();
    expect(paymentIds).toHaveLength(demoPayments.length);
    expect(await typesIn(store)).toEqual(wanted);
  }
});

it('a start that goes on after the links have expired leaves their payments as they are', async () => {
  const { store, start } = starter();
  const submits = demoPayments.flatMap(({ recipient }) =>
    'asked' in recipient && recipient.answer.type === 'submits' ? [recipient] : [],
  );
  const dying: EventStore = {
    ...store,
    append: async (...args) => {
      const isSubmission = args[1] === 0 && args[2].some(({ type }) => type === 'PaymentQueued');
      if (isSubmission) throw new Error('died');
      return store.append(...args);
    },
  };
  await expect(start(dying)).rejects.toThrow('died');
  const later = new Date(Date.now() + 31 * 24 * 60 * 60 * 1000).toISOString();
  const { apiKey, paymentIds } = await start(store, () => later);
  expect(apiKey).not.toBeNull();
  const found = await Promise.all((paymentIds ?? []).map((id) => paymentIn(store, id)));
  const waiting = demoPayments.filter(({ endsIn }) => endsIn === 'AWAITING_CONFIRMATION');
  expect(found.filter(({ status }) => status === 'AWAITING_CONFIRMATION')).toHaveLength(
    submits.length + waiting.length,
  );
});

it('a data directory that has a key already gets none', async () => {
  const { store, start } = starter();
  await start();
  const events = await typesIn(store);
  expect(await start()).toEqual({ apiKey: null, paymentIds: null });
  expect(await typesIn(store)).toEqual(events);
});

/** The process that uses it dies when it wants to append once more than `appends` times. */
function dyingAfter(store: EventStore, appends: number): EventStore {
  let left = appends;
  return {
    ...store,
    append: async (...args) => {
      left -= 1;
      if (left < 0) throw new Error('died');
      return store.append(...args);
    },
  };
}
