/** The sentence for each reason why a rail was not chosen. It names no amount, account or party. */
import type { RailRejectionCode, RejectedRail } from '@pis/domain';

const texts = {
  direction_not_supported: 'collects no money: an INBOUND payment is an ACH debit',
  account_outside_us:
    'does not reach the account: its SWIFT code is of another country than the US',
  account_in_us: 'is only for accounts with a SWIFT code of another country than the US',
  rail_not_connected: 'is not offered by this service',
  rail_not_allowed: 'is not allowed by the settings of your organization',
  bank_not_reachable: "does not reach the contact's bank",
  address_required: "requires the contact's postal address: set legalAddress",
  amount_above_rail_limit: 'does not take an amount this large',
  amount_above_organization_limit:
    'does not take an amount this large by the settings of your organization',
  closed_at_this_time: 'is closed at this time',
  cheaper_rail_on_same_day: 'is for amounts that cheaper rails of the same day do not take',
  not_preferred: 'could take the payment, but another rail is preferred',
} as const satisfies Record<RailRejectionCode, string>;

/** For people; the wording may change. */
export function railRejectionText({ paymentRail, achService, code }: RejectedRail): string {
  const name = achService === 'same_day' ? 'Same-day ACH' : paymentRail;
  return `${name} ${texts[code]}.`;
}
