/**
 * Both ends of a sign-in with the OpenID provider: the button of the sign-in page asks for the provider's
 * address, and the provider sends the browser back to the callback. Only users who exist already can sign in so.
 */
import {
  addressOf,
  ApiError,
  contextBy,
  networkOf,
  notFound,
  type RateLimit,
  RateLimited,
} from '@pis/http-api';
import type { Logger, LogWatch } from '@pis/service-kit';
import type { Cause, OpenSession, SessionClient, SignedIn, SignIn } from '@pis/users';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { oidcOperations } from '../operations/oidc.js';
import type { RecordedActions } from '../recorded-actions.js';
import type { Handlers } from '../routes.js';
import type { SessionCookie } from '../session-cookie.js';
import type { SignInLimit } from '../sign-in-limit.js';
import type { OidcAttempts } from './oidc-attempts.js';
import { callbackPath, type OidcProvider, OidcRefused, OidcUnavailable } from './oidc-provider.js';

export interface OidcServices {
  readonly provider: OidcProvider | null;
  readonly attempts: OidcAttempts;
  readonly name: string;
  readonly signIn: SignIn;
  readonly cookie: SessionCookie;
  readonly limit: SignInLimit;
  readonly actions: RecordedActions;
  readonly logger: Logger;
}

/** What the sign-in page says about it. */
export type OidcProblem = 'refused' | 'unavailable' | 'limited';

const appPath = '/dashboard';

export function oidcHandlers({
  provider,
  attempts,
  name,
  signIn,
  cookie,
  logger,
}: OidcServices): Handlers<keyof typeof oidcOperations> {
  return {
    signInOptions: () => ({ oidc: provider === null ? null : { name } }),
    async beginOidc({ body, request, reply }) {
      if (provider === null) throw notFound('OpenID provider');
      const token = cookie.read(request);
      const session = token === null ? null : await signIn.sessionOf(token);
      const former = session && { userId: session.user.userId, sessionId: session.sessionId };
      try {
        const { url, attempt } = await provider.begin();
        attempts.keep(request, reply, { ...attempt, next: ownPath(body.next ?? '/'), former });
        return { url };
      } catch (error) {
        if (!(error instanceof OidcUnavailable)) throw error;
        logger.warn({ reason: error.message }, 'the OpenID provider cannot be reached');
        throw new ApiError('SERVICE_UNAVAILABLE', `${name} does not answer`);
      }
    },
  };
}

/** Only a path of the app: nobody's link leads elsewhere after the sign-in. */
export function ownPath(next: string): string {
  const base = `https://app.invalid${appPath}`;
  if (!/^\/(?![/\\])/.test(next) || !URL.canParse(`${base}${next}`)) return '/';
  const { origin, pathname, search, hash } = new URL(`${base}${next}`);
  const isOwn = origin === 'https://app.invalid' && pathname.startsWith(`${appPath}/`);
  return isOwn ? `${pathname.slice(appPath.length)}${search}${hash}` : '/';
}

export function addOidcCallback(
  server: FastifyInstance,
  services: OidcServices,
  { strangerLimit, logWatch }: { readonly strangerLimit: RateLimit; readonly logWatch: LogWatch },
): void {
  const { provider, limit, logger } = services;
  if (provider === null) return;
  const config = { publicRoute: 'dashboard' } as const;
  server.get(callbackPath, { config }, async (request, reply) => {
    reply.header('Cache-Control', 'no-store');
    try {
      strangerLimit.take(networkOf(request.ip));
      logWatch.check();
      const next = await limit.attempt(
        request.ip,
        () => finish(request, reply, { ...services, provider }),
        (result) => result === null,
      );
      if (next !== null) return await reply.redirect(`${appPath}${next}`, 303);
      return await back(reply, 'refused');
    } catch (error) {
      if (error instanceof RateLimited) return await back(reply, 'limited');
      const reason = error instanceof OidcUnavailable ? error.message : (error as Error).name;
      logger.warn({ reason }, 'a sign-in with the OpenID provider could not be finished');
      return await back(reply, 'unavailable');
    }
  });
}

/** Where in the app to go on; null when the sign-in is refused. @throws OidcUnavailable, StoreUnavailable */
async function finish(
  request: FastifyRequest,
  reply: FastifyReply,
  services: OidcServices & { readonly provider: OidcProvider },
): Promise<string | null> {
  const { provider, attempts, signIn, logger } = services;
  const query = new URL(request.url, 'https://app.invalid').searchParams;
  const attempt = attempts.take(request, reply, query.get('state') ?? '');
  if (attempt === null || !(await attempts.use(attempt))) return null;
  let email: string;
  try {
    email = await provider.finish(query.toString(), attempt);
  } catch (error) {
    if (!(error instanceof OidcRefused)) throw error;
    logger.warn({ reason: error.message }, 'a sign-in with the OpenID provider was refused');
    return null;
  }
  const signedIn = await signIn.signInElsewhere(email, clientOf(request), causeOf(request));
  if ('refused' in signedIn) return null;
  const former = attempt.former && (await signIn.openSession(attempt.former));
  if (former !== null) await endSession(former, services, request);
  await beginSession(services, request, reply, signedIn);
  return attempt.next;
}

type SessionEnd = Pick<OidcServices, 'signIn' | 'actions'>;

/** A session that somebody put into this browser ends here. */
export async function beginSession(
  { cookie, ...services }: SessionEnd & Pick<OidcServices, 'cookie'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { token }: SignedIn,
): Promise<void> {
  const former = cookie.read(request);
  if (former !== null) await endSessionOf(former, services, request);
  cookie.set(request, reply, token);
}

/** Ends the session of a token, as an action of its user. @throws StoreUnavailable when it cannot be recorded */
export async function endSessionOf(
  token: string,
  services: SessionEnd,
  request: FastifyRequest,
): Promise<void> {
  const { signIn } = services;
  const session = await signIn.sessionOf(token);
  await (session === null ? signIn.signOut(token) : endSession(session, services, request));
}

/** Requests that end one session at the same time are one action. @throws StoreUnavailable */
async function endSession(
  { user, sessionId }: OpenSession,
  { signIn, actions }: SessionEnd,
  request: FastifyRequest,
): Promise<void> {
  const by = contextBy(`user:${user.userId}`, request, `user:${user.userId}`);
  const action = { name: 'signOut', user, actionId: sessionId } as const;
  await actions.endingSession(action, by, () => signIn.endSession(user.userId, sessionId));
}

/** What a session's user sees of the browser that it began with. */
export function clientOf(request: FastifyRequest): SessionClient {
  return { address: addressOf(request), userAgent: request.headers['user-agent'] ?? null };
}

/** Why a sign-in happens. Its actor is known once the credentials were checked. The address is part of the action. */
export function causeOf(request: FastifyRequest): Cause {
  const { actor: _nobody, ...cause } = contextBy('', request, null);
  return cause;
}

function back(reply: FastifyReply, problem: OidcProblem): FastifyReply {
  return reply.redirect(`${appPath}/sign-in?problem=${problem}`, 303);
}
