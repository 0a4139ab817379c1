/** The retention period of an organization: how long personal data and bank files of its payments are kept. */
import {
  isRetentionYears,
  organization as organizations,
  type Refusal,
  retentionYearsMax,
} from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import type { OrganizationNotFound, ProvisioningContext } from './provisioning.js';
import { now } from './use-case.js';

export interface OrganizationRetention {
  readonly organizationId: string;
  /** Null: the organization has none of its own, and that of the installation holds. */
  readonly retentionYears: number | null;
}

export type OrganizationRetentionRefusal =
  | OrganizationNotFound
  | (Refusal<'RETENTION_YEARS_OUT_OF_RANGE'> & { readonly yearsMax: number });

/** It holds from now on, also for what is kept already. @throws StoreUnavailable */
export async function setOrganizationRetention(
  { store, by }: ProvisioningContext,
  { organizationId, retentionYears }: OrganizationRetention,
): Promise<OrganizationRetention | OrganizationRetentionRefusal> {
  if (retentionYears !== null && !isRetentionYears(retentionYears))
    return { refused: 'RETENTION_YEARS_OUT_OF_RANGE', yearsMax: retentionYearsMax };
  const data = { retentionYears };
  const command = { type: 'SetOrganizationRetention', at: now(), data } as const;
  const set = await repository(store, organizations).execute(organizationId, command, by);
  return 'refused' in set
    ? { refused: 'ORGANIZATION_NOT_FOUND', organizationId }
    : { organizationId, retentionYears };
}

/** @throws StoreUnavailable */
export async function organizationRetention(
  store: EventStore,
  organizationId: string,
): Promise<OrganizationRetention | OrganizationNotFound> {
  const { state } = await repository(store, organizations).load(organizationId);
  return state === null
    ? { refused: 'ORGANIZATION_NOT_FOUND', organizationId }
    : { organizationId, retentionYears: state.retentionYears };
}
