/** Examples of the choice of a rail. */
import type { RailRejectionCode } from '@pis/domain';
import type { RailEvaluationView, RejectedRailView } from '../rail-view.js';
import { timestamp } from './examples.js';

const rejectedRail = (
  paymentRail: RejectedRailView['paymentRail'],
  code: RailRejectionCode,
  reason: string,
): RejectedRailView => ({ paymentRail, achService: null, code, reason });
const inUs = rejectedRail(
  'SWIFT',
  'account_in_us',
  'SWIFT is only for accounts with a SWIFT code of another country than the US.',
);
export const railEvaluation: RailEvaluationView = {
  paymentRail: 'RTP',
  achService: null,
  expectedSettlementAt: timestamp,
  nextCutoffAt: null,
  rejectedRails: [
    rejectedRail('FEDNOW', 'bank_not_reachable', "FEDNOW does not reach the contact's bank."),
    rejectedRail(
      'FEDWIRE',
      'cheaper_rail_on_same_day',
      'FEDWIRE is for amounts that cheaper rails of the same day do not take.',
    ),
    {
      paymentRail: 'ACH',
      achService: 'same_day',
      code: 'not_preferred',
      reason: 'Same-day ACH could take the payment, but another rail is preferred.',
    },
    {
      paymentRail: 'ACH',
      achService: 'standard',
      code: 'not_preferred',
      reason: 'ACH could take the payment, but another rail is preferred.',
    },
    inUs,
  ],
};
export const railEvaluationWithout: RailEvaluationView = {
  paymentRail: null,
  achService: null,
  expectedSettlementAt: null,
  nextCutoffAt: null,
  rejectedRails: [
    {
      paymentRail: 'ACH',
      achService: 'standard',
      code: 'rail_not_allowed',
      reason: 'ACH is not allowed by the settings of your organization.',
    },
    inUs,
  ],
};
