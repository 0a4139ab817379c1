/** What a banks file means for the choice of a rail: rails with a bank, and the cutoffs and limits of that bank. */
import type { PaymentRail } from '@pis/domain';
import { minutesOf, type TimeOfDay } from '../calendar/eastern-time.js';
import { alwaysOpen, type BankCutoffs, defaultCutoffs } from '../calendar/rail-hours.js';
import type { RailPolicy } from '../selection/rail-selection.js';
import type { Banks } from './bank-config.js';
import { railsOf } from './banks-file.js';

/** The first connection of a rail counts: the executor sends over it. */
export function offeredRails(banks: Banks): Omit<RailPolicy, 'settings'> {
  const connectionOf = (rail: PaymentRail) =>
    banks.connections.find(({ rails }) => rails.includes(rail));
  const ach = connectionOf('ACH');
  // A payment must be here before its file is built.
  const leadMinutes = ach?.ach?.buildLeadMinutes ?? 0;
  const { sameDay, standard } = ach?.cutoffs ?? defaultCutoffs;
  const cutoffs: BankCutoffs = {
    sameDay: sameDay.map((time) => earlier(time, leadMinutes)),
    standard: earlier(standard, leadMinutes),
    fedwire: (connectionOf('FEDWIRE')?.cutoffs ?? defaultCutoffs).fedwire,
    swift: (connectionOf('SWIFT')?.cutoffs ?? defaultCutoffs).swift,
  };
  // A file holds a payment at least.
  const bankLimitsMinor = ach?.ach ? { ACH: ach.ach.limits.amountPerFileMaxMinor } : {};
  return { connectedRails: railsOf(banks), cutoffs, bankLimitsMinor };
}

/** On the same day. */
function earlier(time: TimeOfDay, minutes: number): TimeOfDay {
  if (time === alwaysOpen) return alwaysOpen;
  const left = Math.max(0, minutesOf(time) - minutes);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(Math.floor(left / 60))}:${two(left % 60)}`;
}
