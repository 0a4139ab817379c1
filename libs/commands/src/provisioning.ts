/** What an operator sets up before a client can call: organizations, originators and API keys. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  type OriginatorCreateRequest,
  originatorCreateSchema,
  type Problem,
  validate,
} from '@pis/contracts';
import {
  apiKey as apiKeys,
  type ApiKeyRecord,
  type ApiKeyType,
  type Environment,
  type FeeSchedule,
  organization as organizations,
  originator as originators,
} from '@pis/domain';
import { type CommandContext, type EventStore, repository } from '@pis/event-store';
import { type Keyring, ownerOf, sealBankAccount } from '@pis/keyring';
import { z } from 'zod';

export interface ProvisioningContext {
  readonly store: EventStore;
  /** Who does it, for the metadata of the events. */
  readonly by: CommandContext;
}

/** Give up and tell the operator: the request cannot be fulfilled as it stands. */
export class ProvisioningRefused extends Error {
  override readonly name = 'ProvisioningRefused';
  constructor(
    message: string,
    readonly problems: readonly Problem[] = [],
  ) {
    super([message, ...problems.map((problem) => `  ${problem.message}`)].join('\n'));
  }
}

const noFees: FeeSchedule = { discountBasisPoints: 0, flatFeeMinor: 0, returnFeeMinor: 0 };
const nameLengthMax = 200;

/** @throws ProvisioningRefused for an empty or overlong name, or an id that is taken */
export async function createOrganization(
  { store, by }: ProvisioningContext,
  input: {
    readonly name: string;
    readonly feeSchedule?: FeeSchedule;
    readonly organizationId?: string;
  },
): Promise<{ organizationId: string }> {
  const name = input.name.trim();
  if (name === '' || name.length > nameLengthMax)
    throw new ProvisioningRefused(`a name has 1 to ${nameLengthMax} characters`);
  const organizationId = input.organizationId ?? randomUUID();
  const data = { organizationId, name, feeSchedule: input.feeSchedule ?? noFees };
  const command = { type: 'CreateOrganization', at: now(), data } as const;
  const created = await repository(store, organizations).create(organizationId, command, by);
  if ('refused' in created)
    throw new ProvisioningRefused(`organization ${organizationId} exists already`);
  return { organizationId };
}

/**
 * `input` has the contact-create fields less originatorId, bankAccount required, and is judged by
 * the same rules.
 * @throws ProvisioningRefused with every problem of the input, or when there is no such organization
 */
export async function createOriginator(
  context: ProvisioningContext,
  options: {
    readonly organizationId: string;
    readonly input: unknown;
    readonly keyring: Keyring;
    /** The routing directory; without one the bank's name is not known. */
    readonly bankNameOf?: (achRoutingNumber: string) => string | null;
    readonly originatorId?: string;
  },
): Promise<{ originatorId: string }> {
  const { store, by } = context;
  const { organizationId, keyring, bankNameOf = () => null } = options;
  const validated = validate<OriginatorCreateRequest>(originatorCreateSchema, options.input);
  if (!validated.ok)
    throw new ProvisioningRefused('the originator is not valid:', validated.problems);
  await requireOrganization(store, organizationId);

  const originatorId = options.originatorId ?? randomUUID();
  const { bankAccount, ...profile } = validated.value;
  const dataKey = keyring.createDataKey();
  const bankName = bankNameOf(bankAccount.achRoutingNumber);
  const owner = ownerOf.originator(originatorId);
  const data = {
    originatorId,
    organizationId,
    ...profile,
    bankAccount: sealBankAccount(keyring, dataKey, owner, bankAccount, bankName),
    dataKey,
  };
  const command = { type: 'CreateOriginator', at: now(), data } as const;
  const created = await repository(store, originators).create(originatorId, command, by);
  if ('refused' in created)
    throw new ProvisioningRefused(`originator ${originatorId} exists already`);
  return { originatorId };
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
 * @throws ProvisioningRefused for an unknown organization, an expiry in the past, or a key in use
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
): Promise<{ apiKeyId: string; apiKey: string; type: ApiKeyType }> {
  const at = now();
  const expiresAt = input.expiresAt ?? null;
  if (expiresAt !== null && !expirySchema.safeParse(expiresAt).success)
    throw new ProvisioningRefused('the expiry must be in ISO 8601: 2027-01-31T12:00:00Z');
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.parse(at))
    throw new ProvisioningRefused('the expiry must be in the future');
  await requireOrganization(store, input.organizationId);

  const prefix = keyPrefixes[input.environment];
  const apiKey = input.apiKey ?? prefix + randomBytes(keyBytes).toString('base64url');
  if (!apiKey.startsWith(prefix))
    throw new ProvisioningRefused(`a key of the ${input.environment} begins with ${prefix}`);
  const data: ApiKeyRecord = {
    apiKeyId: randomUUID(),
    digest: digestOfApiKey(apiKey),
    organizationId: input.organizationId,
    keyType: input.type,
    environment: input.environment,
    expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  };
  const command = { type: 'CreateApiKey', at, data } as const;
  const created = await repository(store, apiKeys).create(data.digest, command, by);
  if ('refused' in created) throw new ProvisioningRefused('this key exists already');
  return { apiKeyId: data.apiKeyId, apiKey, type: input.type };
}

/** Revoking a revoked key changes nothing. @throws ProvisioningRefused for an unknown key */
export async function revokeApiKey(
  { store, by }: ProvisioningContext,
  { digest }: { readonly digest: string },
): Promise<{ apiKeyId: string; revokedAt: string }> {
  const command = { type: 'RevokeApiKey', at: now(), data: {} } as const;
  const result = await repository(store, apiKeys).execute(digest, command, by);
  if ('refused' in result || result.state === null)
    throw new ProvisioningRefused('there is no such API key');
  const { apiKeyId, revokedAt } = result.state;
  return { apiKeyId, revokedAt: revokedAt ?? command.at };
}

async function requireOrganization(store: EventStore, organizationId: string): Promise<void> {
  const { state } = await repository(store, organizations).load(organizationId);
  if (state === null) throw new ProvisioningRefused(`there is no organization ${organizationId}`);
}

function now(): string {
  return new Date().toISOString();
}
