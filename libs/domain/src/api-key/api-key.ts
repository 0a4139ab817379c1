/**
 * API key: what a client authenticates with. The stream is `apiKey-<SHA-256 of the key>`, so that a
 * request finds it without an index and the key itself is stored nowhere.
 */
import { type Aggregate, type Decision, type DomainCommand, type DomainEvent } from '../decider.js';

export const apiKeyTypes = ['full_access', 'read_only', 'webhook_admin'] as const;
export type ApiKeyType = (typeof apiKeyTypes)[number];

export const environments = ['sandbox', 'production'] as const;
export type Environment = (typeof environments)[number];

export interface ApiKeyRecord {
  readonly apiKeyId: string;
  /** SHA-256 of the key, hex. */
  readonly digest: string;
  readonly organizationId: string;
  readonly keyType: ApiKeyType;
  readonly environment: Environment;
  /** ISO 8601, or null for a key that does not expire. */
  readonly expiresAt: string | null;
}

export type ApiKeyEvent =
  | DomainEvent<'ApiKeyCreated', ApiKeyRecord>
  | DomainEvent<'ApiKeyRevoked', { readonly apiKeyId: string }>;

export type ApiKeyState =
  | (ApiKeyRecord & { readonly createdAt: string; readonly revokedAt: string | null })
  | null;

export type ApiKeyCommand =
  | DomainCommand<'CreateApiKey', ApiKeyRecord>
  | DomainCommand<'RevokeApiKey', Record<string, never>>;

export type ApiKeyRefusal = 'API_KEY_ALREADY_EXISTS' | 'API_KEY_NOT_FOUND';

function decide(command: ApiKeyCommand, state: ApiKeyState): Decision<ApiKeyEvent, ApiKeyRefusal> {
  const { at } = command;
  if (command.type === 'CreateApiKey')
    return state === null
      ? [{ type: 'ApiKeyCreated', at, data: command.data }]
      : { refused: 'API_KEY_ALREADY_EXISTS' };
  if (state === null) return { refused: 'API_KEY_NOT_FOUND' };
  return state.revokedAt === null
    ? [{ type: 'ApiKeyRevoked', at, data: { apiKeyId: state.apiKeyId } }]
    : [];
}

function evolve(state: ApiKeyState, event: ApiKeyEvent): ApiKeyState {
  if (event.type === 'ApiKeyCreated')
    return { ...event.data, createdAt: event.at, revokedAt: null };
  if (state === null) throw new Error('the first event of an API key cannot be ApiKeyRevoked');
  return { ...state, revokedAt: event.at };
}

/** Whether the key opens the API of `environment` at the time `at`. */
export function isUsable(state: ApiKeyState, environment: Environment, at: string): boolean {
  return (
    state !== null &&
    state.revokedAt === null &&
    state.environment === environment &&
    (state.expiresAt === null || Date.parse(at) < Date.parse(state.expiresAt))
  );
}

export const apiKey: Aggregate<ApiKeyState, ApiKeyCommand, ApiKeyEvent, ApiKeyRefusal> = {
  category: 'apiKey',
  initial: null,
  decide,
  evolve,
  schemaVersions: { ApiKeyCreated: 1, ApiKeyRevoked: 1 },
};
