import { organization } from '@pis/domain';
import { OrganizationProfiles } from './organization-profiles.js';

const id = '00000000-0000-4000-8000-000000000001';
const ageMaxMs = 5_000;

function organizationNamed(name: string) {
  const feeSchedule = { discountBasisPoints: 0, flatFeeMinor: 0, returnFeeMinor: 0 };
  const data = { organizationId: id, name, feeSchedule };
  const command = { type: 'CreateOrganization', at: '2026-11-22T00:00:00.000Z', data } as const;
  const events = organization.decide(command, organization.initial);
  if ('refused' in events) throw new Error(events.refused);
  return events.reduce(organization.evolve, organization.initial);
}

it('reads an organization once for many views, and again after five seconds', async () => {
  let nowMs = 0;
  let name = 'Acme';
  let reads = 0;
  const profiles = new OrganizationProfiles(
    () => {
      reads += 1;
      return Promise.resolve(organizationNamed(name));
    },
    () => nowMs,
  );
  const views = await Promise.all(Array.from({ length: 100 }, () => profiles.of(id)));
  expect(new Set(views.map((view) => view.name))).toEqual(new Set(['Acme']));
  expect(reads).toBe(1);
  name = 'Acme Holdings';
  nowMs = ageMaxMs - 1;
  expect((await profiles.of(id)).name).toBe('Acme');
  nowMs = ageMaxMs;
  expect((await profiles.of(id)).name).toBe('Acme Holdings');
  expect(reads).toBe(2);
});

it('does not keep a failure', async () => {
  let isAway = true;
  const profiles = new OrganizationProfiles(() =>
    isAway ? Promise.reject(new Error('away')) : Promise.resolve(null),
  );
  await expect(profiles.of(id)).rejects.toThrow('away');
  isAway = false;
  expect(await profiles.of(id)).toEqual({ name: '', logo: null });
});
