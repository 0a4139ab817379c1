/**
 * The HTTP side of the gateway, on Fastify itself: what must happen before a body is parsed cannot be
 * a Nest guard. The order of the checks is interface.md's: unknown route, key, rate limit, key type,
 * media type, body; the handlers do the rest.
 */
import { randomUUID } from 'node:crypto';
import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { LOGGER, type Logger } from '@pis/service-kit';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { authorize, Authentication, type Caller } from './authentication.js';
import { answerTo, ApiError } from './errors.js';
import { parseJson } from './json-body.js';
import { RateLimit } from './rate-limit.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null outside of /v1. */
    caller: Caller | null;
  }
}

const bodyBytesMax = 64 * 1024;

/** Call it after NestFactory.create and before the application listens. */
export function configureHttp(app: NestFastifyApplication): void {
  const gates = { authentication: app.get(Authentication), rateLimit: app.get(RateLimit) };
  const logger = app.get<Logger>(LOGGER);
  const server = app.getHttpAdapter().getInstance();

  server.decorateRequest('caller', null);
  server.addHook('onRequest', (request, reply, done) => {
    identify(request, reply);
    try {
      const admitted = admit(request, gates);
      // Without a promise when the key is cached: this is every request's way.
      if (admitted === undefined) done();
      else admitted.then(() => done(), done);
    } catch (error) {
      done(error as Error);
    }
  });
  server.addHook('onResponse', (request, reply, done) => {
    logAccess(logger, request, reply);
    done();
  });
  app.useBodyParser('application/json', { bodyLimit: bodyBytesMax }, (_request, body, done) => {
    done(null, parseJson(body));
  });
  app.useGlobalFilters(new ErrorAnswers(logger));
  server.server.removeAllListeners('clientError');
  server.server.on('clientError', answerBrokenRequest);
  let closing = false;
  server.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  refuseUnroutable(server.server, () => closing);
}

/** Longer than any id or token; well below the router's own limit. */
const pathSegmentMax = 250;

/** What Fastify would answer in a format of its own, before any hook: odd paths, and while it closes. */
function refuseUnroutable(server: Server, isClosing: () => boolean): void {
  const listeners = server.listeners('request') as RequestListener[];
  const refusal = (url: string) => {
    if (isClosing()) return new ApiError('SERVICE_UNAVAILABLE', 'the service is shutting down');
    return isRoutable(url) ? null : new ApiError('NOT_FOUND', 'there is no such path');
  };
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const refused = refusal(request.url ?? '');
    if (refused === null) {
      for (const serve of listeners) serve(request, response);
      return;
    }
    const { status, headers, body } = answerTo(refused);
    const connection = isClosing() ? { Connection: 'close' } : {};
    response.writeHead(status, { ...rawHeaders(), ...headers, ...connection });
    response.end(JSON.stringify(body));
  });
}

function isRoutable(url: string): boolean {
  const [path = ''] = url.split('?', 1);
  if (path.length > pathSegmentMax && path.split('/').some((part) => part.length > pathSegmentMax))
    return false;
  if (!path.includes('%')) return true;
  try {
    decodeURIComponent(path);
    return true;
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}

/** For answers that are written past Fastify. */
function rawHeaders(): Record<string, string> {
  return {
    'Content-Type': 'application/json; charset=utf-8',
    'X-Request-Id': randomUUID(),
    'Cache-Control': 'no-store',
  };
}

const saneRequestId = /^[A-Za-z0-9._:/+=-]{1,128}$/;

function identify(request: FastifyRequest, reply: FastifyReply): void {
  const given = request.headers['x-request-id'];
  request.id = typeof given === 'string' && saneRequestId.test(given) ? given : randomUUID();
  reply.header('X-Request-Id', request.id);
  reply.header('Cache-Control', 'no-store');
  reply.header('X-Content-Type-Options', 'nosniff');
}

interface Gates {
  readonly authentication: Authentication;
  /** Of the requests of a key. */
  readonly rateLimit: RateLimit;
}

/** @throws ApiError; the promise rejects likewise */
function admit(
  request: FastifyRequest,
  { authentication, rateLimit }: Gates,
): Promise<void> | undefined {
  if (request.is404) throw new ApiError('NOT_FOUND', 'there is no such path');
  const path = request.routeOptions.url ?? '';
  if (!path.startsWith('/v1/')) return undefined;
  const enter = (caller: Caller) => {
    request.caller = caller;
    rateLimit.take(caller.apiKeyId);
    authorize(caller, request.method, path);
    requireJson(request);
  };
  const caller = authentication.authenticate(request.headers.authorization, request.ip);
  if (caller instanceof Promise) return caller.then(enter);
  enter(caller);
  return undefined;
}

const jsonInUtf8 = /^application\/json *(; *charset *= *"?utf-8"? *)?;? *$/i;

/** A body is JSON in UTF-8, as it is; a request without one needs no media type. */
function requireJson({ headers }: FastifyRequest): void {
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody) return;
  const { 'content-type': mediaType = '', 'content-encoding': encoding = 'identity' } = headers;
  if (!jsonInUtf8.test(mediaType) || encoding !== 'identity')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'send application/json in UTF-8, not compressed');
}

/** The caller of a request under /v1, which the hook above has admitted. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error(`${request.url} was not authenticated`);
  return request.caller;
}

/** Errors of handlers, hooks, parsers and the router alike arrive here, through Nest. */
class ErrorAnswers implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const { status, headers, body } = answerTo(error);
    if (status >= 500)
      this.logger.error({ requestId: reply.request.id, err: error }, 'a request failed');
    if (reply.sent) return;
    void reply.code(status).headers(headers).send(body);
  }
}

/** What was asked and how it went: no bodies, no query, no headers. */
function logAccess(logger: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const { caller } = request;
  logger.info(
    {
      requestId: request.id,
      method: request.method,
      path: request.url.split('?', 1)[0],
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
      ...(caller ? { organizationId: caller.organizationId, apiKeyId: caller.apiKeyId } : {}),
    },
    'request',
  );
}

/** A request that is not HTTP never reaches Fastify: the envelope is written by hand. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const message =
    error.code === 'HPE_HEADER_OVERFLOW' ? 'the headers are too long' : 'this is not valid HTTP';
  const body = JSON.stringify(answerTo(new ApiError('VALIDATION_ERROR', message)).body);
  socket.end(
    [
      'HTTP/1.1 400 Bad Request',
      ...Object.entries(rawHeaders()).map(([name, value]) => `${name}: ${value}`),
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
