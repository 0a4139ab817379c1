/**
 * Answers requests that never reach Fastify's routes, also with the error envelope: requests that have no
 * valid path, are not HTTP, or do not arrive in time.
 */
import { randomUUID } from 'node:crypto';
import {
  type IncomingMessage,
  METHODS,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '@pis/service-kit';
import { answerTo, ApiError } from './errors.js';
import { requestIdFor } from './http-headers.js';

export interface EdgeOptions {
  readonly logger: Logger;
  /** The headers of every answer. */
  readonly headers: Readonly<Record<string, string>>;
  readonly isClosing: () => boolean;
}

/** Call it once the server has its request listeners. */
export function guardEdge(server: Server, options: EdgeOptions): void {
  const exchanges = new WeakMap<Duplex, Exchange>();
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const before = exchanges.get(request.socket)?.response ?? null;
    exchanges.set(request.socket, { request, response, before });
    request.url = inOriginForm(request.url ?? '');
    const refused = refusalOf(request, options.isClosing());
    if (refused !== null) {
      refuse(request, response, refused, options);
      return;
    }
    for (const serve of listeners) serve(request, response);
  });
  // Node would answer 417 without a body. A server may ignore an unknown expectation.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', ({ headers }, socket) => {
    const requestId = requestIdFor(headers['x-request-id']);
    afterAnswer(exchanges.get(socket)?.response ?? null, () =>
      answerAndEnd(socket, refusalAnswer(noSuchPath()), options, { requestId }),
    );
  });
  const broken = new WeakSet<Duplex>();
  server.removeAllListeners('clientError');
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Later errors on this connection are consequences of the first one.
    if (broken.has(socket)) return;
    broken.add(socket);
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else answerBroken(error, socket, exchanges.get(socket), options);
  });
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The response before it on the connection. It may still be under way, because clients may pipeline. */
  readonly before: ServerResponse | null;
}

/** Answers are sent in the order of the requests on the connection. */
function afterAnswer(response: ServerResponse | null, next: () => void): void {
  if (response === null || response.writableFinished) next();
  else response.once('close', next);
}

/** Cases that Fastify would answer in its own format before any hook: odd paths, and requests while it closes. */
function refusalOf(request: IncomingMessage, isClosing: boolean): ApiError | null {
  if (isClosing) return new ApiError('SERVICE_UNAVAILABLE', 'the service is shutting down');
  const ambiguity = ambiguityOf(request);
  if (ambiguity !== null) return new ApiError('VALIDATION_ERROR', ambiguity);
  return isRoutable(request.url ?? '') ? null : noSuchPath();
}

/** Of several headers of these names Node takes the first. A proxy may take another one. */
const oneAtMost = ['host', 'authorization', 'content-type'];

/** What a proxy and Node may understand differently, beside what Node itself refuses. Null for nothing. */
function ambiguityOf({ httpVersion, headers, rawHeaders }: IncomingMessage): string | null {
  // RFC 9112, section 3.2
  if (httpVersion === '1.1' && headers.host === undefined) return 'the header Host is missing';
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return 'the only Transfer-Encoding that is served is chunked';
  // Each name is there once, as in almost all requests.
  if (rawHeaders.length === 2 * Object.keys(headers).length) return null;
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  const repeated = oneAtMost.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  return repeated === undefined ? null : `the header ${repeated} is given twice`;
}

function noSuchPath(): ApiError {
  return new ApiError('NOT_FOUND', 'there is no such path');
}

/** RFC 9112, section 3.2.2: a server accepts `GET http://host/path`, which proxies send. */
function inOriginForm(url: string): string {
  return url.startsWith('http') ? url.replace(/^https?:\/\/[^/?#]*\/?/i, '/') : url;
}

function isRoutable(url: string): boolean {
  const [path = ''] = url.split('?', 1);
  if (!path.includes('%')) return true;
  try {
    decodeURIComponent(path);
    return true;
  } catch (error) {
    if (error instanceof URIError) return false;
    throw error;
  }
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  refused: ApiError,
  options: EdgeOptions,
): void {
  const { status, headers, body } = answerTo(refused);
  const requestId = requestIdFor(request.headers['x-request-id']);
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...options.headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'X-Request-Id': requestId,
    ...headers,
    ...(options.isClosing() || refused.code === 'VALIDATION_ERROR' ? { Connection: 'close' } : {}),
  });
  response.end(text);
  // Without the path: no route was looked up, so it is the caller's text.
  const { method } = request;
  options.logger.info({ requestId, method, path: null, status }, 'request');
}

/**
 * An error of the HTTP parser on a connection, or a timeout of it. It concerns the request that was being
 * read. The complete requests before it get their own answers first: they may have created payments.
 */
function answerBroken(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  last: Exchange | undefined,
  options: EdgeOptions,
): void {
  const answer = () => answerAndEnd(socket, brokenAnswer(error), options, { code: error.code });
  if (last === undefined) answer();
  else if (last.request.complete) afterAnswer(last.response, answer);
  else
    afterAnswer(last.before, () => {
      // This request was refused already. Nothing can follow on this connection.
      if (last.response.headersSent) (socket as Socket).destroySoon();
      else answer();
    });
}

interface RawAnswer {
  readonly status: string;
  readonly body: string;
}

/** `PROPFIND2 /path HTTP/1.1` is a valid request with a method that no route has. */
const wellFormed = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) \S+ HTTP\/1\.[01]\r\n/;

function brokenAnswer(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): RawAnswer {
  const { code } = error;
  const refused = (message: string) => refusalAnswer(new ApiError('VALIDATION_ERROR', message));
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return refusalAnswer(new ApiError('REQUEST_TIMEOUT', 'the request did not arrive in time'));
  if (code === 'HPE_HEADER_OVERFLOW') return refused('the headers are too long');
  // The packet may begin with an earlier request, which has a known method.
  const method = wellFormed.exec(error.rawPacket?.toString('latin1') ?? '')?.[1];
  if (code === 'HPE_INVALID_METHOD' && method !== undefined && !METHODS.includes(method))
    return refusalAnswer(noSuchPath());
  return refused('this is not valid HTTP');
}

const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  404: 'Not Found',
  408: 'Request Timeout',
};

function refusalAnswer(refused: ApiError): RawAnswer {
  const { status, body } = answerTo(refused);
  return { status: `${status} ${reasons[status] ?? ''}`, body: JSON.stringify(body) };
}

function answerAndEnd(
  socket: Duplex,
  { status, body }: RawAnswer,
  { headers, logger }: EdgeOptions,
  {
    code,
    requestId = randomUUID(),
  }: { readonly code?: string | undefined; readonly requestId?: string },
): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const fields = {
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    Connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  socket.end([`HTTP/1.1 ${status}`, ...lines, '', body].join('\r\n'));
  closeSoon(socket);
  logger.info({ requestId, status: Number.parseInt(status, 10), code }, 'broken request');
}

const lastBytesMs = 1_000;

/** A client that does not read the answer, or continues to send, is cut off. */
function closeSoon(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), lastBytesMs);
  socket.once('close', () => clearTimeout(timer));
  (socket as Socket).resume();
}
