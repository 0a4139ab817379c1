import { railReferenceOf } from '@pis/bank-rails';
import type { Payment } from '@pis/domain';
import { type Banks, unknownConnection } from './banks.js';
import type { PendingTransfer, Transfer } from './pending-transfers.js';

/** The claimed reference, if any: it must not change when its derivation changes. */
export function transferOf(payment: Payment, banks: Pick<Banks, 'nameOf'>): Transfer {
  const { paymentId, paymentRail, railReference } = payment;
  const reference = railReference ?? railReferenceOf(paymentId);
  return { paymentId, reference, rail: paymentRail, connection: banks.nameOf(payment) };
}

/** Over the connection of its row: that bank may have it, also when its rail is configured for another one by now. */
export function over(row: PendingTransfer, transfer: Transfer): Transfer {
  const { connection } = row;
  return connection === unknownConnection ? transfer : { ...transfer, connection };
}
