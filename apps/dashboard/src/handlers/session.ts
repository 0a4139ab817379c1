/** Signing in and out, and what users change about themselves. */
import { organization as organizations, type User } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import { ApiError, invalid, notFound } from '@pis/http-api';
import { passwordRule, type SignIn, totpUri, type Users } from '@pis/users';
import { isOfUser } from '../attendance.js';
import { beginSession, causeOf, clientOf, endSessionOf } from '../oidc/oidc-sign-in.js';
import type { Me } from '../operations/session.js';
import { qrCodeOf } from '../qr-code.js';
import type { ChangeLimit } from '../change-limit.js';
import type { RecordedActions } from '../recorded-actions.js';
import type { Handlers } from '../routes.js';
import type { SessionCookie } from '../session-cookie.js';
import type { SignInLimit } from '../sign-in-limit.js';
import type { sessionOperations } from '../operations/session.js';

export interface SessionServices {
  readonly store: EventStore;
  readonly signIn: SignIn;
  readonly users: Users;
  readonly cookie: SessionCookie;
  readonly limit: SignInLimit;
  readonly changes: ChangeLimit;
  readonly actions: RecordedActions;
  readonly environment: Me['environment'];
}

/** The same for a wrong password, an unknown address, a wrong code, a disabled user and a locked account. */
const wrongCredentials = () =>
  new ApiError(
    'UNAUTHORIZED',
    'The e-mail address, the password or the code is wrong. Five failures lock an account for 15 minutes.',
  );

export function sessionHandlers(
  services: SessionServices,
): Handlers<keyof typeof sessionOperations> {
  const { signIn, users, cookie, limit, changes } = services;
  const meOf = (user: User) => meWith(services, user);

  return {
    async signIn({ body, request, reply }) {
      const { email, password, code = null } = body;
      const [client, cause] = [clientOf(request), causeOf(request)];
      const result = await limit.attempt(
        request.ip,
        () => signIn.signIn({ email, password, code, client, cause }),
        (one) => 'refused' in one && one.refused === 'WRONG_CREDENTIALS',
      );
      if ('refused' in result) {
        if (result.refused === 'CODE_REQUIRED') return { next: 'code' };
        throw wrongCredentials();
      }
      await beginSession(services, request, reply, result);
      return { next: 'dashboard', me: await meOf(result.user) };
    },

    /**
     * Works without a session, too: the cookie goes in any case. It stays only with a session that goes on, because the
     * store cannot be reached.
     */
    async signOut({ request, reply }) {
      const token = cookie.read(request);
      if (token !== null) await endSessionOf(token, services, request);
      cookie.clear(request, reply);
      return null;
    },

    me: ({ user }) => meOf(user),

    async session({ request }) {
      const token = cookie.read(request);
      const user =
        token === null ? null : await signIn.userOf(token, { isOfUser: isOfUser(request) });
      return user && meOf(user);
    },

    async changePassword({ user, body, by, request, reply }) {
      await proveAgain(services, request.ip, user, body.password, body.code ?? null);
      changes.take(user.userId);
      const changed = await users.changePassword(user, body.newPassword, by);
      if ('refused' in changed) throw passwordProblem('newPassword');
      const { passwordHash, sessionEpoch } = changed;
      const begun = await signIn.begin(
        { user: { ...user, sessionEpoch }, passwordHash },
        clientOf(request),
      );
      if ('refused' in begun) throw new ApiError('UNAUTHORIZED', 'sign in again');
      cookie.set(request, reply, begun.token);
      return null;
    },

    async prepareOneTimeCodes({ user, body, request }) {
      await proveAgain(services, request.ip, user, body.password, body.code ?? null);
      const secret = await users.prepareTotp(user.userId);
      const { organizationName } = await meOf(user);
      const uri = totpUri(secret, organizationName, user.email ?? user.userId);
      return { secret, qrCode: await qrCodeOf(uri) };
    },

    async confirmOneTimeCodes({ user, body, by }) {
      changes.take(user.userId);
      const refusal = await users.confirmTotp(user, body.code, by);
      if (refusal !== undefined) throw codeProblem();
      return null;
    },

    async disableOneTimeCodes({ user, body, by, request, reply }) {
      const proven = await proveAgain(services, request.ip, user, body.password, body.code);
      changes.take(user.userId);
      const disabled = await users.disableTotp(user, by);
      if ('refused' in disabled) throw new ApiError('UNAUTHORIZED', 'sign in again');
      const { sessionEpoch } = disabled;
      const begun = await signIn.begin(
        { ...proven, user: { ...user, sessionEpoch } },
        clientOf(request),
      );
      if ('refused' in begun) throw new ApiError('UNAUTHORIZED', 'sign in again');
      cookie.set(request, reply, begun.token);
      return null;
    },

    ...ownSessionHandlers(services),
  };
}

/** Only what ends a session is recorded: each one took a sign-in, so these records are bounded, too. */
function ownSessionHandlers({ actions, signIn }: SessionServices) {
  return {
    listSessions: ({ user, token }) => signIn.sessionsOf(user, token),
    async endSession({ user, token, ids: { sessionId }, by }) {
      const sessions = await signIn.sessionsOf(user, token);
      if (!sessions.some((one) => one.sessionId === sessionId)) throw notFound('session');
      const action = { name: 'endSession', user, subject: { sessionId } } as const;
      await actions.endingSession(action, by, async () => {
        if (!(await signIn.endSession(user.userId, sessionId))) throw notFound('session');
      });
      return null;
    },
    async endOtherSessions({ user, token, by }) {
      const sessions = await signIn.sessionsOf(user, token);
      if (sessions.every(({ isCurrent }) => isCurrent)) return null;
      await actions.endingSession({ name: 'endOtherSessions', user }, by, () =>
        signIn.endOtherSessions(user.userId, token),
      );
      return null;
    },
  } satisfies Handlers<'listSessions' | 'endSession' | 'endOtherSessions'>;
}

/** @throws ApiError VALIDATION_ERROR, RATE_LIMITED */
async function proveAgain(
  { signIn, limit }: SessionServices,
  address: string,
  { userId }: User,
  password: string,
  code: string | null,
) {
  const proven = await limit.attempt(
    address,
    () => signIn.proveAgain(userId, password, code),
    (one) => 'refused' in one,
  );
  if ('refused' in proven)
    throw invalid([
      {
        field: 'password',
        issue: 'validation_enum',
        message: 'The password or the code is wrong.',
      },
    ]);
  return proven;
}

function passwordProblem(field: string): ApiError {
  return invalid([{ field, issue: 'validation_min_length', message: passwordRule }]);
}

function codeProblem(): ApiError {
  return invalid([
    { field: 'code', issue: 'validation_enum', message: 'this is not the code of this moment' },
  ]);
}

async function meWith({ store, environment }: SessionServices, user: User): Promise<Me> {
  const { userId, organizationId, email, role, hasTotp } = user;
  const { state } = await repository(store, organizations).load(organizationId);
  return {
    userId,
    organizationId,
    organizationName: state?.name ?? '',
    email,
    role,
    oneTimeCodes: hasTotp,
    environment,
  };
}
