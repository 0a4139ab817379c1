/** When an entry goes into a file, and when it settles. */
import type { AchService } from '@pis/domain';
import { bankingDayAfter } from '../../calendar/banking-days.js';
import { easternTime, instantOf } from '../../calendar/eastern-time.js';
import {
  achWindow,
  type BankCutoffs,
  defaultCutoffs,
  type RailWindow,
} from '../../calendar/rail-hours.js';

/** All times are milliseconds since the epoch. */
export interface AchSchedule {
  /** When the file is built that takes an entry submitted at this time. */
  buildAt(service: AchService, submittedAtMs: number): number;
  /** The settlement that an entry asks for whose file is built at this time. */
  settlement(service: AchService, builtAtMs: number): AchSettlement;
  /** When the first payment may follow a prenote that the bank got at this time. Never earlier for a later time. */
  liveFrom(prenoteSentAtMs: number): number;
}

export interface AchSettlement {
  /** YYYY-MM-DD, a banking day. */
  readonly effectiveDate: string;
  /** HH:MM in Eastern Time, the time of the same-day window. Null for standard entries. */
  readonly sameDayAt: string | null;
}

/** Production: a file at each of the bank's cutoffs, `leadMs` before it. The upload must fit into that time. */
export function cutoffSchedule(cutoffs: BankCutoffs, leadMs: number): AchSchedule {
  return {
    buildAt: (service, submittedAtMs) =>
      windowOf(service, submittedAtMs + leadMs, cutoffs).cutoffAt - leadMs,
    settlement: (service, builtAtMs) => settlementAt(service, builtAtMs, cutoffs),
    liveFrom: (sentAtMs) => {
      const { effectiveDate } = settlementAt('standard', sentAtMs, cutoffs);
      return instantOf(bankingDayAfter(effectiveDate, prenoteBankingDays), '00:00');
    },
  };
}

/** The sandbox: a file at once, and three banking days are three seconds. */
export function atOnceSchedule(cutoffs: BankCutoffs = defaultCutoffs): AchSchedule {
  return {
    buildAt: (_service, submittedAtMs) => submittedAtMs,
    settlement: (service, builtAtMs) => settlementAt(service, builtAtMs, cutoffs),
    liveFrom: (sentAtMs) => sentAtMs + sandboxPrenoteMs,
  };
}

/**
 * "As soon as the third Banking Day following the Settlement Date of the Prenotification Entry" (Nacha Operating Rules,
 * Subsection 2.6.3). A return or a notification of change comes by the opening of business on the second one.
 */
const prenoteBankingDays = 3;
const sandboxPrenoteMs = 3_000;

function settlementAt(service: AchService, atMs: number, cutoffs: BankCutoffs): AchSettlement {
  const { settlementDate, settlementAt } = windowOf(service, atMs, cutoffs);
  const isSameDay = service === 'same_day' && hasSameDay(cutoffs);
  const sameDayAt = isSameDay ? easternTime(settlementAt).time.slice(0, 5) : null;
  return { effectiveDate: settlementDate, sameDayAt };
}

/** The bank may have taken same-day entries when a payment was created, and take none any more. */
function windowOf(service: AchService, atMs: number, cutoffs: BankCutoffs): RailWindow {
  return achWindow(atMs, hasSameDay(cutoffs) ? service : 'standard', cutoffs);
}

function hasSameDay({ sameDay }: BankCutoffs): boolean {
  return sameDay.length > 0;
}
