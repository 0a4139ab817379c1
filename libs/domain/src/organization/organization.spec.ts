import { at, given, later, organizationExample } from '../testing.js';
import type { RailSettings } from '../payment/payment-rail.js';
import { maxAmountMinor } from '../payment/payment.js';
import {
  type FeeSchedule,
  feesOf,
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

describe('the fees of a payment', () => {
  const discountOf = (discountBasisPoints: number, amountMinor: number) =>
    feesOf({ ...free, discountBasisPoints }, amountMinor).discountFeeMinor;

  it.each([
    // basis points, amount, fee: always rounded down, in the payer's favor.
    [0, 1, 0],
    [0, maxAmountMinor, 0],
    [1, 9_999, 0],
    [1, 10_000, 1],
    [1, 19_999, 1],
    [25, 399, 0],
    [25, 400, 1],
    [25, 125_000, 312],
    [9_999, 1, 0],
    [10_000, 1, 1],
    [10_000, maxAmountMinor, maxAmountMinor],
    [9_999, maxAmountMinor, 99_989_999_999],
    [3_333, maxAmountMinor, 33_329_999_999],
  ])('of %d basis points on %d is %d', (basisPoints, amountMinor, fee) => {
    expect(discountOf(basisPoints, amountMinor)).toBe(fee);
  });

  it('take the flat and the return fee as they stand, whatever the amount', () => {
    const schedule = { discountBasisPoints: 25, flatFeeMinor: 50, returnFeeMinor: 400 };
    expect(feesOf(schedule, 1)).toStrictEqual({
      discountFeeMinor: 0,
      flatFeeMinor: 50,
      returnFeeMinor: 400,
    });
  });

  it('never exceed the amount and never shrink as it grows', () => {
    let previous = 0;
    for (let amount = 1; amount < maxAmountMinor; amount = amount * 3 + 1) {
      const fee = discountOf(9_999, amount);
      expect(fee).toBeGreaterThanOrEqual(previous);
      expect(fee).toBeLessThanOrEqual(amount);
      expect(Number.isSafeInteger(fee)).toBe(true);
      previous = fee;
    }
  });
});
