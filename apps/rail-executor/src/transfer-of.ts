import { railReferenceOf } from '@pis/bank-rails';
import type { Payment } from '@pis/domain';
import type { Banks } from './banks.js';
import type { Transfer } from './pending-transfers.js';

/** The claimed reference, if any: it must not change when its derivation changes. */
export function transferOf(payment: Payment, banks: Pick<Banks, 'nameOf'>): Transfer {
  const { paymentId, paymentRail, railReference } = payment;
  const reference = railReference ?? railReferenceOf(paymentId);
  return { paymentId, reference, rail: paymentRail, connection: banks.nameOf(payment) };
}
