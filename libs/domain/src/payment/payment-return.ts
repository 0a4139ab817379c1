/** How much of a transfer comes back with a return. All amounts are minor units. */
import { transferAmountMinor } from './payment-link.js';
import type { PaymentRail } from './payment-rail.js';

/**
 * Whether a transfer can come back as this amount. Correspondent banks of SWIFT keep charges. On every other rail the
 * whole transfer comes back, or nothing.
 */
export function canComeBack(
  returnedAmountMinor: number,
  { paymentRail, sentAmountMinor }: { paymentRail: PaymentRail; sentAmountMinor: number },
): boolean {
  if (returnedAmountMinor === sentAmountMinor) return true;
  const isLess = returnedAmountMinor >= 1 && returnedAmountMinor < sentAmountMinor;
  return paymentRail === 'SWIFT' && Number.isSafeInteger(returnedAmountMinor) && isLess;
}

export interface ReturnAmounts {
  readonly returnedMinor: number;
  /** By banks on the way. 0: the whole transfer came back. */
  readonly keptMinor: number;
}

type Returnable = Parameters<typeof transferAmountMinor>[0] & {
  readonly returnedAt: string | null;
  readonly returnedAmountMinor: number | null;
};

/** Null for a payment that was not returned. */
export function returnAmountsOf(payment: Returnable): ReturnAmounts | null {
  if (payment.returnedAt === null) return null;
  const sentMinor = transferAmountMinor(payment);
  const returnedMinor = payment.returnedAmountMinor ?? sentMinor;
  return { returnedMinor, keptMinor: sentMinor - returnedMinor };
}
