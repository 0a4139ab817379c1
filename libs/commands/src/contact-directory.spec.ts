import { randomUUID } from 'node:crypto';
import { sandboxDirectory as banks } from '@pis/bank-rails';
import { type ContactCreateRequest, contactCreateSchema, validate } from '@pis/contracts';
import { type Contact, contact as contacts, contactIdentity as identities } from '@pis/domain';
import {
  type EventStore,
  memoryEventStore,
  repository,
  sealedStore,
  StreamStates,
  systemContext,
} from '@pis/event-store';
import { testKeyring } from '@pis/keyring/testing';
import { ContactDirectory } from './contact-directory.js';
import { createOrganization, createOriginator } from './provisioning.js';
import { unrefused } from './use-case.js';

const by = systemContext('test');
const keyring = testKeyring();
const ownWrites = { note: () => undefined };
const bankAccount = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
} as const;

async function setUp() {
  const store = sealedStore(memoryEventStore(), keyring);
  const { organizationId } = unrefused(await createOrganization({ store, by }, { name: 'Acme' }));
  const input = { entityType: 'BUSINESS', companyName: 'Acme', email: 'a@b.example', bankAccount };
  const options = { organizationId, input, keyring, banks };
  const { originatorId } = unrefused(await createOriginator({ store, by }, options));

  /** Another process, on the same store or on one that fails. */
  const directoryOn = (on: EventStore) => {
    const directory = new ContactDirectory({
      store: on,
      keyring,
      banks,
      ownWrites,
      states: new StreamStates(),
    });
    return {
      create: (changes: object = {}) => {
        const body = { originatorId, ...ada, ...changes };
        const valid = validate<ContactCreateRequest>(contactCreateSchema, body);
        if (!valid.ok) throw new Error(JSON.stringify(valid.problems));
        return accepted(directory.create(organizationId, valid.value, by));
      },
      update: (contactId: string, patch: object) =>
        accepted(directory.update(organizationId, contactId, patch, by)),
    };
  };
  return { store, originatorId, directoryOn, ...directoryOn(store) };
}

const ada = {
  entityType: 'INDIVIDUAL',
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@example.com',
  bankAccount,
};
const grace = { firstName: 'Grace', lastName: 'Hopper', email: 'grace@example.com' };

/** Rejects with the refusal, so that each test reads as it would for a caller. */
async function accepted(result: Promise<Contact | { readonly refused: string }>): Promise<Contact> {
  const settled = await result;
  if ('refused' in settled) throw Object.assign(new Error(settled.refused), settled);
  return settled;
}
const duplicate = 'DUPLICATE_CONTACT';

/** The process dies at its append number `lives` + 1: before it is written, or after. */
function dyingStore(store: EventStore, lives: number, when: 'before' | 'after'): EventStore {
  let left = lives;
  return {
    ...store,
    append: async (...args) => {
      left -= 1;
      if (left >= 0) return store.append(...args);
      if (when === 'after' && left === -1) await store.append(...args);
      throw new Error('the process died');
    },
  };
}

const codesOf = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.map((result) =>
    result.status === 'fulfilled' ? 'ok' : (result.reason as Error).message,
  );

describe('contacts that are the same', () => {
  it('are refused, whatever the case of the e-mail and the white space of the names', async () => {
    const { create, store } = await setUp();
    await create();
    await expect(create()).rejects.toThrow(duplicate);
    await expect(create({ email: 'ADA@Example.com', firstName: ' Ada' })).rejects.toThrow(
      duplicate,
    );
    expect(await contactsIn(store)).toHaveLength(1);
  });

  it.each([
    ['name', { firstName: 'Augusta' }],
    ['e-mail', { email: 'ada@example.org' }],
    ['account number', { bankAccount: { ...bankAccount, achAccountNumber: '000123456780' } }],
    ['account type', { bankAccount: { ...bankAccount, subType: 'SAVINGS' } }],
    ['absence of an account', { bankAccount: null }],
    ['kind of party', { entityType: 'BUSINESS', companyName: 'Ada' }],
  ])('differ by their %s', async (_what, change) => {
    const { create, store } = await setUp();
    await create();
    await create(change);
    expect(await contactsIn(store)).toHaveLength(2);
  });

  it('are not distinguished by phone number and address', async () => {
    const { create } = await setUp();
    await create();
    await expect(create({ phoneNumber: '+12125550123' })).rejects.toThrow(duplicate);
  });

  it('are created once by fifty concurrent requests', async () => {
    const { directoryOn, store } = await setUp();
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, () => directoryOn(store).create()),
    );
    const codes = codesOf(results);
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1);
    expect(codes.filter((code) => code === duplicate)).toHaveLength(49);
    expect(await contactsIn(store)).toHaveLength(1);
  });
});

describe('patching a contact', () => {
  it('changes the given fields, seals a new account and can be repeated without effect', async () => {
    const { create, update, store } = await setUp();
    const { contactId } = await create();
    const patch = {
      lastName: 'King',
      phoneNumber: '+12125550123',
      bankAccount: { ...bankAccount, achAccountNumber: '000999888777' },
    };
    const updated = await update(contactId, patch);
    expect(updated).toMatchObject({
      firstName: 'Ada',
      lastName: 'King',
      bankAccount: { achAccountNumber: '********8777', bankName: 'JPMorgan Chase Bank' },
    });
    expect(await update(contactId, patch)).toEqual(updated);
    expect(await update(contactId, {})).toEqual(updated);
    expect(await store.readStream(`contact-${contactId}`)).toHaveLength(2);
    const log = JSON.stringify((await store.readLog({ after: '' })).events);
    expect(log).not.toMatch(/000999888777|000123456789/);
  });

  it('clears what may be cleared, and keeps the company name of a person null', async () => {
    const { create, update } = await setUp();
    const { contactId } = await create({ phoneNumber: '+12125550123' });
    const patch = { phoneNumber: null, bankAccount: null, companyName: 'Acme' };
    expect(await update(contactId, patch)).toMatchObject({
      phoneNumber: null,
      bankAccount: null,
      companyName: null,
    });
    await expect(update(contactId, { firstName: null })).rejects.toMatchObject({
      refused: 'INVALID_REQUEST',
      problems: [expect.objectContaining({ field: 'firstName', issue: 'validation_required' })],
    });
  });

  it('into a second one is refused, and frees its own details for others', async () => {
    const { create, update, store } = await setUp();
    const { contactId } = await create();
    const other = await create(grace);
    await expect(update(other.contactId, { ...ada })).rejects.toThrow(duplicate);
    await update(contactId, { lastName: 'King' });
    await update(other.contactId, { ...ada });
    expect(await contactsIn(store)).toHaveLength(2);
  });

  it('there and back leaves it its identity', async () => {
    const { create, update } = await setUp();
    const { contactId } = await create();
    await update(contactId, { lastName: 'King' });
    await update(contactId, { lastName: 'Lovelace' });
    await expect(create()).rejects.toThrow(duplicate);
    await expect(create({ lastName: 'King' })).resolves.toBeDefined();
  });

  it('of an unknown contact is not found', async () => {
    const { update } = await setUp();
    await expect(update(randomUUID(), {})).rejects.toThrow('CONTACT_NOT_FOUND');
  });

  it('and creating at once never make two of one', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { create, update, directoryOn, store } = await setUp();
      const [one, two] = [await create(grace), await create({ email: 'other@example.com' })];
      await Promise.allSettled([
        directoryOn(store).create(),
        update(one.contactId, ada),
        directoryOn(store).update(two.contactId, ada),
        directoryOn(store).create(),
        directoryOn(store).update(one.contactId, grace),
        directoryOn(store).create(grace),
      ]);
      const identitiesUsed = (await contactsIn(store)).map(({ identity }) => identity);
      expect(new Set(identitiesUsed).size).toBe(identitiesUsed.length);
      await expectHolders(store);
    }
  });
});

async function contactsIn(store: EventStore): Promise<readonly Contact[]> {
  const { events } = await store.readLog({ after: '', streamPrefixes: ['contact-'] });
  const ids = [...new Set(events.map(({ streamId }) => streamId.slice('contact-'.length)))];
  const states = await Promise.all(ids.map((id) => repository(store, contacts).load(id)));
  return states.flatMap(({ state }) => (state === null ? [] : [state]));
}

/** Each contact holds the reservation of the identity it uses. */
async function expectHolders(store: EventStore): Promise<void> {
  for (const { contactId, identity } of await contactsIn(store)) {
    const { state } = await repository(store, identities).load(identity);
    expect(state.holder).toBe(contactId);
  }
}

describe('a process that dies between two appends', () => {
  const moments = [0, 1].flatMap((lives) => [
    { lives, when: 'before' as const },
    { lives, when: 'after' as const },
  ]);

  it.each(moments)(
    'while creating ($lives, $when): the retry ends with one contact',
    async (moment) => {
      const { create, directoryOn, store } = await setUp();
      const dying = directoryOn(dyingStore(store, moment.lives, moment.when));
      await expect(dying.create()).rejects.toThrow('died');
      const results = await Promise.allSettled([create(), create(), create()]);
      const created = moment.lives === 1 && moment.when === 'after' ? 0 : 1;
      expect(codesOf(results).filter((code) => code === 'ok')).toHaveLength(created);
      expect(await contactsIn(store)).toHaveLength(1);
      await expectHolders(store);
    },
  );

  it.each([
    ...moments,
    { lives: 2, when: 'before' as const },
    { lives: 2, when: 'after' as const },
  ])(
    'while patching ($lives, $when): both identities stay usable, by one contact each',
    async ({ lives, when }) => {
      const { create, update, directoryOn, store } = await setUp();
      const { contactId } = await create();
      const dying = directoryOn(dyingStore(store, lives, when));
      await expect(dying.update(contactId, { ...grace })).rejects.toThrow('died');

      const moved = lives > 1 || (lives === 1 && when === 'after');
      // What the contact does not use is free for a new one, even if it had been reserved.
      await expect(create(moved ? {} : grace)).resolves.toBeDefined();
      await expect(create(moved ? grace : {})).rejects.toThrow(duplicate);
      await expect(update(contactId, moved ? { ...ada } : { ...grace })).rejects.toThrow(duplicate);
      expect(await contactsIn(store)).toHaveLength(2);
      await expectHolders(store);
    },
  );

  it('while patching: the retry completes the patch', async () => {
    const { create, update, directoryOn, store } = await setUp();
    const { contactId } = await create();
    await expect(
      directoryOn(dyingStore(store, 1, 'before')).update(contactId, { ...grace }),
    ).rejects.toThrow('died');
    expect(await update(contactId, { ...grace })).toMatchObject(grace);
    await expectHolders(store);
  });

  it('while taking over an unused reservation: the next one completes it', async () => {
    for (const lives of [0, 1, 2]) {
      const { create, directoryOn, store } = await setUp();
      const { contactId } = await create();
      await expect(
        directoryOn(dyingStore(store, 1, 'before')).update(contactId, { ...grace }),
      ).rejects.toThrow('died');
      await expect(directoryOn(dyingStore(store, lives, 'before')).create(grace)).rejects.toThrow(
        'died',
      );
      await expect(create(grace)).resolves.toBeDefined();
      await expectHolders(store);
    }
  });

  it.each([0, 1, 2, 3])(
    'while creating, never retried: a change into it succeeds, even if it dies %i appends on and is repeated',
    async (lives) => {
      const { create, update, directoryOn, store } = await setUp();
      const { contactId } = await create(grace);
      await expect(directoryOn(dyingStore(store, 1, 'before')).create()).rejects.toThrow('died');
      const dying = directoryOn(dyingStore(store, lives, 'before'));
      if (lives < 3) await expect(dying.update(contactId, { ...ada })).rejects.toThrow('died');
      expect(await update(contactId, { ...ada })).toMatchObject({ email: ada.email });
      await expect(create()).rejects.toThrow(duplicate);
      await expect(create(grace)).resolves.toBeDefined();
      expect(await contactsIn(store)).toHaveLength(2);
      await expectHolders(store);
    },
  );

  it.each([0, 1, 2, 3])(
    'while changing into what a dead creation reserved (%i appends on): it can be created still',
    async (lives) => {
      const { create, directoryOn, store } = await setUp();
      const { contactId } = await create(grace);
      await expect(directoryOn(dyingStore(store, 1, 'before')).create()).rejects.toThrow('died');
      const dying = directoryOn(dyingStore(store, lives, 'before'));
      await dying.update(contactId, { ...ada }).catch(() => undefined);
      const results = await Promise.allSettled([create(), create()]);
      const free = lives < 3;
      expect(codesOf(results).filter((code) => code === 'ok')).toHaveLength(free ? 1 : 0);
      expect(await contactsIn(store)).toHaveLength(free ? 2 : 1);
      await expectHolders(store);
    },
  );
});

describe('a change into what a creation under way has reserved', () => {
  /** Delays the first append to a stream of contacts until the test releases it. */
  function pausing(store: EventStore) {
    const reached = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    let held = false;
    const append: EventStore['append'] = async (streamId, ...rest) => {
      if (streamId.startsWith('contact-') && !held) {
        held = true;
        reached.resolve();
        await goOn.promise;
      }
      return store.append(streamId, ...rest);
    };
    return { store: { ...store, append }, reached: reached.promise, goOn: goOn.resolve };
  }

  it('wins when it comes first: the creation is then a conflict', async () => {
    const { create, update, directoryOn, store } = await setUp();
    const { contactId } = await create(grace);
    const slow = pausing(store);
    const creation = Promise.allSettled([directoryOn(slow.store).create()]);
    await slow.reached;
    expect(await update(contactId, { ...ada })).toMatchObject({ email: ada.email });
    slow.goOn();
    expect(codesOf(await creation)).toEqual([duplicate]);
    expect(await contactsIn(store)).toHaveLength(1);
    await expectHolders(store);
  });

  it('is a conflict when the creation ends first', async () => {
    const { create, directoryOn, store } = await setUp();
    const { contactId } = await create(grace);
    const creating = pausing(store);
    const creation = directoryOn(creating.store).create();
    await creating.reached;
    const changing = pausing(store);
    const change = Promise.allSettled([directoryOn(changing.store).update(contactId, { ...ada })]);
    await changing.reached;
    creating.goOn();
    await creation;
    changing.goOn();
    expect(codesOf(await change)).toEqual([duplicate]);
    expect(await contactsIn(store)).toHaveLength(2);
    await expectHolders(store);
  });
});
