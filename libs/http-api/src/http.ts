/**
 * The HTTP side of an app, as hooks of Fastify: a Nest guard would run only after the body is parsed.
 * The checks run in this order (rule check-order-1): unknown route, key, rate limit, key type, media
 * type, body. The handlers check the rest.
 */
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { OperationDeclaration } from '@pis/contracts';
import {
  LOG_WATCH,
  LOGGER,
  type Logger,
  type LogWatch,
  METRICS,
  refuseUndeclared,
} from '@pis/service-kit';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { Authentication, type Caller, permits } from './authentication.js';
import { networkOf } from './client-address.js';
import { answerTo, ApiError } from './errors.js';
import { guardEdge } from './http-edge.js';
import { rateLimitHeaders, requestIdFor, securityHeaders } from './http-headers.js';
import { parseJson } from './json-body.js';
import { OrganizationRateLimit } from './organization-rate-limit.js';
import { countByOrganization } from './organization-requests.js';
import { type Quota, RateLimit, RateLimited } from './rate-limit.js';
import { RequestTimeLimit } from './request-time-limit.js';
import { UnreadAnswers } from './unread-answers.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null for a route that is not part of the API. */
    caller: Caller | null;
    /** The operation of the request. Null for a route that is not part of the API. */
    operation: OperationDeclaration | null;
  }
  interface FastifyContextConfig {
    operation?: OperationDeclaration;
  }
}

const bodyBytesMax = 64 * 1024;

/** The differences between apps. */
export interface HttpOptions {
  /** The address that clients use, if known. */
  readonly publicUrl: string | undefined;
  /** Whether the app has operations. It must then provide Authentication, both rate limits and RequestTimeLimit. */
  readonly api: boolean;
}

/** Checks that admit a request of the API. */
interface Gates {
  readonly authentication: Authentication;
  /** Limits the requests of a key. */
  readonly rateLimit: RateLimit;
  readonly organizationRateLimit: OrganizationRateLimit;
  readonly timeLimit: RequestTimeLimit;
  readonly logWatch: LogWatch;
}

/** The HTTP side of one server. */
interface Side {
  /** Null without an API. */
  gates: Gates | null;
}

const sides = new WeakMap<object, Side>();

/**
 * Call this after NestFactory.create and before the application listens. Apps in one process share its
 * server: each app calls this, and the hooks are added once.
 */
export function configureHttp(app: NestFastifyApplication, { publicUrl, api }: HttpOptions): void {
  const server = app.getHttpAdapter().getInstance();
  const side = sides.get(server) ?? configureSide(app, publicUrl);
  sides.set(server, side);
  if (!api) return;
  if (side.gates === null) countByOrganization(server, app.get(METRICS));
  side.gates = {
    authentication: app.get(Authentication),
    rateLimit: app.get(RateLimit),
    organizationRateLimit: app.get(OrganizationRateLimit),
    timeLimit: app.get(RequestTimeLimit),
    logWatch: app.get<LogWatch>(LOG_WATCH),
  };
}

function configureSide(app: NestFastifyApplication, publicUrl: string | undefined): Side {
  const side: Side = { gates: null };
  const logger = app.get<Logger>(LOGGER);
  const server = app.getHttpAdapter().getInstance();
  const headers = securityHeaders(publicUrl);

  server.decorateRequest('caller', null);
  server.decorateRequest('operation', null);
  server.decorateRequest('checked', null);
  server.decorateRequest('limitTimer', null);
  server.addHook('onRoute', (route) => {
    refuseUndeclared(route);
    refuseOperation(route, side);
  });
  server.addHook('onRequest', (request, reply, done) => {
    const { pageHeaders } = request.routeOptions.config;
    // Whoever opens a page may be a stranger, and events keep the ID forever.
    const given = pageHeaders === undefined ? request.headers['x-request-id'] : undefined;
    request.id = requestIdFor(given);
    reply.headers(headers).header('X-Request-Id', request.id);
    if (pageHeaders !== undefined) reply.headers(pageHeaders);
    try {
      const admitted = admit(request, reply, side);
      // No promise when the key is cached, because every request passes here.
      if (admitted === undefined) done();
      else admitted.then(() => done(), done);
    } catch (error) {
      done(error as Error);
    }
  });
  addHandlerHooks(server, side);
  const unread = new UnreadAnswers();
  // Not onResponse, which does not run when the client has disconnected.
  server.addHook('onSend', (request, { raw }, payload, done) => {
    side.gates?.timeLimit.answered(request);
    const reader = request.caller?.organizationId ?? networkOf(request.ip);
    refusing(
      () => unread.sending(reader, payload, raw),
      (error) => (error === undefined ? done(null, payload) : done(error)),
    );
  });
  server.addHook('onResponse', (request, reply, done) => {
    logAccess(logger, request, reply);
    done();
  });
  app.useBodyParser('application/json', { bodyLimit: bodyBytesMax }, (_request, body, done) => {
    done(null, parseJson(body));
  });
  app.useGlobalFilters(new ErrorAnswers(logger));
  let closing = false;
  server.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  guardEdge(server.server, { logger, headers, isClosing: () => closing });
  return side;
}

/** The hooks between body and handler, in this order. */
function addHandlerHooks(server: FastifyInstance, side: Side): void {
  // After authentication, before the handler.
  server.addHook('preHandler', (request, _reply, done) => {
    const { gates } = side;
    if (gates === null || request.caller === null || isRead(request.method)) done();
    else refusing(() => gates.logWatch.check(), done);
  });
  server.addHook('preHandler', (request, reply, done) => {
    const { gates } = side;
    if (gates === null || request.caller === null || reply.elapsedTime < slowBodyMs) done();
    else gates.timeLimit.admission(request, stillValid(request, gates)).then(() => done(), done);
  });
  // The last hook: everything after it runs under the time limit.
  server.addHook('preHandler', (request, reply, done) => {
    if (side.gates === null) done();
    else side.gates.timeLimit.handle(request, reply, done);
  });
}

/** The operation decides on access, so a route without an operation would be open to everybody. */
function refuseOperation({ method, url, config }: RouteOptions, { gates }: Side): void {
  if (config?.operation !== undefined && gates === null)
    throw new Error(`${[method].flat().join()} ${url} is an operation, but the app has no API`);
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

function refusing(check: () => void, done: (error?: Error) => void): void {
  try {
    check();
  } catch (error) {
    done(error as Error);
    return;
  }
  done();
}

/** @throws ApiError; the promise rejects likewise */
function admit(
  request: FastifyRequest,
  reply: FastifyReply,
  { gates }: Side,
): Promise<void> | undefined {
  if (request.is404) throw notFoundPath();
  const { operation } = request.routeOptions.config;
  if (operation === undefined || gates === null) return undefined;
  if (lacksId(request)) throw notFoundPath();
  const { authentication, timeLimit } = gates;
  request.operation = operation;
  const enter = (caller: Caller) => {
    request.caller = caller;
    count(gates, caller, reply);
    if (!permits(operation, caller))
      throw new ApiError('FORBIDDEN', `a ${caller.keyType} key cannot do this`);
    requireJson(request);
  };
  const caller = authentication.authenticate(request.headers.authorization, request.ip);
  if (caller instanceof Promise) return timeLimit.admission(request, caller.then(enter));
  enter(caller);
  return undefined;
}

function notFoundPath(): ApiError {
  return new ApiError('NOT_FOUND', 'there is no such path');
}

/** The router takes the doubled slash of /v1/payments// as an empty ID. It makes another path. */
function lacksId({ params }: FastifyRequest): boolean {
  return Object.values(params as Readonly<Record<string, string>>).includes('');
}

/**
 * If the body took longer than this, the key or session is checked again. It may have been revoked meanwhile:
 * the cached read of a key can be 4.5 s old, and a revocation must take effect within 5 s.
 */
export const slowBodyMs = 400;

/** @throws ApiError UNAUTHORIZED, RATE_LIMITED; StoreUnavailable */
async function stillValid(request: FastifyRequest, { authentication }: Gates): Promise<void> {
  await authentication.authenticate(request.headers.authorization, request.ip);
}

/**
 * Counts the request for its key and for its organization. The headers tell of the one that has less left.
 * @throws RateLimited
 */
function count(gates: Gates, { apiKeyId, organizationId }: Caller, reply: FastifyReply): void {
  const { rateLimit } = gates;
  const ofOrganization = gates.organizationRateLimit.of(organizationId);
  const left = taken(rateLimit, apiKeyId, reply);
  let leftOfAll: Quota | null;
  try {
    leftOfAll = taken(ofOrganization, organizationId, reply);
  } catch (error) {
    // A refused request counts for neither.
    rateLimit.giveBack(apiKeyId);
    throw error;
  }
  if (left !== null && (leftOfAll === null || left.remaining <= leftOfAll.remaining))
    show(rateLimit, left, reply);
  else if (leftOfAll !== null) show(ofOrganization, leftOfAll, reply);
}

/** @throws RateLimited */
function taken(limit: RateLimit, id: string, reply: FastifyReply): Quota | null {
  try {
    return limit.take(id);
  } catch (error) {
    if (error instanceof RateLimited) show(limit, error.quota, reply);
    throw error;
  }
}

function show({ policy }: RateLimit, quota: Quota, reply: FastifyReply): void {
  if (policy !== null) reply.headers(rateLimitHeaders(policy, quota));
}

const jsonInUtf8 = /^application\/json *(; *charset *= *"?utf-8"? *)?;? *$/i;
/** A longer media type is refused: matching its end would take quadratic time. */
const mediaTypeMax = 100;

/**
 * A body must be uncompressed JSON in UTF-8. A request without a body needs no media type. If it has one, Fastify must
 * not look for its parser.
 * @throws ApiError UNSUPPORTED_MEDIA_TYPE
 */
export function requireJson({ headers }: FastifyRequest): void {
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody) {
    delete headers['content-type'];
    return;
  }
  const { 'content-type': mediaType = '', 'content-encoding': encoding = 'identity' } = headers;
  const isJson = mediaType.length <= mediaTypeMax && jsonInUtf8.test(mediaType);
  if (!isJson || encoding !== 'identity')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'send application/json in UTF-8, not compressed');
}

/** The caller of a request of the API, as the hook above authenticated it. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('the request was not authenticated');
  return request.caller;
}

/**
 * Nest passes all errors to this filter: of handlers, hooks, parsers and the router. Errors of a page are HTML
 * (page-route.ts), all others JSON.
 */
class ErrorAnswers implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const answer = answerTo(error);
    const { status, headers, body } = answer;
    // The client went away while it sent: no failure of ours, and strangers must not fill the log with failures.
    const isGone = error === reply.request.raw.errored;
    // A request that exceeded its time limit was answered and logged before.
    if (status >= 500 && !isGone && !(reply.sent && status === 503))
      this.logger.error({ requestId: reply.request.id, err: error }, 'a request failed');
    if (reply.sent) return;
    reply.code(status).headers(headers);
    if (error instanceof RateLimited) reply.header('Retry-After', String(error.quota.waitSeconds));
    const { errorPage } = reply.request.routeOptions.config;
    if (errorPage === undefined) void reply.send(body);
    else void reply.type('text/html; charset=utf-8').send(errorPage(answer, reply.request));
  }
}

/**
 * Logs the request and its result, without bodies, query or headers. Of the path it logs only the route and IDs.
 */
function logAccess(logger: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const { caller } = request;
  logger.info(
    {
      requestId: request.id,
      method: request.method,
      path: pathOf(request),
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      ...(caller ? { organizationId: caller.organizationId, apiKeyId: caller.apiKeyId } : {}),
    },
    'request',
  );
}

const idForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The path of the route, with the IDs of the request in it. Anything else in their place may be a name or an account
 * number, so the parameter's name stays. Null for a path that is no route: it is the caller's text.
 */
function pathOf({ is404, routeOptions, params }: FastifyRequest): string | null {
  if (is404 || routeOptions.url === undefined) return null;
  const given = params as Readonly<Record<string, string>>;
  return routeOptions.url
    .split('/')
    .map((part) => {
      const id = part.startsWith(':') ? given[part.slice(1)] : undefined;
      return id !== undefined && idForm.test(id) ? id : part;
    })
    .join('/');
}
