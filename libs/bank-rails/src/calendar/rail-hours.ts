/**
 * When each rail takes a payment and when the payment then settles. The hours of the rails are the Federal
 * Reserve's: "FedACH Processing Schedule" and "Fedwire Funds Service Operating Hours". A bank's own cutoffs
 * are earlier; they come in as data. All times are Eastern Time.
 */
import { type AchService, type PaymentRail, unreachable } from '@pis/domain';
import { bankingDayAfter, isBankingDay } from './banking-days.js';
import {
  type CalendarDate,
  daysAfter,
  easternTime,
  instantOf,
  minutesOf,
  type TimeOfDay,
} from './eastern-time.js';

/**
 * In place of a time: the bank takes payments at any time, and each day counts as a banking day. No real bank
 * is like that. With it, a sandbox behaves the same at every hour.
 */
export const alwaysOpen = 'always';

/** By when the bank must have a payment, on a banking day. Each time may be `always`. */
export interface BankCutoffs {
  /** Same-day ACH: one time per file, in their order, each no later than the last FedACH deadline. */
  readonly sameDay: readonly TimeOfDay[];
  /** Standard ACH: for settlement on the next banking day. */
  readonly standard: TimeOfDay;
  readonly fedwire: TimeOfDay;
  readonly swift: TimeOfDay;
}

/** Deadlines of same-day ACH files and the settlement of each. */
const sameDayWindows = [
  { deadline: '10:30', settlement: '13:00' },
  { deadline: '14:45', settlement: '17:00' },
  { deadline: '16:45', settlement: '18:00' },
] as const;
/** FedACH settles standard entries at the beginning of the banking day. */
const standardSettlement = '08:30';
/** The Fedwire day begins in the evening before, also on a Sunday. */
const fedwireOpening = '21:00';
/** For transfers on behalf of a customer; the service itself closes at 19:00. */
const fedwireDeadline = '18:45';
/** Correspondent banks normally need this long. */
const swiftBankingDays = 2;
const swiftSettlement = '17:00';

/** The rails' own deadlines where there is one. FedACH takes standard files until 02:15 of the next day. */
export const defaultCutoffs: BankCutoffs = {
  sameDay: sameDayWindows.map(({ deadline }) => deadline),
  standard: '20:00',
  fedwire: fedwireDeadline,
  swift: swiftSettlement,
};

/** A cutoff and the settlement that it leads to. Instants are milliseconds since 1970. */
export interface RailWindow {
  readonly cutoffAt: number;
  /** The banking day. */
  readonly settlementDate: CalendarDate;
  readonly settlementAt: number;
}

/** The next ACH window of this service whose cutoff is after `atMs`. */
export function achWindow(atMs: number, service: AchService, cutoffs: BankCutoffs): RailWindow {
  return nextWindow(atMs, service === 'standard' ? 'standard' : 'sameDay', cutoffs);
}

/** Whether an entry can still settle today. */
export function isSameDayOpen(atMs: number, cutoffs: BankCutoffs): boolean {
  return cutoffs.sameDay.length > 0 && nextWindow(atMs, 'sameDay', cutoffs).opensAt <= atMs;
}

export interface FedwireHours extends RailWindow {
  readonly isOpen: boolean;
  /** When the Fedwire day opens whose cutoff is next. */
  readonly opensAt: number;
}

/** The Fedwire day that is open, or else the next one. It settles a transfer at once. */
export function fedwireHours(atMs: number, cutoffs: BankCutoffs): FedwireHours {
  const window = nextWindow(atMs, 'fedwire', cutoffs);
  const { opensAt } = window;
  return { ...window, isOpen: atMs >= opensAt, settlementAt: Math.max(atMs, opensAt) };
}

/** Banks work on SWIFT messages from the beginning of a banking day until their cutoff. */
export function swiftWindow(atMs: number, cutoffs: BankCutoffs): RailWindow {
  return nextWindow(atMs, 'swift', cutoffs);
}

/**
 * When a payment that is ready at `atMs` is handed to the bank: at once while its rail is open. ACH entries wait for
 * the cutoff of their file instead.
 */
export function railOpensAt(rail: PaymentRail, atMs: number, cutoffs: BankCutoffs): number {
  switch (rail) {
    case 'FEDWIRE':
      return Math.max(atMs, fedwireHours(atMs, cutoffs).opensAt);
    case 'SWIFT':
      return Math.max(atMs, nextWindow(atMs, 'swift', cutoffs).opensAt);
    case 'ACH':
    case 'RTP':
    case 'FEDNOW':
      return atMs;
    default:
      return unreachable(rail);
  }
}

/** @throws RangeError that names the field */
export function checkCutoffs({ sameDay, standard, fedwire, swift }: BankCutoffs): void {
  if (!sameDay.includes(alwaysOpen)) checkSameDay(sameDay);
  else if (sameDay.length > 1) throw new RangeError(`sameDay: ${alwaysOpen} stands alone`);
  if (standard !== alwaysOpen) named('standard', standard);
  if (swift !== alwaysOpen) named('swift', swift);
  if (fedwire !== alwaysOpen && named('fedwire', fedwire) > minutesOf(fedwireDeadline))
    throw new RangeError(`fedwire: later than ${fedwireDeadline}`);
}

function checkSameDay(times: readonly TimeOfDay[]): void {
  const minutes = times.map((time, at) => named(`sameDay.${at}`, time));
  const isAscending = minutes.every((value, at) => at === 0 || value > (minutes[at - 1] ?? -1));
  if (!isAscending) throw new RangeError('sameDay: not in ascending order');
  const [last = 0] = minutes.slice(-1);
  const deadline = sameDayWindows[2].deadline;
  if (last > minutesOf(deadline)) throw new RangeError(`sameDay: later than ${deadline}`);
}

function named(field: string, time: TimeOfDay): number {
  try {
    return minutesOf(time);
  } catch (cause) {
    throw new RangeError(`${field}: ${(cause as Error).message}`, { cause });
  }
}

type Kind = keyof BankCutoffs;
const settlesAfterDays = {
  sameDay: 0,
  standard: 1,
  fedwire: 0,
  swift: swiftBankingDays,
} as const satisfies Record<Kind, number>;
type Window = RailWindow & { readonly opensAt: number };
interface Known {
  readonly fromMs: number;
  readonly window: Window;
}

/**
 * The last window of each kind. It stays the next one until its cutoff, and a clock asks for it again and
 * again.
 */
const knownWindows = new WeakMap<BankCutoffs, Partial<Record<Kind, Known>>>();

function nextWindow(atMs: number, kind: Kind, cutoffs: BankCutoffs): Window {
  let windows = knownWindows.get(cutoffs);
  if (windows === undefined) knownWindows.set(cutoffs, (windows = {}));
  const known = windows[kind];
  if (known !== undefined && known.fromMs <= atMs && atMs < known.window.cutoffAt)
    return known.window;
  const times = kind === 'sameDay' ? cutoffs.sameDay : [cutoffs[kind]];
  const window = times.includes(alwaysOpen)
    ? dayOf(atMs, kind)
    : windowOf(nextCutoff(atMs, times), kind);
  windows[kind] = { fromMs: atMs, window };
  return window;
}

/** Of a bank that never closes: the calendar day in New York. */
function dayOf(atMs: number, kind: Kind): Window {
  const { date } = easternTime(atMs);
  const settlementDate = daysAfter(date, settlesAfterDays[kind]);
  const endOf = (day: CalendarDate) => instantOf(daysAfter(day, 1), '00:00');
  return {
    cutoffAt: endOf(date),
    opensAt: instantOf(date, '00:00'),
    settlementDate,
    settlementAt: endOf(settlementDate),
  };
}

function windowOf({ date, time, cutoffAt }: Cutoff, kind: Kind): Window {
  const settlingOn = (day: CalendarDate, settlement: TimeOfDay): Window => ({
    cutoffAt,
    opensAt: instantOf(date, '00:00'),
    settlementDate: day,
    settlementAt: instantOf(day, settlement),
  });
  switch (kind) {
    case 'sameDay':
      return settlingOn(date, sameDaySettlement(time));
    case 'standard':
      return settlingOn(bankingDayAfter(date), standardSettlement);
    case 'swift':
      return settlingOn(bankingDayAfter(date, swiftBankingDays), swiftSettlement);
    case 'fedwire': {
      const opensAt = instantOf(daysAfter(date, -1), fedwireOpening);
      return { cutoffAt, opensAt, settlementDate: date, settlementAt: opensAt };
    }
    default:
      return unreachable(kind);
  }
}

/** Longer than any series of days without banking: a weekend and holidays around it. */
const daysWithoutBankingMax = 7;

interface Cutoff {
  readonly date: CalendarDate;
  readonly time: TimeOfDay;
  readonly cutoffAt: number;
}

function nextCutoff(atMs: number, times: readonly TimeOfDay[]): Cutoff {
  const today = easternTime(atMs).date;
  for (let days = 0; days <= daysWithoutBankingMax; days += 1) {
    const date = daysAfter(today, days);
    if (!isBankingDay(date)) continue;
    for (const time of times) {
      const cutoffAt = instantOf(date, time);
      if (cutoffAt > atMs) return { date, time, cutoffAt };
    }
  }
  throw new RangeError('there is no cutoff');
}

function sameDaySettlement(cutoff: TimeOfDay): TimeOfDay {
  const window = sameDayWindows.find(({ deadline }) => minutesOf(cutoff) <= minutesOf(deadline));
  if (window === undefined) throw new RangeError(`same-day ACH does not take files at ${cutoff}`);
  return window.settlement;
}
