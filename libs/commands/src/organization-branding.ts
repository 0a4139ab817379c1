/** The name and the logo of an organization, as pages show them. */
import {
  organization as organizations,
  organizationNameMax,
  type LogoRecord,
  type Refusal,
} from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import { readLogo } from './png-logo.js';
import type { OrganizationNotFound, ProvisioningContext } from './provisioning.js';
import { now } from './use-case.js';

export interface OrganizationBranding {
  readonly organizationId: string;
  readonly name: string;
  readonly logo: LogoRecord | null;
}

export interface BrandingChange {
  readonly organizationId: string;
  readonly name: string;
  /** A PNG file. Null: no logo. Undefined: the logo stays as it is. */
  readonly logo?: Buffer | null | undefined;
}

export type OrganizationBrandingRefusal =
  | OrganizationNotFound
  | (Refusal<'ORGANIZATION_NAME_LENGTH'> & { readonly lengthMax: number })
  | (Refusal<'LOGO_NOT_ACCEPTED'> & { readonly problem: string });

/** @throws StoreUnavailable */
export async function setOrganizationBranding(
  { store, by }: ProvisioningContext,
  { organizationId, name: given, logo: file }: BrandingChange,
): Promise<OrganizationBranding | OrganizationBrandingRefusal> {
  const name = given.trim();
  if (name === '' || name.length > organizationNameMax)
    return { refused: 'ORGANIZATION_NAME_LENGTH', lengthMax: organizationNameMax };
  const logo = file && readLogo(file);
  if (typeof logo === 'string') return { refused: 'LOGO_NOT_ACCEPTED', problem: logo };
  const data = { name, ...(logo === undefined ? {} : { logo }) };
  const command = { type: 'SetOrganizationBranding', at: now(), data } as const;
  const set = await repository(store, organizations).execute(organizationId, command, by);
  if ('refused' in set) return { refused: 'ORGANIZATION_NOT_FOUND', organizationId };
  return { organizationId, name, logo: set.state?.logo ?? null };
}

/** @throws StoreUnavailable */
export async function organizationBranding(
  store: EventStore,
  organizationId: string,
): Promise<OrganizationBranding | OrganizationNotFound> {
  const { state } = await repository(store, organizations).load(organizationId);
  return state === null
    ? { refused: 'ORGANIZATION_NOT_FOUND', organizationId }
    : { organizationId, name: state.name, logo: state.logo };
}
