/** API keys and users: what belongs to administrators. */
import { emailSchema } from '@pis/contracts';
import { apiKeyTypes, type ApiKeyType, userRoles } from '@pis/domain';
import type { UserView } from '@pis/users';
import { z } from 'zod';
import { op } from '../operation.js';

export interface ApiKeyView {
  readonly apiKeyId: string;
  readonly type: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

const role = z.enum(userRoles);
/** The password of a user who must be given a new one. It is shown this once. */
export interface NewPassword {
  readonly userId: string;
  readonly password: string;
}

/** The reason is in the log, for operators. */
export interface UnreadableUser {
  readonly userId: string;
  readonly unreadable: true;
}

export const administrationOperations = {
  listApiKeys: op<readonly ApiKeyView[]>()({ method: 'GET', path: '/api-keys', role: 'admin' }),
  /** The key is in this answer and nowhere else. */
  createApiKey: op<{ apiKeyId: string; apiKey: string; type: ApiKeyType }>()({
    method: 'POST',
    path: '/api-keys',
    role: 'admin',
    body: z.object({ type: z.enum(apiKeyTypes), expiresAt: z.string().nullish() }),
  }),
  revokeApiKey: op<null>()({
    method: 'POST',
    path: '/api-keys/:apiKeyId/revoke',
    role: 'admin',
  }),
  /** Those that cannot be read come last. */
  listUsers: op<readonly (UserView | UnreadableUser)[]>()({
    method: 'GET',
    path: '/users',
    role: 'admin',
  }),
  createUser: op<NewPassword>()({
    method: 'POST',
    path: '/users',
    role: 'admin',
    body: z.object({ email: emailSchema, role }),
  }),
  /** Nobody changes their own role. */
  changeUserRole: op<null>()({
    method: 'POST',
    path: '/users/:userId/role',
    role: 'admin',
    body: z.object({ role }),
  }),
  /** Nobody disables themselves. */
  disableUser: op<null>()({ method: 'POST', path: '/users/:userId/disable', role: 'admin' }),
  enableUser: op<null>()({ method: 'POST', path: '/users/:userId/enable', role: 'admin' }),
  resetUser: op<NewPassword>()({ method: 'POST', path: '/users/:userId/reset', role: 'admin' }),
} as const;
