/** A bank that reports what a test says. */
import type { BankConnection, BankNotification } from '@pis/bank-rails';

/** The bank with these reports as its feed. What one leaves out is a confirmation of now, without particulars. */
export function reporting(
  bank: BankConnection,
  reports: readonly Partial<BankNotification>[],
): BankConnection {
  const notifications = reports.map((report, index) => ({
    ...{ reference: '', type: 'confirmed' as const, at: new Date().toISOString() },
    ...{ returnReasonCode: null, returnReference: null, returnedAmount: null },
    ...{ sentAmountMinor: null, rejection: null, correction: null },
    ...report,
    sequence: `${index + 1}`,
  }));
  return {
    ...bank,
    notifications: ({ after }) => {
      const rest = notifications.slice(Number(after));
      return Promise.resolve({ notifications: rest, cursor: `${notifications.length}` });
    },
  };
}
