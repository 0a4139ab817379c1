import { bankNames } from './routing-directory.data.js';

/**
 * The bank behind a routing number, or null when the directory does not have it. The directory is
 * built in and small; an unknown bank is no reason to refuse an account.
 */
export function bankNameOf(routingNumber: string): string | null {
  return Object.hasOwn(bankNames, routingNumber) ? (bankNames[routingNumber] ?? null) : null;
}
