/** The rail settings of an organization: which rails its payments may take, and which first. */
import { defaultRailSettings } from '@pis/bank-rails';
import {
  railSettingsSchema,
  railSettingsView,
  type RailSettingsView,
  validate,
} from '@pis/contracts';
import { organization as organizations } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import type { OrganizationNotFound, ProvisioningContext } from './provisioning.js';
import { type InvalidRequest, invalidRequest, now } from './use-case.js';

export type OrganizationRailsRefusal = OrganizationNotFound | InvalidRequest;

/**
 * Replaces all settings.
 * @param input RailSettingsView; what it lacks is as before any setting
 * @throws StoreUnavailable
 */
export async function setOrganizationRails(
  { store, by }: ProvisioningContext,
  organizationId: string,
  input: unknown,
): Promise<RailSettingsView | OrganizationRailsRefusal> {
  const validated = validate<RailSettingsView>(railSettingsSchema, input);
  if (!validated.ok) return invalidRequest(validated.problems);
  const { allowedRails, preference, limits } = validated.value;
  const data = { allowedRails: [...new Set(allowedRails)], preference, limitsMinor: limits };
  const command = { type: 'SetOrganizationRails', at: now(), data } as const;
  const set = await repository(store, organizations).execute(organizationId, command, by);
  return 'refused' in set
    ? { refused: 'ORGANIZATION_NOT_FOUND', organizationId }
    : railSettingsView(data);
}

/** Those in force. @throws StoreUnavailable */
export async function organizationRails(
  store: EventStore,
  organizationId: string,
): Promise<RailSettingsView | OrganizationNotFound> {
  const { state } = await repository(store, organizations).load(organizationId);
  return state === null
    ? { refused: 'ORGANIZATION_NOT_FOUND', organizationId }
    : railSettingsView(state.railSettings ?? defaultRailSettings);
}
