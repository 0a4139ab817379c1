/** The name of an account holder is fixed when the link is created: one that no rail can send fails every submission. */
import { railName } from '@pis/bank-rails';
import type { DashboardPaymentRequest, Problem } from '@pis/contracts';
import type { AccountHolder } from '@pis/domain';

const rule = 'has no letter or digit that a bank can get: write it in Latin letters';

/** Null for a name that can be sent, and for an erased holder. */
export function holderNameProblem(
  { recipient }: Pick<DashboardPaymentRequest, 'recipient'>,
  { companyName, firstName, lastName }: AccountHolder,
): Problem | null {
  const name = companyName ?? [firstName, lastName].filter(Boolean).join(' ');
  if (name === '' || railName(name) !== null) return null;
  const own = companyName === null ? 'firstName' : 'companyName';
  const field = `recipient.${'contactId' in recipient ? 'contactId' : own}`;
  return { field, issue: rule, message: `${field} ${rule}` };
}
