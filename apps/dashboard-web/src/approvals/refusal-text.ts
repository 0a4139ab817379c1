/** Why an approved payment could not be created, in words. */
import type { ApprovalView } from '@pis/dashboard/api';

const texts: Readonly<Record<string, string | undefined>> = {
  ORIGINATOR_NOT_FOUND: 'The originator does not exist any more.',
  CONTACT_NOT_FOUND: 'The contact does not exist any more.',
  RECIPIENT_CHANGED: 'The name or the bank account of the contact was changed after the request.',
  ORIGINATOR_CHANGED: 'The bank account of the originator was changed after the request.',
};

export function refusalText(refusal: ApprovalView['refusal']): string {
  const isTooMuch = refusal?.problems.some(
    ({ field, issue }) => field === 'paymentAmount' && issue === 'validation_max',
  );
  if (isTooMuch === true) return 'The amount is above the limits that hold now.';
  return texts[refusal?.refused ?? ''] ?? 'The request is not valid any more.';
}
