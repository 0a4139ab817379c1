/** The filter of the list of approvals, as it is in the address, and how the states read. */
import type { ApprovalState } from '@pis/dashboard/api';

export const stateNames = {
  WAITING: 'Waiting',
  APPROVED: 'Approved',
  CREATED: 'Payment created',
  REFUSED: 'Could not be created',
  REJECTED: 'Rejected',
  WITHDRAWN: 'Withdrawn',
  EXPIRED: 'Expired',
  ENDED: 'Ended',
} as const satisfies Record<ApprovalState, string>;

export interface ApprovalSearch {
  readonly state?: ApprovalState;
}

/** Of an address, whatever it says. */
export function approvalSearchOf({ state }: Record<string, unknown>): ApprovalSearch {
  const isState = typeof state === 'string' && Object.hasOwn(stateNames, state);
  return isState ? { state: state as ApprovalState } : {};
}
