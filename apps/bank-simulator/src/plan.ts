/**
 * What the simulated bank does with a transfer, chosen by the last four digits of the contact's account
 * number (rules sandbox-1 to sandbox-15). The executor's review stops the endings 0201, 0202, 0203, 0301
 * and 0501 before they reach the bank.
 */
export type Plan =
  | { readonly name: 'accept' }
  | { readonly name: 'return'; readonly returnReasonCode: string | null }
  /** The submission itself fails. */
  | { readonly name: 'refuse' }
  /** Never confirmed, even after an inquiry. */
  | { readonly name: 'unconfirmed' }
  /** Confirmed only after an inquiry, so it is always late, whatever the clock says. */
  | { readonly name: 'late' }
  /** Accepted without a time for the confirmation. */
  | { readonly name: 'silent' };

const plans: Readonly<Record<string, Plan>> = {
  '0101': { name: 'return', returnReasonCode: 'R01' },
  '0102': { name: 'return', returnReasonCode: 'R02' },
  '0107': { name: 'return', returnReasonCode: 'R07' },
  '0199': { name: 'return', returnReasonCode: null },
  '0204': { name: 'refuse' },
  '0401': { name: 'unconfirmed' },
  '0402': { name: 'late' },
  '0502': { name: 'silent' },
};

const returnCodeMax = 85;

export function planOf(achAccountNumber: string): Plan {
  const ending = achAccountNumber.slice(-4);
  if (Object.hasOwn(plans, ending)) return plans[ending] ?? { name: 'accept' };
  const code = /^90(\d\d)$/.exec(ending)?.[1];
  if (code !== undefined && Number(code) >= 1 && Number(code) <= returnCodeMax)
    return { name: 'return', returnReasonCode: `R${code}` };
  return { name: 'accept' };
}

export type TransferStatus = 'refused' | 'pending' | 'accepted';

export interface PlannedNotification {
  readonly type: 'confirmed' | 'returned';
  readonly returnReasonCode: string | null;
  readonly afterMs: number;
}

/**
 * What happens at submission when the bank takes `delayMs` for each step: without a delay it accepts
 * at once; with one the confirmation comes through the feed after it, a return after it once more.
 */
export function courseOf(
  plan: Plan,
  delayMs: number,
): { status: TransferStatus; notifications: readonly PlannedNotification[] } {
  if (plan.name === 'refuse') return { status: 'refused', notifications: [] };
  if (plan.name !== 'accept' && plan.name !== 'return')
    return { status: 'pending', notifications: [] };
  const confirmed: PlannedNotification[] =
    delayMs === 0 ? [] : [{ type: 'confirmed', returnReasonCode: null, afterMs: delayMs }];
  const returned: PlannedNotification[] =
    plan.name === 'accept'
      ? []
      : [{ type: 'returned', returnReasonCode: plan.returnReasonCode, afterMs: 2 * delayMs }];
  return {
    status: delayMs === 0 ? 'accepted' : 'pending',
    notifications: [...confirmed, ...returned],
  };
}
