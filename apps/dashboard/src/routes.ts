/**
 * The routes of the dashboard's API: one for each operation of the table. Before a body is read they check, in
 * this order: the origin, the session, the rate limit, the role. A handler runs only for who passed.
 */
import { validate } from '@pis/contracts';
import type { User } from '@pis/domain';
import { type CommandContext, StoreUnavailable, TimeLimit, withTimeLimit } from '@pis/event-store';
import {
  accepted,
  answer,
  ApiError,
  bodyOf,
  contextBy,
  type Given,
  idIn,
  networkOf,
  type RateLimit,
  requireJson,
  slowBodyMs,
} from '@pis/http-api';
import type { LogWatch } from '@pis/service-kit';
import { HashingBusy, type SignIn } from '@pis/users';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isOfUser } from './attendance.js';
import type { BodyOf, DataOf, Declared, IdsOf, QueryOf } from './operation.js';
import { mayCall, type OperationName, type Operations, operations } from './operations.js';
import { requireSameOrigin } from './same-origin.js';
import type { SessionCookie } from './session-cookie.js';

export const apiPath = '/dashboard/api';

/** What a handler gets: checked. */
export interface Call<Operation> {
  readonly ids: IdsOf<Operation>;
  readonly query: QueryOf<Operation>;
  /** The query and its validation, for a handler that reports further problems with it. */
  readonly givenQuery: Given<QueryOf<Operation>>;
  readonly body: BodyOf<Operation>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export interface SignedInCall<Operation> extends Call<Operation> {
  readonly user: User;
  readonly organizationId: string;
  /** The session's token. */
  readonly token: string;
  /** The user as actor of events. */
  readonly by: CommandContext;
}

type CallOf<Operation> = Operation extends { readonly role: 'anyone' }
  ? Call<Operation>
  : SignedInCall<Operation>;

/** A page of a list: `meta.pagination` comes with it. */
export class Paged<Data> {
  constructor(
    readonly data: Data,
    readonly pagination: { readonly limit: number; readonly nextCursor: string | null },
  ) {}
}

type ResultOf<Operation> = Operation extends { readonly isStream: true }
  ? NodeJS.ReadableStream
  : DataOf<Operation> | Paged<DataOf<Operation>>;

export type HandlerOf<Operation> = (
  call: CallOf<Operation>,
) => Promise<ResultOf<Operation>> | ResultOf<Operation>;

/** One handler for each operation. */
export type Handlers<Names extends OperationName = OperationName> = {
  readonly [Name in Names]: HandlerOf<Operations[Name]>;
};

export interface RouteOptions {
  readonly handlers: Partial<Handlers>;
  readonly signIn: SignIn;
  readonly cookie: SessionCookie;
  readonly logWatch: LogWatch;
  /** Of each user. */
  readonly userLimit: RateLimit;
  /** Of each network: requests with a cookie that is no session, and of operations that need none. */
  readonly strangerLimit: RateLimit;
  readonly publicUrl: string | undefined;
  readonly timeoutMs: number;
  readonly isSandbox: boolean;
}

interface Session {
  readonly user: User;
  readonly token: string;
}

const sessions = new WeakMap<FastifyRequest, Session>();

/** @throws Error for an operation without a handler */
export function addRoutes(server: FastifyInstance, options: RouteOptions): void {
  for (const [name, operation] of Object.entries<Declared>(operations)) {
    if (operation.sandboxOnly === true && !options.isSandbox) continue;
    const handler = options.handlers[name as OperationName];
    if (handler === undefined) throw new Error(`the operation ${name} has no handler`);
    server.route({
      method: operation.method,
      url: `${apiPath}${operation.path}`,
      // Nobody would read the stream of an answer without a body, or end it.
      exposeHeadRoute: operation.isStream !== true,
      config: { publicRoute: 'dashboard' },
      onRequest: (request) => admit(operation, request, options),
      // Sound: the handler of this operation.
      handler: (request, reply) =>
        handle(operation, handler as unknown as Handle, { request, reply }, options),
    });
  }
}

/** @throws ApiError FORBIDDEN, UNAUTHORIZED, RATE_LIMITED, UNSUPPORTED_MEDIA_TYPE */
async function admit(
  operation: Declared,
  request: FastifyRequest,
  options: RouteOptions,
): Promise<void> {
  requireSameOrigin(request, options.publicUrl);
  // It may look at the tables for anybody.
  if (operation.role === 'anyone') options.strangerLimit.take(networkOf(request.ip));
  else {
    const session = await sessionOf(operation, request, options);
    options.userLimit.take(session.user.userId);
    requireRole(session, operation);
    sessions.set(request, session);
  }
  requireJson(request);
  if (operation.method !== 'GET' || operation.isRecorded === true) options.logWatch.check();
}

/** @throws ApiError FORBIDDEN */
function requireRole({ user: { role } }: Session, operation: Declared): void {
  if (!mayCall(role, operation)) throw new ApiError('FORBIDDEN', `the role ${role} cannot do this`);
}

/** @throws ApiError UNAUTHORIZED, RATE_LIMITED */
async function sessionOf(
  operation: Declared,
  request: FastifyRequest,
  { cookie, signIn, strangerLimit }: RouteOptions,
): Promise<Session> {
  const token = cookie.read(request);
  if (token === null) throw new ApiError('UNAUTHORIZED', 'sign in first');
  const network = networkOf(request.ip);
  // Counts until the result is known: many at the same time must not all pass.
  strangerLimit.take(network);
  const user = await signIn.userOf(token, {
    isOfUser: operation.isOfPage !== true && isOfUser(request),
  });
  if (user === null) throw new ApiError('UNAUTHORIZED', 'the session has ended; sign in again');
  strangerLimit.giveBack(network);
  return { user, token };
}

/**
 * Whoever may act now. The user may have been disabled or demoted, or have signed out, while the body came.
 * @throws ApiError UNAUTHORIZED, FORBIDDEN, RATE_LIMITED
 */
async function sessionAfterBody(
  operation: Declared,
  { request, reply }: Exchange,
  options: RouteOptions,
): Promise<Session | undefined> {
  if (operation.role === 'anyone') return undefined;
  const admitted = sessions.get(request);
  // No request reaches a handler that the hook did not admit.
  if (admitted === undefined) throw new ApiError('FORBIDDEN', 'the request was not admitted');
  const session =
    reply.elapsedTime < slowBodyMs ? admitted : await sessionOf(operation, request, options);
  requireRole(session, operation);
  return session;
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

type Handle = (call: SignedInCall<Declared>) => unknown;

async function handle(
  operation: Declared,
  handler: Handle,
  exchange: Exchange,
  options: RouteOptions,
): Promise<unknown> {
  const { request, reply } = exchange;
  const session = await sessionAfterBody(operation, exchange, options);
  const inputs = inputsOf(operation, request);
  const user = session?.user;
  const call = {
    ...inputs,
    request,
    reply,
    ...(user === undefined
      ? {}
      : {
          user,
          organizationId: user.organizationId,
          token: session?.token,
          by: contextBy(`user:${user.userId}`, request, `user:${user.userId}`),
        }),
  } as SignedInCall<Declared>;
  if (operation.isStream === true) return handler(call);
  const isLimited = operation.hasOwnTimeLimit !== true;
  const result = await (isLimited ? inTime(options.timeoutMs, () => handler(call)) : handler(call));
  return result instanceof Paged
    ? answer<unknown>(result.data, result.pagination)
    : answer(result ?? null);
}

/** @throws ApiError VALIDATION_ERROR */
function inputsOf(
  operation: Declared,
  request: FastifyRequest,
): Pick<Call<Declared>, 'ids' | 'query' | 'givenQuery' | 'body'> {
  const names = [...operation.path.matchAll(/:(\w+)/g)].flatMap(([, name]) => name ?? []);
  const ids = Object.fromEntries(names.map((name) => [name, idIn(request, name)]));
  const given: unknown = request.query;
  const checked =
    operation.query === undefined
      ? ({ ok: true, value: undefined } as const)
      : validate<unknown>(operation.query, given);
  const body =
    operation.body === undefined
      ? bodyOf(request)
      : accepted(validate(operation.body, bodyOf(request)));
  return {
    ids: ids as never,
    givenQuery: { ...checked, given } as never,
    // Read by handlers that do not look at `givenQuery`.
    get query() {
      return accepted(checked) as never;
    },
    body: body as never,
  };
}

/** Ends the handler's calls of the event store after a time. @throws StoreUnavailable */
async function inTime<Result>(
  timeoutMs: number,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  const limit = new TimeLimit();
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    limit.end();
    reject(new StoreUnavailable(`the request was not done within ${timeoutMs} ms`));
  }, timeoutMs);
  try {
    const { promise, resolve } = Promise.withResolvers<Result>();
    withTimeLimit(limit, () => resolve(Promise.resolve().then(work)));
    return await Promise.race([promise, late]);
  } catch (error) {
    if (error instanceof HashingBusy) throw new ApiError('SERVICE_UNAVAILABLE', error.message);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
