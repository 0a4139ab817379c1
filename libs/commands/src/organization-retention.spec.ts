import { randomUUID } from 'node:crypto';
import { retentionYearsMax } from '@pis/domain';
import { organizationExample } from '@pis/domain/testing';
import { memoryEventStore, systemContext } from '@pis/event-store';
import { organizationRetention, setOrganizationRetention } from './organization-retention.js';
import { createOrganization } from './provisioning.js';
import { order, setUp, completed } from './testing/erasure-world.js';
import { unrefused } from './use-case.js';

const by = systemContext('test');

async function acme() {
  const store = memoryEventStore();
  const { organizationId } = unrefused(await createOrganization({ store, by }, { name: 'Acme' }));
  const set = (retentionYears: number | null, id = organizationId) =>
    setOrganizationRetention({ store, by }, { organizationId: id, retentionYears });
  const events = async () =>
    (await store.readStream(`organization-${organizationId}`))
      .slice(1)
      .map(({ type, data }) => ({ type, ...data }));
  return { store, organizationId, set, events };
}

describe('the retention period of an organization', () => {
  it('is that of the installation until it is set, and again after it was taken back', async () => {
    const { store, organizationId, set, events } = await acme();
    const none = { organizationId, retentionYears: null };
    expect(await organizationRetention(store, organizationId)).toEqual(none);
    expect(await set(10)).toEqual({ organizationId, retentionYears: 10 });
    expect(await organizationRetention(store, organizationId)).toEqual({
      ...none,
      retentionYears: 10,
    });
    expect(await set(null)).toEqual(none);
    expect(await organizationRetention(store, organizationId)).toEqual(none);
    expect(await events()).toEqual([
      { type: 'OrganizationRetentionSet', retentionYears: 10 },
      { type: 'OrganizationRetentionSet', retentionYears: null },
    ]);
  });

  it('is none of its own in a stream of an older release', async () => {
    const { store } = await acme();
    const organizationId = randomUUID();
    const data = organizationExample({ organizationId });
    const [{ metadata } = {}] = (await store.readLog({ after: '' })).events;
    if (metadata === undefined) throw new Error('the log is empty');
    const created = { id: randomUUID(), type: 'OrganizationCreated', data: { ...data }, metadata };
    await store.append(`organization-${organizationId}`, 'noStream', [created]);
    expect(await organizationRetention(store, organizationId)).toEqual({
      organizationId,
      retentionYears: null,
    });
  });

  it.each([0, retentionYearsMax])('can be %d years', async (years) => {
    const { set } = await acme();
    expect(await set(years)).toHaveProperty('retentionYears', years);
  });

  it.each([-1, 0.5, retentionYearsMax + 1, NaN])('cannot be %d years', async (years) => {
    const { set, events } = await acme();
    const refused = { refused: 'RETENTION_YEARS_OUT_OF_RANGE', yearsMax: retentionYearsMax };
    expect(await set(years)).toEqual(refused);
    expect(await events()).toEqual([]);
  });

  it('is refused for an organization that does not exist', async () => {
    const { store, set } = await acme();
    const organizationId = randomUUID();
    const refused = { refused: 'ORGANIZATION_NOT_FOUND', organizationId };
    expect(await set(10, organizationId)).toEqual(refused);
    expect(await organizationRetention(store, organizationId)).toEqual(refused);
    expect(await store.readStream(`organization-${organizationId}`)).toEqual([]);
  });

  it('is the last of those that are set at the same time, and each is recorded', async () => {
    const { store, organizationId, set, events } = await acme();
    await Promise.all([set(3), set(10), set(5)]);
    const recorded = await events();
    expect(recorded).toHaveLength(3);
    const { retentionYears } = unrefused(await organizationRetention(store, organizationId));
    expect(recorded.at(-1)).toMatchObject({ retentionYears });
  });
});

describe('an erasure', () => {
  /** Somebody whose last payment became final in November 2026. */
  async function paid() {
    const world = await setUp();
    const contactId = await world.newContact();
    await world.newPayment(contactId, ...completed);
    const { store, organizationId } = world;
    const set = async (retentionYears: number | null) =>
      unrefused(await setOrganizationRetention({ store, by }, { organizationId, retentionYears }));
    return { ...world, contactId, set };
  }
  const running = { refused: 'RETENTION_RUNNING' };

  it("is refused by the organization's longer period although that of the installation has ended", async () => {
    const { contactId, set, erasureOn, contactState } = await paid();
    await set(10);
    const erasure = erasureOn({ defaultRetentionYears: 0 });
    expect(await erasure.erase(order(contactId), by)).toEqual({
      ...{ ...running, retentionYears: 10 },
      until: '2036-11-21T09:00:00.000Z',
    });
    expect(await contactState(contactId)).toHaveProperty('erasure', null);
  });

  it("happens after the organization's shorter period although that of the installation runs", async () => {
    const { contactId, set, erasureOn } = await paid();
    expect(await erasureOn().erase(order(contactId), by)).toMatchObject(running);
    await set(0);
    const erased = unrefused(await erasureOn().erase(order(contactId), by));
    expect(erased).toMatchObject({ alreadyErased: false, retentionYears: 0 });
  });

  it('is refused by a longer period that was set while it was under way, and withdrawn', async () => {
    const { contactId, set, erasureOn, contactState } = await paid();
    await set(0);
    const erasure = erasureOn({ notify: async () => void (await set(10)) });
    expect(await erasure.erase(order(contactId), by)).toMatchObject(running);
    expect(await contactState(contactId)).toHaveProperty('erasure', null);
  });

  it('can override the period of the organization, which is recorded', async () => {
    const { contactId, set, erasureOn } = await paid();
    await set(10);
    const overriding = order(contactId, { overridesRetention: true });
    expect(await erasureOn().erase(overriding, by)).toMatchObject({ retentionYears: 10 });
  });

  it('asks the organization of the party, and no other', async () => {
    const { contactId, store, erasureOn } = await paid();
    const { organizationId } = unrefused(
      await createOrganization({ store, by }, { name: 'Another' }),
    );
    await setOrganizationRetention({ store, by }, { organizationId, retentionYears: 0 });
    expect(await erasureOn().erase(order(contactId), by)).toMatchObject(running);
  });
});
