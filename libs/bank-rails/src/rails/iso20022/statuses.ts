/** What the status of a pacs.002 means: ExternalPaymentTransactionStatus1Code. */
import type { IsoRailProfile } from './profile.js';

export type StatusMeaning =
  | 'accepted'
  /** The bank has it, and confirms it within the rail's normal time. */
  | 'received'
  /** The bank has it, and names no time. */
  | 'held'
  | 'rejected'
  | 'unknown';

/**
 * ACWP: accepted, the posting comes later. BLCK: the money is with the receiving bank, which has blocked it.
 * Both have moved funds, so what follows is a return and no rejection. ACCP (the customer was checked), ACWC
 * (something will be changed) and ACSP (settlement is under way) come before the settlement: a rejection may
 * still follow.
 */
const meanings: Readonly<Record<string, StatusMeaning>> = {
  ACSC: 'accepted',
  ACCC: 'accepted',
  ACWP: 'accepted',
  BLCK: 'accepted',
  RCVD: 'received',
  ACTC: 'received',
  ACFC: 'received',
  ACCP: 'received',
  ACWC: 'received',
  ACSP: 'received',
  PDNG: 'held',
  RJCT: 'rejected',
  CANC: 'rejected',
};

export function meaningOfStatus(status: string, profile: IsoRailProfile): StatusMeaning {
  if (profile.alsoAccepted.includes(status)) return 'accepted';
  return Object.hasOwn(meanings, status) ? (meanings[status] ?? 'unknown') : 'unknown';
}
