/** The time zone of an organization: months of fees and statements begin and end by it. */
import { isTimeZone, organization as organizations, type Refusal } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import type { OrganizationNotFound, ProvisioningContext } from './provisioning.js';
import { now } from './use-case.js';

export interface OrganizationTimeZone {
  readonly organizationId: string;
  /** A name of the IANA database. */
  readonly timeZone: string;
}

export type OrganizationTimeZoneRefusal = OrganizationNotFound | Refusal<'TIME_ZONE_UNKNOWN'>;

/** It holds for months that have not been closed. @throws StoreUnavailable */
export async function setOrganizationTimeZone(
  { store, by }: ProvisioningContext,
  { organizationId, timeZone }: OrganizationTimeZone,
): Promise<OrganizationTimeZone | OrganizationTimeZoneRefusal> {
  if (!isTimeZone(timeZone)) return { refused: 'TIME_ZONE_UNKNOWN' };
  const command = { type: 'SetOrganizationTimeZone', at: now(), data: { timeZone } } as const;
  const set = await repository(store, organizations).execute(organizationId, command, by);
  return 'refused' in set
    ? { refused: 'ORGANIZATION_NOT_FOUND', organizationId }
    : { organizationId, timeZone };
}

/** @throws StoreUnavailable */
export async function organizationTimeZone(
  store: EventStore,
  organizationId: string,
): Promise<OrganizationTimeZone | OrganizationNotFound> {
  const { state } = await repository(store, organizations).load(organizationId);
  return state === null
    ? { refused: 'ORGANIZATION_NOT_FOUND', organizationId }
    : { organizationId, timeZone: state.timeZone };
}
