/** API keys and users: what belongs to administrators. */
import { createApiKey, revokeApiKey } from '@pis/commands';
import { problem } from '@pis/contracts';
import { apiKey as apiKeys, type Environment } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import { ApiError, invalid, notFound, type OwnWrites, Turns } from '@pis/http-api';
import {
  type ApiKeyItem,
  apiKeysInUseMax,
  type DirectoryQuery,
  findApiKeyDigest,
} from '@pis/read-models';
import type { Logger } from '@pis/service-kit';
import type { UserChangeRefusal, UserCreationRefusal, Users } from '@pis/users';
import type pg from 'pg';
import type { administrationOperations, UnreadableUser } from '../operations/administration.js';
import type { ChangeLimit } from '../change-limit.js';
import type { Handlers } from '../routes.js';

export interface AdministrationServices {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly users: Users;
  readonly query: DirectoryQuery;
  readonly ownWrites: OwnWrites;
  readonly environment: Environment;
  readonly changes: ChangeLimit;
  readonly logger: Logger;
}

/**
 * Of an organization: an ID that no listed key has is searched in the whole log, and the other organizations need the
 * connections. Keys that are listed do not wait.
 */
const searchTurns = { atOnceMax: 1, sizeMax: 20 } as const;

export function administrationHandlers(
  services: AdministrationServices,
): Handlers<keyof typeof administrationOperations> {
  return { ...keyHandlers(services), ...userHandlers(services) };
}

function keyHandlers(services: AdministrationServices) {
  const { store, pool, query, ownWrites, environment, changes } = services;
  const searches = new Turns(searchTurns);
  /** The next list shows what was just written. */
  const written = async (organizationId: string) =>
    ownWrites.note('directory', organizationId, await store.lastPosition());
  const listed = async (organizationId: string) => {
    await ownWrites.visible('directory', organizationId);
    return query.apiKeys(organizationId);
  };
  return {
    async listApiKeys({ organizationId }) {
      return (await listed(organizationId)).map(
        ({ apiKeyId, keyType, createdAt, expiresAt, revokedAt }) => ({
          ...{ apiKeyId, type: keyType, createdAt, expiresAt, revokedAt },
        }),
      );
    },
    async createApiKey({ organizationId, body, by }) {
      if ((await listed(organizationId)).filter(isInUse).length >= apiKeysInUseMax)
        throw new ApiError('CONFLICT', `${apiKeysInUseMax} keys are in use: revoke one first`);
      changes.take(organizationId);
      const { type, expiresAt = null } = body;
      const input = { organizationId, type, expiresAt, environment };
      const created = await createApiKey({ store, by }, input);
      if ('refused' in created) throw keyError(created.refused);
      await written(organizationId);
      return created;
    },
    async revokeApiKey({ organizationId, ids, by }) {
      const digest = await findApiKeyDigest(pool, store, ids.apiKeyId, (search) =>
        searches.take(organizationId, search),
      );
      const { state } =
        digest === null ? { state: null } : await repository(store, apiKeys).load(digest);
      if (digest === null || state?.organizationId !== organizationId) throw notFound('API key');
      await revokeApiKey({ store, by }, { digest });
      await written(organizationId);
      return null;
    },
  } satisfies Handlers<'listApiKeys' | 'createApiKey' | 'revokeApiKey'>;
}

function isInUse({ revokedAt, expiresAt }: ApiKeyItem): boolean {
  return revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > Date.now());
}

function keyError(refused: string): ApiError {
  if (refused === 'EXPIRY_NOT_ISO_8601')
    return invalid([problem('expiresAt', 'validation_datetime')]);
  if (refused === 'EXPIRY_NOT_IN_FUTURE') return invalid([problem('expiresAt', 'validation_min')]);
  return new ApiError('CONFLICT', 'the key cannot be created');
}

function userHandlers({ users, changes, logger }: AdministrationServices) {
  /** Administrators who lock themselves out may leave nobody to undo it. */
  const requireOther = (own: string, userId: string) => {
    if (own === userId) throw new ApiError('CONFLICT', 'another administrator must do this');
  };
  return {
    async listUsers({ organizationId }) {
      const unreadable: UnreadableUser[] = [];
      const listed = await users.list(organizationId, (userId, err) => {
        logger.warn({ err, userId }, 'a user cannot be read');
        unreadable.push({ userId, unreadable: true });
      });
      return [...listed, ...unreadable];
    },
    async createUser({ organizationId, body, by }) {
      changes.check(organizationId);
      const created = await users.create({ organizationId, ...body }, by);
      if (!('refused' in created)) return created;
      // Who asks for many addresses learns who has a user in other organizations.
      if (created.refused === 'EMAIL_IN_USE') changes.take(organizationId);
      throw userError(created);
    },
    async changeUserRole({ user, organizationId, ids, body, by }) {
      requireOther(user.userId, ids.userId);
      changes.take(organizationId);
      check(await users.changeRole({ ...ids, organizationId }, body.role, by));
      return null;
    },
    async disableUser({ user, organizationId, ids, by }) {
      requireOther(user.userId, ids.userId);
      check(await users.disable({ ...ids, organizationId }, by));
      return null;
    },
    async enableUser({ organizationId, ids, by }) {
      changes.take(organizationId);
      check(await users.enable({ ...ids, organizationId }, by));
      return null;
    },
    async resetUser({ user, organizationId, ids, by }) {
      requireOther(user.userId, ids.userId);
      changes.take(organizationId);
      const reset = await users.reset({ ...ids, organizationId }, null, by);
      if ('refused' in reset) throw userError(reset);
      return { ...ids, password: reset.password };
    },
  } satisfies Handlers<
    'listUsers' | 'createUser' | 'changeUserRole' | 'disableUser' | 'enableUser' | 'resetUser'
  >;
}

function check(refusal: void | UserChangeRefusal): void {
  if (refusal !== undefined) throw userError(refusal);
}

function userError({ refused }: UserCreationRefusal | UserChangeRefusal): ApiError {
  switch (refused) {
    case 'USER_NOT_FOUND':
      return notFound('user');
    case 'LAST_ADMIN':
      return new ApiError('CONFLICT', 'the organization would have no administrator');
    case 'EMAIL_IN_USE':
      return new ApiError('CONFLICT', 'a user has this e-mail address');
    case 'TOO_MANY_USERS':
      return new ApiError('CONFLICT', 'the organization has as many users as it may have');
    case 'EMAIL_INVALID':
      return invalid([problem('email', 'validation_email')]);
    case 'PASSWORD_LENGTH':
      return invalid([problem('password', 'validation_min_length')]);
    case 'ORGANIZATION_NOT_FOUND':
      return notFound('organization');
  }
}
