import { railReferenceOf } from '@pis/bank-rails';
import type { Payment } from '@pis/domain';
import type { Transfer } from './pending-transfers.js';

/** The reference that was claimed, if any: it must not change with the way it is derived. */
export function transferOf({ paymentId, paymentRail, railReference }: Payment): Transfer {
  const reference = railReference ?? railReferenceOf(paymentId);
  return { paymentId, reference, rail: paymentRail };
}
