/** How much of a transfer comes back with a return. All amounts are minor units. */
import { transferAmountMinor } from './payment-link.js';
import type { PaymentRail } from './payment-rail.js';
import type { LaterReturn } from './rail-facts.js';

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

/** Whether more of a returned transfer can come back as this amount: of what earlier returns left, and over SWIFT only. */
export function canComeBackLater(
  returnedAmountMinor: number,
  payment: Returnable & { readonly paymentRail: PaymentRail },
): boolean {
  const { keptMinor } = returnAmountsOf(payment) ?? { keptMinor: 0 };
  const isOfRest = returnedAmountMinor >= 1 && returnedAmountMinor <= keptMinor;
  return payment.paymentRail === 'SWIFT' && Number.isSafeInteger(returnedAmountMinor) && isOfRest;
}

export interface ReturnAmounts {
  /** By all returns. */
  readonly returnedMinor: number;
  /** By banks on the way. 0: the whole transfer came back. */
  readonly keptMinor: number;
}

type Returnable = Parameters<typeof transferAmountMinor>[0] & {
  readonly returnedAt: string | null;
  readonly returnedAmountMinor: number | null;
  readonly laterReturns: readonly Pick<LaterReturn, 'returnedAmountMinor'>[];
};

/** Null for a payment that was not returned. */
export function returnAmountsOf(payment: Returnable): ReturnAmounts | null {
  if (payment.returnedAt === null) return null;
  const sentMinor = transferAmountMinor(payment);
  const returnedMinor = payment.laterReturns.reduce(
    (sum, later) => sum + later.returnedAmountMinor,
    payment.returnedAmountMinor ?? sentMinor,
  );
  return { returnedMinor, keptMinor: sentMinor - returnedMinor };
}
