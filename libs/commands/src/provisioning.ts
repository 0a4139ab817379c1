/** What an operator sets up before a client can call: organizations, originators and API keys. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { RoutingDirectory } from '@pis/bank-rails';
import { type OriginatorCreateRequest, originatorCreateSchema, validate } from '@pis/contracts';
import {
  apiKey as apiKeys,
  type ApiKeyRecord,
  type ApiKeyType,
  type Environment,
  type FeeSchedule,
  organization as organizations,
  organizationNameMax,
  originator as originators,
  type Refusal,
} from '@pis/domain';
import { type CommandContext, type EventStore, repository } from '@pis/event-store';
import { type Keyring, ownerOf } from '@pis/keyring';
import { z } from 'zod';
import { PartyAccounts } from './party-accounts.js';
import { type InvalidRequest, invalidRequest, now } from './use-case.js';

export interface ProvisioningContext {
  readonly store: EventStore;
  /** Who does it, for the metadata of the events. */
  readonly by: CommandContext;
}

interface AboutOrganization<Code extends string> extends Refusal<Code> {
  readonly organizationId: string;
}

export type OrganizationNotFound = AboutOrganization<'ORGANIZATION_NOT_FOUND'>;

export type OrganizationCreationRefusal =
  | AboutOrganization<'ORGANIZATION_ALREADY_EXISTS'>
  | (Refusal<'ORGANIZATION_NAME_LENGTH'> & { readonly lengthMax: number });

export type OriginatorCreationRefusal =
  | InvalidRequest
  | OrganizationNotFound
  | (Refusal<'ORIGINATOR_ALREADY_EXISTS'> & { readonly originatorId: string });

export type ApiKeyCreationRefusal =
  | OrganizationNotFound
  | Refusal<'EXPIRY_NOT_ISO_8601' | 'EXPIRY_NOT_IN_FUTURE' | 'API_KEY_ALREADY_EXISTS'>
  | (Refusal<'API_KEY_PREFIX'> & { readonly environment: Environment; readonly prefix: string });

export type ApiKeyRevocationRefusal = Refusal<'API_KEY_NOT_FOUND'>;

export type ProvisioningRefusal =
  | OrganizationCreationRefusal
  | OriginatorCreationRefusal
  | ApiKeyCreationRefusal
  | ApiKeyRevocationRefusal;

const noFees: FeeSchedule = { discountBasisPoints: 0, flatFeeMinor: 0, returnFeeMinor: 0 };

/** @throws StoreUnavailable */
export async function createOrganization(
  { store, by }: ProvisioningContext,
  input: {
    readonly name: string;
    readonly feeSchedule?: FeeSchedule;
    readonly organizationId?: string;
  },
): Promise<{ organizationId: string } | OrganizationCreationRefusal> {
  const name = input.name.trim();
  if (name === '' || name.length > organizationNameMax)
    return { refused: 'ORGANIZATION_NAME_LENGTH', lengthMax: organizationNameMax };
  const organizationId = input.organizationId ?? randomUUID();
  const data = { organizationId, name, feeSchedule: input.feeSchedule ?? noFees };
  const command = { type: 'CreateOrganization', at: now(), data } as const;
  const created = await repository(store, organizations).create(organizationId, command, by);
  return 'refused' in created ? { ...created, organizationId } : { organizationId };
}

/**
 * `input` has the contact-create fields less originatorId, bankAccount required, and is judged by
 * the same rules.
 * @throws StoreUnavailable
 */
export async function createOriginator(
  context: ProvisioningContext,
  options: {
    readonly organizationId: string;
    readonly input: unknown;
    readonly keyring: Keyring;
    readonly banks: RoutingDirectory;
    readonly originatorId?: string;
  },
): Promise<{ originatorId: string } | OriginatorCreationRefusal> {
  const { store, by } = context;
  const { organizationId, keyring, banks } = options;
  const validated = validate<OriginatorCreateRequest>(originatorCreateSchema, options.input);
  if (!validated.ok) return invalidRequest(validated.problems);
  if (!(await exists(store, organizationId)))
    return { refused: 'ORGANIZATION_NOT_FOUND', organizationId };

  const originatorId = options.originatorId ?? randomUUID();
  const { bankAccount, ...profile } = validated.value;
  const owner = ownerOf.originator(originatorId);
  const data = {
    originatorId,
    organizationId,
    ...profile,
    bankAccount: await new PartyAccounts(keyring, banks).seal(owner, bankAccount),
  };
  const command = { type: 'CreateOriginator', at: now(), data } as const;
  const created = await repository(store, originators).create(originatorId, command, by);
  return 'refused' in created
    ? { refused: 'ORIGINATOR_ALREADY_EXISTS', originatorId }
    : { originatorId };
}

const keyPrefixes = { sandbox: 'pis_test_', production: 'pis_live_' } as const;
const keyBytes = 32;
/** A day begins in UTC; a time names its zone, or it would be another one on another machine. */
const expirySchema = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** The only form in which a key is kept: SHA-256, hex; it names the stream `apiKey-<digest>`. */
export function digestOfApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/**
 * The key itself is in the answer and nowhere else.
 * @throws StoreUnavailable
 */
export async function createApiKey(
  { store, by }: ProvisioningContext,
  input: {
    readonly organizationId: string;
    readonly type: ApiKeyType;
    readonly environment: Environment;
    /** ISO 8601: a date, or a time with its offset. */
    readonly expiresAt?: string | null;
    /** A given value instead of a random one. */
    readonly apiKey?: string | undefined;
  },
): Promise<{ apiKeyId: string; apiKey: string; type: ApiKeyType } | ApiKeyCreationRefusal> {
  const at = now();
  const expiresAt = input.expiresAt ?? null;
  if (expiresAt !== null && !expirySchema.safeParse(expiresAt).success)
    return { refused: 'EXPIRY_NOT_ISO_8601' };
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.parse(at))
    return { refused: 'EXPIRY_NOT_IN_FUTURE' };
  const { organizationId, environment } = input;
  if (!(await exists(store, organizationId)))
    return { refused: 'ORGANIZATION_NOT_FOUND', organizationId };

  const prefix = keyPrefixes[environment];
  const apiKey = input.apiKey ?? prefix + randomBytes(keyBytes).toString('base64url');
  if (!apiKey.startsWith(prefix)) return { refused: 'API_KEY_PREFIX', environment, prefix };
  const data: ApiKeyRecord = {
    apiKeyId: randomUUID(),
    digest: digestOfApiKey(apiKey),
    organizationId,
    keyType: input.type,
    environment,
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  };
  const command = { type: 'CreateApiKey', at, data } as const;
  const created = await repository(store, apiKeys).create(data.digest, command, by);
  return 'refused' in created
    ? { refused: 'API_KEY_ALREADY_EXISTS' }
    : { apiKeyId: data.apiKeyId, apiKey, type: input.type };
}

/** Revoking a revoked key changes nothing. @throws StoreUnavailable */
export async function revokeApiKey(
  { store, by }: ProvisioningContext,
  { digest }: { readonly digest: string },
): Promise<{ apiKeyId: string; revokedAt: string } | ApiKeyRevocationRefusal> {
  const command = { type: 'RevokeApiKey', at: now(), data: {} } as const;
  const result = await repository(store, apiKeys).execute(digest, command, by);
  if ('refused' in result || result.state === null) return { refused: 'API_KEY_NOT_FOUND' };
  const { apiKeyId, revokedAt } = result.state;
  return { apiKeyId, revokedAt: revokedAt ?? command.at };
}

async function exists(store: EventStore, organizationId: string): Promise<boolean> {
  return (await repository(store, organizations).load(organizationId)).state !== null;
}
