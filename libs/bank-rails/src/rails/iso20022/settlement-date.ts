/** The interbank settlement date of a transfer that is sent now, YYYY-MM-DD. */
import { unreachable } from '@pis/domain';
import { bankingDayAfter, isBankingDay } from '../../calendar/banking-days.js';
import { daysAfter, easternTime } from '../../calendar/eastern-time.js';
import { type BankCutoffs, fedwireHours } from '../../calendar/rail-hours.js';
import type { IsoRail } from './messages.js';

/** FedNow's day ends at 7 pm Eastern Time, on every day of the week. */
const fednowDayEnd = '19:00:00';

export function settlementDateOf(rail: IsoRail, at: Date, cutoffs: BankCutoffs): string {
  const { date, time } = easternTime(at.getTime());
  switch (rail) {
    case 'FEDNOW':
      return time < fednowDayEnd ? date : daysAfter(date, 1);
    case 'RTP':
      return date;
    case 'FEDWIRE':
      return fedwireHours(at.getTime(), cutoffs).settlementDate;
    case 'SWIFT':
      return isBankingDay(date) ? date : bankingDayAfter(date);
    default:
      return unreachable(rail);
  }
}
