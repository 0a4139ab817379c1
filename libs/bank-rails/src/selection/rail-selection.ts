/**
 * Which rail a payment takes. A pure function of the payment, the contact's bank, the time and the
 * organization's settings; docs/rails.md has the same rules as a table.
 *
 *   INBOUND                   → ACH, standard (a debit), of an account in the US
 *   account outside the US    → SWIFT
 *   OUTBOUND, fastest         → RTP, FEDNOW, FEDWIRE, same-day ACH, standard ACH: the first that can take it
 *   OUTBOUND, cheapest        → standard ACH, same-day ACH, RTP, FEDNOW, FEDWIRE: the first that can take it
 *
 * RTP comes before FEDNOW where both can take a payment: they are equally fast, and the order is fixed so that
 * the choice can be repeated. FEDWIRE is for amounts above what instant rails and same-day ACH take. A payment
 * that nothing else can take also goes by FEDWIRE when it is smaller, or waits for the next Fedwire day.
 */
import {
  type AchService,
  type Direction,
  type PaymentRail,
  paymentRails,
  type RailDecision,
  type RailRejectionCode,
  type RailSettings,
  unreachable,
} from '@pis/domain';
import {
  achWindow,
  type BankCutoffs,
  fedwireHours,
  isSameDayOpen,
  swiftWindow,
} from '../calendar/rail-hours.js';
import { needsAddress, railLimitMinor, sameDayLimitMinor } from './rail-terms.js';

export interface RailRequest {
  readonly direction: Direction;
  /** Minor units. */
  readonly amountMinor: number;
  /** When the payment is created, milliseconds since 1970. */
  readonly atMs: number;
  /** Of the contact's account. */
  readonly swiftCode: string | null;
  /** The rails that the contact's bank takes part in; null when the routing directory does not have it: ACH alone. */
  readonly participation: readonly PaymentRail[] | null;
  readonly hasContactAddress: boolean;
}

export interface RailPolicy {
  readonly settings: RailSettings;
  /** The rails that a bank of this system is connected for. */
  readonly connectedRails: readonly PaymentRail[];
  readonly cutoffs: BankCutoffs;
  /** The most that the bank of a rail takes in one payment, minor units, where it takes less than the rail. */
  readonly bankLimitsMinor?: Partial<Record<PaymentRail, number>>;
}

/** All rails, the fastest first, no limits but the rails' own. */
export const defaultRailSettings: RailSettings = {
  allowedRails: paymentRails,
  preference: 'fastest',
  limitsMinor: {},
};

export interface RailSelection {
  readonly paymentRail: PaymentRail;
  readonly decision: RailDecision;
}

/** A way to move the money. */
interface Way {
  readonly paymentRail: PaymentRail;
  readonly achService: AchService | null;
}

const rtp: Way = { paymentRail: 'RTP', achService: null };
const fednow: Way = { paymentRail: 'FEDNOW', achService: null };
const fedwire: Way = { paymentRail: 'FEDWIRE', achService: null };
const swift: Way = { paymentRail: 'SWIFT', achService: null };
const sameDay: Way = { paymentRail: 'ACH', achService: 'same_day' };
const standard: Way = { paymentRail: 'ACH', achService: 'standard' };

/** Whoever comes first is chosen. SWIFT never competes: it alone reaches an account outside the US. */
const inOrder = {
  fastest: [rtp, fednow, fedwire, sameDay, standard, swift],
  cheapest: [standard, sameDay, rtp, fednow, fedwire, swift],
} as const satisfies Record<RailSettings['preference'], readonly Way[]>;

/** Why a way is not taken as long as there is another one. Every other code is final. */
const lastResorts: readonly RailRejectionCode[] = [
  'closed_at_this_time',
  'cheaper_rail_on_same_day',
];

export function selectRail(request: RailRequest, policy: RailPolicy): RailSelection {
  const ways =
    request.direction === 'INBOUND' ? inOrder.cheapest : inOrder[policy.settings.preference];
  const judged = ways.map((way) => ({ way, code: obstacle(way, request, policy) }));
  const chosen =
    judged.find(({ code }) => code === null) ??
    judged.find(({ way, code }) => way === fedwire && code !== null && lastResorts.includes(code));
  const rejected = judged
    .filter((one) => one !== chosen)
    .map(({ way, code }) => ({ ...way, code: code ?? ('not_preferred' as const) }));
  if (chosen === undefined)
    return {
      paymentRail: isForeign(request) ? 'SWIFT' : 'ACH',
      decision: {
        achService: null,
        isPossible: false,
        expectedSettlementAt: null,
        nextCutoffAt: null,
        rejected,
      },
    };
  const { paymentRail, achService } = chosen.way;
  const times = timesOf(chosen.way, request.atMs, policy.cutoffs);
  return { paymentRail, decision: { achService, isPossible: true, ...times, rejected } };
}

/** Why a way cannot take the payment, or null. */
function obstacle(way: Way, request: RailRequest, policy: RailPolicy): RailRejectionCode | null {
  return (
    outOfReach(way, request) ??
    notPermitted(way, request, policy) ??
    aboveLimit(way, request.amountMinor, policy) ??
    notNow(way, request, policy)
  );
}

function outOfReach(way: Way, request: RailRequest): RailRejectionCode | null {
  const { paymentRail } = way;
  if (request.direction === 'INBOUND') {
    if (paymentRail !== 'ACH') return 'direction_not_supported';
    // Its number may be that of a stranger's account in the US.
    return isOutsideUs(request.swiftCode) ? 'account_outside_us' : null;
  }
  const isSwift = paymentRail === 'SWIFT';
  if (isForeign(request)) return isSwift ? null : 'account_outside_us';
  if (isSwift) return 'account_in_us';
  // Every US bank account can be reached over ACH.
  const isReached = paymentRail === 'ACH' || request.participation?.includes(paymentRail) === true;
  return isReached ? null : 'bank_not_reachable';
}

function notPermitted(
  { paymentRail }: Way,
  { hasContactAddress }: RailRequest,
  { settings, connectedRails }: RailPolicy,
): RailRejectionCode | null {
  if (!connectedRails.includes(paymentRail)) return 'rail_not_connected';
  if (!settings.allowedRails.includes(paymentRail)) return 'rail_not_allowed';
  return needsAddress[paymentRail] && !hasContactAddress ? 'address_required' : null;
}

function aboveLimit(way: Way, amountMinor: number, policy: RailPolicy): RailRejectionCode | null {
  const { paymentRail } = way;
  const ownLimit = way === sameDay ? sameDayLimitMinor : railLimitMinor[paymentRail];
  const bankLimit = policy.bankLimitsMinor?.[paymentRail] ?? ownLimit;
  if (amountMinor > Math.min(ownLimit, bankLimit)) return 'amount_above_rail_limit';
  const limit = policy.settings.limitsMinor[paymentRail];
  return limit !== undefined && amountMinor > limit ? 'amount_above_organization_limit' : null;
}

function notNow(way: Way, request: RailRequest, policy: RailPolicy): RailRejectionCode | null {
  const { atMs } = request;
  if (way === sameDay) return isSameDayOpen(atMs, policy.cutoffs) ? null : 'closed_at_this_time';
  if (way !== fedwire) return null;
  if (!fedwireHours(atMs, policy.cutoffs).isOpen) return 'closed_at_this_time';
  // Whether they are open now does not matter: a small payment does not become a wire in the evening.
  const takesIt = (other: Way) =>
    (outOfReach(other, request) ??
      notPermitted(other, request, policy) ??
      aboveLimit(other, request.amountMinor, policy)) === null;
  return [rtp, fednow, sameDay].some(takesIt) ? 'cheaper_rail_on_same_day' : null;
}

function isForeign({ direction, swiftCode }: RailRequest): boolean {
  return direction === 'OUTBOUND' && isOutsideUs(swiftCode);
}

/** Whether the account is abroad. Characters 5 and 6 of a BIC are its country (ISO 9362). */
export function isOutsideUs(swiftCode: string | null): boolean {
  return swiftCode !== null && swiftCode.slice(4, 6).toUpperCase() !== 'US';
}

function timesOf(
  way: Way,
  atMs: number,
  cutoffs: BankCutoffs,
): Pick<RailDecision, 'expectedSettlementAt' | 'nextCutoffAt'> {
  const { paymentRail, achService } = way;
  switch (paymentRail) {
    case 'RTP':
    case 'FEDNOW':
      return { expectedSettlementAt: iso(atMs), nextCutoffAt: null };
    case 'FEDWIRE':
      return isoTimes(fedwireHours(atMs, cutoffs));
    case 'SWIFT':
      return isoTimes(swiftWindow(atMs, cutoffs));
    case 'ACH':
      return isoTimes(achWindow(atMs, achService ?? 'standard', cutoffs));
    default:
      return unreachable(paymentRail);
  }
}

function isoTimes({ settlementAt, cutoffAt }: { settlementAt: number; cutoffAt: number }) {
  return { expectedSettlementAt: iso(settlementAt), nextCutoffAt: iso(cutoffAt) };
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
