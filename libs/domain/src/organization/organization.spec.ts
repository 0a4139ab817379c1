import { at, given, later, organizationExample } from '../testing.js';
import type { RailSettings } from '../payment/payment-rail.js';
import { maxAmountMinor } from '../payment/payment.js';
import type { Branding } from './branding.js';
import type { FeeRule, FeeSchedule } from './fees.js';
import {
  needsApproval,
  organization,
  type OrganizationEvent,
  retentionYearsMax,
} from './organization.js';

const create = (feeSchedule: FeeSchedule) => ({
  type: 'CreateOrganization' as const,
  at: later,
  data: organizationExample({ feeSchedule }),
});
const free: FeeSchedule = { discountBasisPoints: 0, flatFeeMinor: 0, returnFeeMinor: 0 };

const created: OrganizationEvent = {
  type: 'OrganizationCreated',
  at,
  data: organizationExample(),
};

describe('creating an organization', () => {
  it('records its name and what its payments cost', () => {
    const then = given(organization).when(create(free));
    then.then({
      type: 'OrganizationCreated',
      at: later,
      data: organizationExample({ feeSchedule: free }),
    });
    expect(then.state()).toStrictEqual({
      ...organizationExample({ feeSchedule: free }),
      createdAt: later,
      railSettings: null,
      retentionYears: null,
      feeRules: null,
      logo: null,
      approvalAboveMinor: null,
      timeZone: 'America/New_York',
    });
  });

  it('happens once', () => {
    given(organization, created).when(create(free)).thenRefused('ORGANIZATION_ALREADY_EXISTS');
  });

  it.each<[string, Partial<FeeSchedule>]>([
    ['more than the whole amount', { discountBasisPoints: 10_001 }],
    ['a negative share', { discountBasisPoints: -1 }],
    ['a fraction of a basis point', { discountBasisPoints: 0.5 }],
    ['a fraction of a cent', { flatFeeMinor: 0.1 }],
    ['a negative return fee', { returnFeeMinor: -1 }],
    ['no number', { flatFeeMinor: NaN }],
  ])('never writes a fee schedule that asks %s', (_what, fees) => {
    expect(() => given(organization).when(create({ ...free, ...fees }))).toThrow(RangeError);
  });
});

describe('the rail settings of an organization', () => {
  const settings: RailSettings = {
    allowedRails: ['ACH', 'RTP'],
    preference: 'cheapest',
    limitsMinor: { RTP: 100_000 },
  };
  const set = (changes: Partial<RailSettings> = {}) => ({
    type: 'SetOrganizationRails' as const,
    at: later,
    data: { ...settings, ...changes },
  });

  it('replace the former ones', () => {
    const then = given(organization, created).when(set());
    then.then({ type: 'OrganizationRailsSet', at: later, data: settings });
    expect(then.state()).toStrictEqual({
      ...organizationExample(),
      createdAt: at,
      railSettings: settings,
      retentionYears: null,
      feeRules: null,
      logo: null,
      approvalAboveMinor: null,
      timeZone: 'America/New_York',
    });
  });

  it('are refused for an organization that does not exist', () => {
    given(organization).when(set()).thenRefused('ORGANIZATION_NOT_FOUND');
  });

  it.each<[string, object]>([
    ['an unknown rail', { allowedRails: ['BITCOIN'] }],
    ['an unknown preference', { preference: 'slowest' }],
    ['a limit of an unknown rail', { limitsMinor: { BITCOIN: 1 } }],
    ['a fraction of a cent', { limitsMinor: { ACH: 0.5 } }],
    ['a negative limit', { limitsMinor: { ACH: -1 } }],
  ])('are never written with %s', (_what, changes) => {
    expect(() => given(organization, created).when(set(changes))).toThrow(RangeError);
  });
});

describe('the retention period of an organization', () => {
  const set = (retentionYears: number | null) => ({
    type: 'SetOrganizationRetention' as const,
    at: later,
    data: { retentionYears },
  });

  it('is none of its own until one is set', () => {
    expect(organization.evolve(null, created)).toHaveProperty('retentionYears', null);
  });

  it.each([0, 10, retentionYearsMax])('can be %d years, and replaces the former one', (years) => {
    const former: OrganizationEvent = {
      type: 'OrganizationRetentionSet',
      at,
      data: { retentionYears: 3 },
    };
    const then = given(organization, created, former).when(set(years));
    then.then({ type: 'OrganizationRetentionSet', at: later, data: { retentionYears: years } });
    expect(then.state()).toHaveProperty('retentionYears', years);
  });

  it('can be taken back to that of the installation', () => {
    const then = given(organization, created).when(set(null));
    then.then({ type: 'OrganizationRetentionSet', at: later, data: { retentionYears: null } });
    expect(then.state()).toHaveProperty('retentionYears', null);
  });

  it('is refused for an organization that does not exist', () => {
    given(organization).when(set(10)).thenRefused('ORGANIZATION_NOT_FOUND');
  });

  it.each([-1, 0.5, retentionYearsMax + 1, NaN, Infinity])('is never %d years', (years) => {
    expect(() => given(organization, created).when(set(years))).toThrow(RangeError);
  });
});

describe('the amount above which payments need a second person', () => {
  const set = (approvalAboveMinor: number | null) => ({
    type: 'SetOrganizationApprovals' as const,
    at: later,
    data: { approvalAboveMinor },
  });

  it('is none until one is set, and can be taken back', () => {
    const state = organization.evolve(null, created);
    expect(state).toHaveProperty('approvalAboveMinor', null);
    const isSet: OrganizationEvent = {
      type: 'OrganizationApprovalsSet',
      at,
      data: { approvalAboveMinor: 100 },
    };
    given(organization, created)
      .when(set(100))
      .then({ ...isSet, at: later });
    given(organization, created, isSet)
      .when(set(null))
      .then({ ...isSet, at: later, data: { approvalAboveMinor: null } });
    given(organization, created, isSet).when(set(100)).thenNothing();
  });

  it('is the most that goes without one', () => {
    expect(needsApproval({ approvalAboveMinor: null }, maxAmountMinor)).toBe(false);
    expect(needsApproval({ approvalAboveMinor: 100 }, 100)).toBe(false);
    expect(needsApproval({ approvalAboveMinor: 100 }, 101)).toBe(true);
    expect(needsApproval({ approvalAboveMinor: 0 }, 1)).toBe(true);
  });

  it('is refused for an organization that does not exist', () => {
    given(organization).when(set(10)).thenRefused('ORGANIZATION_NOT_FOUND');
  });

  it.each([-1, 0.5, maxAmountMinor + 1, NaN, Infinity])('is never %d cents', (amount) => {
    expect(() => given(organization, created).when(set(amount))).toThrow(RangeError);
  });
});

describe('the time zone of an organization', () => {
  const set = (timeZone: string) => ({
    type: 'SetOrganizationTimeZone' as const,
    at: later,
    data: { timeZone },
  });

  it('is that of New York until one is set', () => {
    expect(organization.evolve(null, created)).toHaveProperty('timeZone', 'America/New_York');
    given(organization, created).when(set('America/New_York')).thenNothing();
    const then = given(organization, created).when(set('Asia/Tokyo'));
    then.then({ type: 'OrganizationTimeZoneSet', at: later, data: { timeZone: 'Asia/Tokyo' } });
    expect(then.state()).toHaveProperty('timeZone', 'Asia/Tokyo');
  });

  it('is refused for an organization that does not exist', () => {
    given(organization).when(set('UTC')).thenRefused('ORGANIZATION_NOT_FOUND');
  });

  it('is never one that does not exist', () => {
    expect(() => given(organization, created).when(set('Mars/Olympus'))).toThrow(RangeError);
  });
});

describe('the fee rules of an organization', () => {
  const rule: FeeRule = {
    ...{ originatorId: null, rail: 'ACH', direction: 'INBOUND', from: at },
    ...{ discountBasisPoints: 10, discountMinMinor: 5, discountCapMinor: 500 },
    ...{ flatFeeMinor: 25, returnFeeMinor: 400 },
  };
  const set = (...rules: FeeRule[]) => ({
    type: 'SetOrganizationFees' as const,
    at: later,
    data: { rules },
  });

  it('replace the former ones', () => {
    const former: OrganizationEvent = { type: 'OrganizationFeesSet', at, data: { rules: [rule] } };
    const other = { ...rule, flatFeeMinor: 7 };
    const then = given(organization, created, former).when(set(other));
    then.then({ type: 'OrganizationFeesSet', at: later, data: { rules: [other] } });
    expect(then.state()).toHaveProperty('feeRules', [other]);
  });

  it('are refused for an organization that does not exist', () => {
    given(organization).when(set(rule)).thenRefused('ORGANIZATION_NOT_FOUND');
  });

  it.each<[string, object]>([
    ['an unknown rail', { rail: 'BITCOIN' }],
    ['an unknown direction', { direction: 'SIDEWAYS' }],
    ['no date', { from: 'tomorrow' }],
    ['a fraction of a cent', { flatFeeMinor: 0.5 }],
    ['a negative minimum', { discountMinMinor: -1 }],
    ['a cap below the minimum', { discountMinMinor: 6, discountCapMinor: 5 }],
    ['more than the whole amount', { discountBasisPoints: 10_001 }],
  ])('are never written with %s', (_what, changes) => {
    const wrong = { ...rule, ...changes };
    expect(() => given(organization, created).when(set(wrong))).toThrow(RangeError);
  });

  it('are never written twice for the same payments from the same time', () => {
    const twice = { ...rule, from: new Date(at).toISOString(), flatFeeMinor: 1 };
    expect(() => given(organization, created).when(set(rule, twice))).toThrow(RangeError);
  });
});

describe('the branding of an organization', () => {
  const logo = { digest: 'a'.repeat(64), width: 20, height: 10, png: 'iVBORw0=' };
  const set = (data: Branding) => ({ type: 'SetOrganizationBranding' as const, at: later, data });

  it('replaces its name, and its logo where one is given', () => {
    const first = given(organization, created).when(set({ name: 'Acme Pay', logo }));
    const event = { type: 'OrganizationBrandingSet', at: later } as const;
    first.then({ ...event, data: { name: 'Acme Pay', logo } });
    const { png: _, ...record } = logo;
    expect(first.state()).toMatchObject({ name: 'Acme Pay', logo: record });
    const before = { ...event, data: { name: 'Acme Pay', logo } };
    const renamed = given(organization, created, before).when(set({ name: 'Acme' }));
    expect(renamed.state()).toMatchObject({ name: 'Acme', logo: record });
    const bare = given(organization, created, before).when(set({ name: 'Acme', logo: null }));
    expect(bare.state()).toMatchObject({ name: 'Acme', logo: null });
  });

  it('is refused for an organization that does not exist', () => {
    given(organization)
      .when(set({ name: 'Acme' }))
      .thenRefused('ORGANIZATION_NOT_FOUND');
  });

  it.each<[string, Branding]>([
    ['without a name', { name: ' ' }],
    ['with a name that is too long', { name: 'x'.repeat(201) }],
    ['with a logo without a digest', { name: 'Acme', logo: { ...logo, digest: '../a' } }],
    ['with a logo without pixels', { name: 'Acme', logo: { ...logo, width: 0 } }],
    ['with a logo that is too large', { name: 'Acme', logo: { ...logo, png: 'A'.repeat(22_000) } }],
  ])('is never written %s', (_what, branding) => {
    expect(() => given(organization, created).when(set(branding))).toThrow(RangeError);
  });
});
