import { railReferenceOf } from '@pis/bank-rails';
import type { Payment } from '@pis/domain';
import type { Transfer } from './pending-transfers.js';

/** The claimed reference, if any: it must not change when its derivation changes. */
export function transferOf({ paymentId, paymentRail, railReference }: Payment): Transfer {
  const reference = railReference ?? railReferenceOf(paymentId);
  return { paymentId, reference, rail: paymentRail };
}
