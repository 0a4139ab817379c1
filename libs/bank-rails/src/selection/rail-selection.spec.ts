import { type PaymentRail, paymentRails, type RailSettings } from '@pis/domain';
import { generator, type Random } from '@pis/local-servers/testing';
import { instantOf } from '../calendar/eastern-time.js';
import { defaultCutoffs } from '../calendar/rail-hours.js';
import { isoRails } from '../rails/iso20022/messages.js';
import { profileOf } from '../rails/iso20022/profiles.js';
import { railRejectionText } from './rail-rejection-text.js';
import {
  defaultRailSettings,
  type RailPolicy,
  type RailRequest,
  type RailSelection,
  selectRail,
} from './rail-selection.js';
import { needsAddress, railLimitMinor, sameDayLimitMinor } from './rail-terms.js';

/** Eastern Time, `YYYY-MM-DD HH:MM`. */
const at = (text: string) => instantOf(text.slice(0, 10), text.slice(11));
/** Of a Monday. */
const noon = '2026-11-23 12:00';
const saturday = '2026-11-21 12:00';
/** Fedwire is open again, same-day ACH has ended. */
const lateEvening = '2026-11-23 21:30';

const everyRail: readonly PaymentRail[] = ['ACH', 'RTP', 'FEDNOW', 'FEDWIRE'];
const dollars = (amount: number) => amount * 100;

function select(
  changes: Partial<RailRequest>,
  settings: Partial<RailSettings> = {},
  offered: Partial<RailPolicy> = {},
): RailSelection {
  const request: RailRequest = {
    direction: 'OUTBOUND',
    amountMinor: dollars(100),
    atMs: at(noon),
    swiftCode: null,
    participation: everyRail,
    hasContactAddress: true,
    ...changes,
  };
  const policy = {
    settings: { ...defaultRailSettings, ...settings },
    connectedRails: paymentRails,
    cutoffs: defaultCutoffs,
    ...offered,
  };
  return selectRail(request, policy);
}

/** `ACH same_day`, or the name of another rail. */
const wayOf = ({ paymentRail, decision: { achService } }: RailSelection) =>
  achService === null ? paymentRail : `${paymentRail} ${achService}`;

/** By way. */
const reasons = ({ decision }: RailSelection) =>
  Object.fromEntries(
    decision.rejected.map(({ paymentRail, achService, code }) => [
      achService === null ? paymentRail : `${paymentRail} ${achService}`,
      code,
    ]),
  );

describe('the rail of a payment', () => {
  it('is a standard ACH debit for INBOUND, whatever is preferred', () => {
    for (const preference of ['fastest', 'cheapest'] as const)
      for (const swiftCode of [null, 'CHASUS33'])
        expect(wayOf(select({ direction: 'INBOUND', swiftCode }, { preference }))).toBe(
          'ACH standard',
        );
    expect(reasons(select({ direction: 'INBOUND' }))).toEqual({
      RTP: 'direction_not_supported',
      FEDNOW: 'direction_not_supported',
      FEDWIRE: 'direction_not_supported',
      SWIFT: 'direction_not_supported',
      'ACH same_day': 'not_preferred',
    });
  });

  it('is no ACH above what the bank takes in a file', () => {
    const debit = { direction: 'INBOUND', amountMinor: 10_000 } as const;
    const bankLimits = { bankLimitsMinor: { ACH: 10_000 } };
    expect(wayOf(select(debit, {}, bankLimits))).toBe('ACH standard');
    const above = select({ ...debit, amountMinor: 10_001 }, {}, bankLimits);
    expect(above.decision.isPossible).toBe(false);
    expect(reasons(above)).toMatchObject({ 'ACH standard': 'amount_above_rail_limit' });
  });

  it('is none for INBOUND from an account abroad', () => {
    const selection = select({ direction: 'INBOUND', swiftCode: 'DEUTDEFF' });
    expect(selection).toMatchObject({ paymentRail: 'ACH', decision: { isPossible: false } });
    expect(reasons(selection)).toMatchObject({
      SWIFT: 'direction_not_supported',
      'ACH same_day': 'account_outside_us',
      'ACH standard': 'account_outside_us',
    });
  });

  const fedwireOnly: readonly PaymentRail[] = ['ACH', 'FEDWIRE'];
  it.each<[string, string, readonly PaymentRail[] | null, number, string]>([
    ['RTP', noon, everyRail, 100, 'before FEDNOW'],
    ['RTP', saturday, everyRail, 100, 'on every day'],
    ['RTP', noon, everyRail, 10_000_000, 'up to its limit'],
    ['FEDNOW', noon, ['ACH', 'FEDNOW', 'FEDWIRE'], 10_000_000, 'where the bank has no RTP'],
    ['FEDWIRE', noon, everyRail, 10_000_000.01, 'above the limit of the instant rails'],
    ['FEDWIRE', lateEvening, everyRail, 20_000_000, 'in its hours'],
    ['ACH standard', saturday, everyRail, 20_000_000, 'while Fedwire is closed'],
    ['FEDWIRE', noon, fedwireOnly, 1_000_000.01, 'above the limit of same-day ACH'],
    ['ACH same_day', noon, fedwireOnly, 1_000_000, 'up to its limit'],
    ['ACH standard', lateEvening, fedwireOnly, 100, 'when the same-day windows have ended'],
    ['ACH same_day', noon, null, 1_000_000, 'at an unknown bank'],
    ['ACH standard', noon, null, 1_000_000.01, 'at an unknown bank'],
    ['ACH standard', saturday, null, 100, 'on a weekend'],
    // The amount of an ACH entry has ten digits.
    ['FEDWIRE', saturday, everyRail, 100_000_000, 'that waits for its opening'],
  ])('is %s at %s with %j for %d dollars: %s', (expected, time, participation, amount) => {
    const amountMinor = Math.round(dollars(amount));
    expect(wayOf(select({ atMs: at(time), participation, amountMinor }))).toBe(expected);
  });

  it('is ACH for a small amount that Fedwire could take in the evening', () => {
    const evening = select({ atMs: at(lateEvening), participation: fedwireOnly });
    expect(reasons(evening)).toMatchObject({
      FEDWIRE: 'cheaper_rail_on_same_day',
      'ACH same_day': 'closed_at_this_time',
    });
  });

  it('is the cheapest that takes the amount where that is preferred', () => {
    const settings = { preference: 'cheapest' } as const;
    expect(wayOf(select({}, settings))).toBe('ACH standard');
    expect(wayOf(select({}, { ...settings, allowedRails: ['RTP', 'FEDWIRE'] }))).toBe('RTP');
    const large = { amountMinor: dollars(100_000_000) };
    expect(wayOf(select(large, settings))).toBe('FEDWIRE');
  });

  it('is SWIFT for an account outside the US, and never another', () => {
    const abroad = select({ swiftCode: 'deutdeff500' });
    expect(wayOf(abroad)).toBe('SWIFT');
    expect(new Set(Object.values(reasons(abroad)))).toEqual(new Set(['account_outside_us']));
    const nowhere = select({ swiftCode: 'DEUTDEFF', hasContactAddress: false });
    expect(nowhere).toMatchObject({ paymentRail: 'SWIFT', decision: { isPossible: false } });
    expect(reasons(nowhere)['SWIFT']).toBe('address_required');
  });

  it('is not SWIFT for a SWIFT code of the US', () => {
    expect(wayOf(select({ swiftCode: 'CHASUS33' }))).toBe('RTP');
    expect(reasons(select({ swiftCode: 'CHASUS33' }))['SWIFT']).toBe('account_in_us');
  });

  it('keeps away from rails that the organization does not allow', () => {
    const without = (...rails: PaymentRail[]) => ({
      allowedRails: paymentRails.filter((rail) => !rails.includes(rail)),
    });
    expect(wayOf(select({}, without('RTP')))).toBe('FEDNOW');
    expect(wayOf(select({}, without('RTP', 'FEDNOW')))).toBe('ACH same_day');
    const wired = select({}, without('RTP', 'FEDNOW', 'ACH'));
    expect(wayOf(wired)).toBe('FEDWIRE');
    expect(reasons(wired)['RTP']).toBe('rail_not_allowed');
    const none = select({ atMs: at(saturday) }, without('RTP', 'FEDNOW', 'FEDWIRE', 'ACH'));
    expect(none).toMatchObject({
      paymentRail: 'ACH',
      decision: { isPossible: false, expectedSettlementAt: null, nextCutoffAt: null },
    });
  });

  it('keeps away from rails without a bank', () => {
    const { decision, paymentRail } = selectRail(
      {
        direction: 'OUTBOUND',
        amountMinor: 1,
        atMs: at(noon),
        swiftCode: null,
        participation: everyRail,
        hasContactAddress: true,
      },
      {
        settings: defaultRailSettings,
        connectedRails: ['ACH', 'FEDNOW'],
        cutoffs: defaultCutoffs,
      },
    );
    expect(paymentRail).toBe('FEDNOW');
    expect(decision.rejected).toContainEqual({
      paymentRail: 'RTP',
      achService: null,
      code: 'rail_not_connected',
    });
  });

  it('keeps the limits of the organization', () => {
    const limitsMinor = { RTP: 100, FEDNOW: 1_000, ACH: 10_000 };
    const rail = (amountMinor: number) => wayOf(select({ amountMinor }, { limitsMinor }));
    expect([100, 1_000, 10_000].map(rail)).toEqual(['RTP', 'FEDNOW', 'ACH same_day']);
    // Nothing cheaper takes it.
    expect(rail(10_001)).toBe('FEDWIRE');
    expect(reasons(select({ amountMinor: 10_001 }, { limitsMinor }))).toMatchObject({
      RTP: 'amount_above_organization_limit',
      'ACH standard': 'amount_above_organization_limit',
    });
  });

  it('needs the address that the messages of the rail require', () => {
    for (const rail of isoRails)
      expect([rail, needsAddress[rail]]).toEqual([rail, profileOf(rail).requiresContactAddress]);
    expect(wayOf(select({ amountMinor: dollars(20_000_000), hasContactAddress: false }))).toBe(
      'FEDWIRE',
    );
  });
});

describe('the decision', () => {
  it.each([
    ['2026-11-23T17:00:00.000Z', null, {}],
    ['2026-11-23T22:00:00.000Z', '2026-11-23T19:45:00.000Z', { participation: null }],
    ['2026-11-23T17:00:00.000Z', '2026-11-23T23:45:00.000Z', { amountMinor: dollars(20_000_000) }],
    ['2026-11-25T22:00:00.000Z', '2026-11-23T22:00:00.000Z', { swiftCode: 'DEUTDEFF' }],
  ])('says when it settles: %s', (expectedSettlementAt, nextCutoffAt, changes) => {
    expect(select(changes).decision).toMatchObject({ expectedSettlementAt, nextCutoffAt });
  });

  it('does not offer same-day ACH where the bank has no file for it', () => {
    const cutoffs = { ...defaultCutoffs, sameDay: [] };
    const request = {
      direction: 'OUTBOUND',
      amountMinor: 1,
      atMs: at(noon),
      swiftCode: null,
      participation: null,
      hasContactAddress: false,
    } as const;
    expect(
      wayOf(
        selectRail(request, {
          settings: defaultRailSettings,
          connectedRails: paymentRails,
          cutoffs,
        }),
      ),
    ).toBe('ACH standard');
  });

  it('has a sentence for each reason', () => {
    const { decision } = select({ direction: 'INBOUND' });
    for (const rejected of decision.rejected)
      expect(railRejectionText(rejected)).toMatch(/^[A-Z][\w -]+ .*[a-z]\.$/);
  });
});

/** Made of chance, the same for the same seed. */
function randomCase(random: Random): { request: RailRequest; settings: RailSettings } {
  const oneOf = <Value>(values: readonly Value[]): Value => values[random(values.length)] as Value;
  const some = () => paymentRails.filter(() => random(4) > 0);
  const edges = [sameDayLimitMinor, ...Object.values(railLimitMinor)];
  const amount = () =>
    Math.min(99_999_999_999, Math.max(1, oneOf([random(100_000), oneOf(edges)]) + random(3) - 1));
  return {
    request: {
      direction: oneOf(['INBOUND', 'OUTBOUND', 'OUTBOUND'] as const),
      amountMinor: amount(),
      atMs: at('2022-01-01 00:00') + random(10 * 365 * 24 * 60) * 60_000,
      swiftCode: oneOf([null, null, 'CHASUS33', 'DEUTDEFF']),
      participation: oneOf([null, some()]),
      hasContactAddress: random(2) === 0,
    },
    settings: {
      allowedRails: some(),
      preference: oneOf(['fastest', 'cheapest'] as const),
      limitsMinor: random(2) === 0 ? {} : { [oneOf(paymentRails)]: amount() },
    },
  };
}

describe('for any payment', () => {
  const seeds = Array.from({ length: 20 }, (_, seed) => seed);
  const casesPerSeed = 500;

  it.each(seeds)('the choice keeps every rule (seed %i)', (seed) => {
    const random = generator(seed);
    for (let count = 0; count < casesPerSeed; count += 1) {
      const { request, settings } = randomCase(random);
      const policy = { settings, connectedRails: paymentRails, cutoffs: defaultCutoffs };
      const selection = selectRail(request, policy);
      const again = selectRail(request, policy);
      const broken = brokenRules(request, settings, selection);
      // Not an expectation per case: those take most of the time.
      if (broken.length > 0 || JSON.stringify(again) !== JSON.stringify(selection))
        throw new Error(JSON.stringify({ broken, request, settings, selection, again }));
    }
  });

  it.each(seeds)(
    'a larger amount never reaches a rail that a smaller one did not (seed %i)',
    (seed) => {
      const random = generator(seed + 1_000);
      for (let count = 0; count < casesPerSeed; count += 1) {
        const { request, settings } = randomCase(random);
        const policy = { settings, connectedRails: paymentRails, cutoffs: defaultCutoffs };
        const larger = { ...request, amountMinor: request.amountMinor + 1 + random(1_000_000) };
        const isPossible = selectRail(larger, policy).decision.isPossible;
        if (isPossible && !selectRail(request, policy).decision.isPossible)
          throw new Error(JSON.stringify({ request, settings }));
      }
    },
  );
});

function brokenRules(
  request: RailRequest,
  settings: RailSettings,
  { paymentRail, decision }: RailSelection,
): string[] {
  const { isPossible, achService, rejected, expectedSettlementAt, nextCutoffAt } = decision;
  const { direction, amountMinor, atMs, swiftCode, participation, hasContactAddress } = request;
  const isForeign = direction === 'OUTBOUND' && swiftCode === 'DEUTDEFF';
  const rules: Record<string, boolean> = {
    'every other way has a reason': rejected.length === (isPossible ? 5 : 6),
    'only ACH has a service': !isPossible || (achService !== null) === (paymentRail === 'ACH'),
    'INBOUND is standard ACH': direction === 'OUTBOUND' || paymentRail === 'ACH',
    'SWIFT is for accounts abroad': (paymentRail === 'SWIFT') === isForeign,
  };
  if (isPossible) {
    const isReached =
      ['ACH', 'SWIFT'].includes(paymentRail) || participation?.includes(paymentRail);
    const settlesMs = Date.parse(expectedSettlementAt ?? '');
    Object.assign(rules, {
      'no account abroad is debited': direction === 'OUTBOUND' || swiftCode !== 'DEUTDEFF',
      'the rail is allowed': settings.allowedRails.includes(paymentRail),
      'the rail takes the amount': amountMinor <= railLimitMinor[paymentRail],
      'the organization allows the amount':
        amountMinor <= (settings.limitsMinor[paymentRail] ?? Infinity),
      'same-day ACH takes the amount':
        achService !== 'same_day' || amountMinor <= sameDayLimitMinor,
      'the rail reaches the bank': isReached === true,
      'the address is there': hasContactAddress || !needsAddress[paymentRail],
      'it settles from now on': settlesMs >= atMs,
      'it settles within a week': settlesMs <= atMs + 7 * 24 * 3_600_000,
      'the cutoff is ahead': nextCutoffAt === null || Date.parse(nextCutoffAt) > atMs,
    });
  }
  return Object.entries(rules).flatMap(([rule, holds]) => (holds ? [] : [rule]));
}
