/** When an entry goes into a file, and when it settles. */
import type { AchService } from '@pis/domain';
import { easternTime } from '../../calendar/eastern-time.js';
import { achWindow, type BankCutoffs, defaultCutoffs } from '../../calendar/rail-hours.js';

/** All times are milliseconds since the epoch. */
export interface AchSchedule {
  /** When the file is built that takes an entry submitted at this time. */
  buildAt(service: AchService, submittedAtMs: number): number;
  /** The settlement that an entry asks for whose file is built at this time. */
  settlement(service: AchService, builtAtMs: number): AchSettlement;
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
      achWindow(submittedAtMs + leadMs, service, cutoffs).cutoffAt - leadMs,
    settlement: (service, builtAtMs) => settlementAt(service, builtAtMs, cutoffs),
  };
}

/** The sandbox: a file at once. */
export function atOnceSchedule(cutoffs: BankCutoffs = defaultCutoffs): AchSchedule {
  return {
    buildAt: (_service, submittedAtMs) => submittedAtMs,
    settlement: (service, builtAtMs) => settlementAt(service, builtAtMs, cutoffs),
  };
}

function settlementAt(service: AchService, atMs: number, cutoffs: BankCutoffs): AchSettlement {
  const { settlementDate, settlementAt } = achWindow(atMs, service, cutoffs);
  const sameDayAt = service === 'same_day' ? easternTime(settlementAt).time.slice(0, 5) : null;
  return { effectiveDate: settlementDate, sameDayAt };
}
