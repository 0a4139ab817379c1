/**
 * Checks before the rail: what a rail would reject is rejected before the claim, with the field and what to
 * do. A check that the rail makes anyway is better made here: nothing was sent, and the message is ours.
 */
import { railRejectionText, type RailRejection } from '@pis/bank-rails';
import type { Payment } from '@pis/domain';

/** Of a payment that no rail could take when it was created; null when a rail was chosen. */
export function rejectionWithoutRail({ railDecision, contact }: Payment): RailRejection | null {
  if (railDecision?.isPossible !== false) return null;
  const needsAddress = railDecision.rejected.some(({ code }) => code === 'address_required');
  if (needsAddress && (contact?.legalAddress ?? null) === null)
    return rejected(
      'contact',
      'legalAddress',
      "The contact's legalAddress is missing and its bank can only be reached with it: update the contact, then create a new payment.",
    );
  const reasons = railDecision.rejected.map(railRejectionText).join(' ');
  const reason = `No rail can take this payment. ${reasons}`;
  return { failureCode: 'INTERNAL_ERROR', field: null, message: reason, reason, railCode: null };
}

export function rejected(
  party: 'originator' | 'contact',
  field: string,
  message: string,
): RailRejection {
  const failureCode = party === 'contact' ? 'INVALID_CONTACT_DATA' : 'INVALID_ORIGINATOR_DATA';
  return { failureCode, field, message, reason: message, railCode: null };
}
