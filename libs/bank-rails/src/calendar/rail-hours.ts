/**
 * When each rail takes a payment and when the payment then settles. The hours of the rails are the Federal
 * Reserve's: "FedACH Processing Schedule" and "Fedwire Funds Service Operating Hours". A bank's own cutoffs
 * are earlier; they come in as data. All times are Eastern Time.
 */
import type { AchService } from '@pis/domain';
import { bankingDayAfter, isBankingDay } from './banking-days.js';
import {
  type CalendarDate,
  daysAfter,
  easternTime,
  instantOf,
  minutesOf,
  type TimeOfDay,
} from './eastern-time.js';

/** By when the bank must have a payment, on a banking day. */
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
  if (service === 'standard') {
    const { date, cutoffAt } = nextCutoff(atMs, [cutoffs.standard]);
    return windowOf(cutoffAt, bankingDayAfter(date), standardSettlement);
  }
  const { date, time, cutoffAt } = nextCutoff(atMs, cutoffs.sameDay);
  return windowOf(cutoffAt, date, sameDaySettlement(time));
}

export interface FedwireHours extends RailWindow {
  readonly isOpen: boolean;
  /** When the Fedwire day opens whose cutoff is next. */
  readonly opensAt: number;
}

/** The Fedwire day that is open, or else the next one. It settles a transfer at once. */
export function fedwireHours(atMs: number, cutoffs: BankCutoffs): FedwireHours {
  const { date, cutoffAt } = nextCutoff(atMs, [cutoffs.fedwire]);
  const opensAt = instantOf(daysAfter(date, -1), fedwireOpening);
  const settlementAt = Math.max(atMs, opensAt);
  return { isOpen: atMs >= opensAt, opensAt, cutoffAt, settlementDate: date, settlementAt };
}

/** SWIFT messages are taken at any time. Banks work on them until their cutoff. */
export function swiftWindow(atMs: number, cutoffs: BankCutoffs): RailWindow {
  const { date, cutoffAt } = nextCutoff(atMs, [cutoffs.swift]);
  return windowOf(cutoffAt, bankingDayAfter(date, swiftBankingDays), swiftSettlement);
}

/** @throws RangeError that names the field */
export function checkCutoffs({ sameDay, standard, fedwire, swift }: BankCutoffs): void {
  const minutes = sameDay.map((time, at) => named(`sameDay.${at}`, time));
  const isAscending = minutes.every((value, at) => at === 0 || value > (minutes[at - 1] ?? -1));
  if (!isAscending) throw new RangeError('sameDay: not in ascending order');
  const [last = 0] = minutes.slice(-1);
  const deadline = sameDayWindows[2].deadline;
  if (last > minutesOf(deadline)) throw new RangeError(`sameDay: later than ${deadline}`);
  named('standard', standard);
  named('swift', swift);
  if (named('fedwire', fedwire) > minutesOf(fedwireDeadline))
    throw new RangeError(`fedwire: later than ${fedwireDeadline}`);
}

function named(field: string, time: TimeOfDay): number {
  try {
    return minutesOf(time);
  } catch (cause) {
    throw new RangeError(`${field}: ${(cause as Error).message}`, { cause });
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

function windowOf(cutoffAt: number, date: CalendarDate, settlement: TimeOfDay): RailWindow {
  return { cutoffAt, settlementDate: date, settlementAt: instantOf(date, settlement) };
}

function sameDaySettlement(cutoff: TimeOfDay): TimeOfDay {
  const window = sameDayWindows.find(({ deadline }) => minutesOf(cutoff) <= minutesOf(deadline));
  if (window === undefined) throw new RangeError(`same-day ACH does not take files at ${cutoff}`);
  return window.settlement;
}
