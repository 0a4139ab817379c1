/** The amount above which a payment of the dashboard needs a second person. */
import {
  isApprovalAmount,
  maxAmountMinor,
  organization as organizations,
  type Refusal,
} from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import type { OrganizationNotFound, ProvisioningContext } from './provisioning.js';
import { now } from './use-case.js';

export interface OrganizationApprovals {
  readonly organizationId: string;
  /** Cents. Null: no payment needs a second person. */
  readonly amountAbove: number | null;
}

export type OrganizationApprovalsRefusal =
  | OrganizationNotFound
  | (Refusal<'APPROVAL_AMOUNT_OUT_OF_RANGE'> & { readonly amountMax: number });

/** It holds from now on. Approvals that exist stay as they are. @throws StoreUnavailable */
export async function setOrganizationApprovals(
  { store, by }: ProvisioningContext,
  { organizationId, amountAbove }: OrganizationApprovals,
): Promise<OrganizationApprovals | OrganizationApprovalsRefusal> {
  if (amountAbove !== null && !isApprovalAmount(amountAbove))
    return { refused: 'APPROVAL_AMOUNT_OUT_OF_RANGE', amountMax: maxAmountMinor };
  const data = { approvalAboveMinor: amountAbove };
  const command = { type: 'SetOrganizationApprovals', at: now(), data } as const;
  const set = await repository(store, organizations).execute(organizationId, command, by);
  return 'refused' in set
    ? { refused: 'ORGANIZATION_NOT_FOUND', organizationId }
    : { organizationId, amountAbove };
}

/** @throws StoreUnavailable */
export async function organizationApprovals(
  store: EventStore,
  organizationId: string,
): Promise<OrganizationApprovals | OrganizationNotFound> {
  const { state } = await repository(store, organizations).load(organizationId);
  return state === null
    ? { refused: 'ORGANIZATION_NOT_FOUND', organizationId }
    : { organizationId, amountAbove: state.approvalAboveMinor };
}
