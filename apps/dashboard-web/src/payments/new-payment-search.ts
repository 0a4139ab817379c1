/** What the address of a new payment says: for whom it is, and which way the money goes. */
import { isId } from '../parties/party-search.js';

export interface NewPaymentSearch {
  readonly direction?: 'INBOUND' | 'OUTBOUND';
  readonly contactId?: string;
}

/** Of an address, whatever it says. */
export function newPaymentSearchOf({
  direction,
  contactId,
}: Record<string, unknown>): NewPaymentSearch {
  return {
    ...(direction === 'INBOUND' || direction === 'OUTBOUND' ? { direction } : {}),
    ...(isId(contactId) ? { contactId } : {}),
  };
}
