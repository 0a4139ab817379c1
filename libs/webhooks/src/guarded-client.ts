/**
 * The HTTPS client of webhooks: it connects to addresses that strangers chose. What always holds:
 * - the egress policy checks the real address of every connection;
 * - TLS 1.2 or later with a trusted certificate, no redirect, no proxy of the environment;
 * - one time limit over everything, and never more than a bounded part of an answer in memory.
 */
import type { Connections } from './connections.js';
import { AddressBlocked, ConnectTimeout, EgressProxyFailed, HostNotFound } from './dial-errors.js';
import { egressPolicy, type EgressRules } from './egress-policy.js';
import { ResponseTooLarge, TooLate } from './exchange.js';
import type { DialOptions } from './guarded-dial.js';
import { type Lookup, systemLookup } from './lookup.js';
import { trustedAuthorities } from './trusted-authorities.js';
import { hostOf } from './webhook-url.js';

export { responseKeptBytes, responseReadMaxBytes } from './exchange.js';

export interface GuardedClientOptions extends EgressRules {
  /** PEM certificates trusted in addition to the system's roots. */
  readonly extraCaPem?: string;
  /** `http://` or `https://` address of a CONNECT proxy, with credentials or without. */
  readonly egressProxy?: string;
  /** From the start of the request to the response's headers, connecting included. */
  readonly timeoutMs: number;
  /** Connections to one origin, at most; further requests wait, inside their time limit. */
  readonly connectionsPerOriginMax: number;
  /** Resolves host names. Default: the resolver of this process. */
  readonly lookup?: Lookup;
}

export type DeliveryErrorCode =
  | 'timeout'
  | 'aborted'
  | 'address_blocked'
  | 'host_not_found'
  | 'tls'
  | 'connection'
  | 'invalid_url';

/** The result of one request: a status, or an error when no response arrived. */
export interface DeliveryResult {
  readonly status: number | null;
  readonly error: { readonly code: DeliveryErrorCode; readonly message: string } | null;
  /** The first responseKeptBytes of the response, as text; null without a response. */
  readonly responseBody: string | null;
  /** The response's Retry-After as received: seconds, an HTTP date, or invalid text. */
  readonly retryAfter: string | null;
  readonly durationMs: number;
}

export interface GuardedClient {
  /**
   * Posts the body. Never throws. A request over a kept connection that breaks without an answer is sent a
   * second time, over a new connection.
   * @param signal ends it early, as `aborted`
   */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string | Uint8Array,
    signal?: AbortSignal,
  ): Promise<DeliveryResult>;
  /** Cuts requests in flight and closes the connections. */
  close(): Promise<void>;
}

/** How long the body may take once the status is known. It is only recorded. */
const responseBodyTimeoutMs = 2_000;
const connectTimeoutMs = 10_000;

/** @throws Error when a certificate cannot be read, or the proxy is no address */
export function guardedClient(options: GuardedClientOptions): GuardedClient {
  const { lookup = systemLookup, timeoutMs, extraCaPem, egressProxy } = options;
  const dialing: DialOptions = {
    policy: egressPolicy(options, lookup),
    lookup,
    timeoutMs: Math.min(connectTimeoutMs, timeoutMs),
    trusted: trustedAuthorities(extraCaPem),
    ...(egressProxy === undefined ? {} : { proxy: new URL(egressProxy) }),
  };
  let opening: Promise<Connections> | null = null;
  let isClosed = false;
  const connections = () => {
    if (isClosed) return Promise.reject(new Error('the client is closed'));
    return (opening ??= open().catch((error: unknown) => {
      opening = null;
      throw error;
    }));
  };

  /** With the first request: most processes that import this library send no webhooks. */
  async function open(): Promise<Connections> {
    const { guardedDial } = await import('./guarded-dial.js');
    const { Connections } = await import('./connections.js');
    return new Connections({
      dial: guardedDial(dialing),
      perOriginMax: options.connectionsPerOriginMax,
      bodyTimeoutMs: Math.min(responseBodyTimeoutMs, timeoutMs),
    });
  }

  return {
    post: (url, headers, body, signal) =>
      post({ connections, timeoutMs }, url, headers, body, signal),
    async close() {
      isClosed = true;
      const opened = await opening?.catch(() => null);
      await opened?.close();
    },
  };
}

interface PostContext {
  readonly connections: () => Promise<Connections>;
  readonly timeoutMs: number;
}

async function post(
  { connections, timeoutMs }: PostContext,
  target: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
  signal?: AbortSignal,
): Promise<DeliveryResult> {
  const startedAt = performance.now();
  const startedAtWall = Date.now();
  const since = (at: number) => Math.round(at - startedAt);
  const failed = (code: DeliveryErrorCode, message: string): DeliveryResult => ({
    status: null,
    error: { code, message },
    responseBody: null,
    retryAfter: null,
    durationMs: since(performance.now()),
  });
  if (!URL.canParse(target)) return failed('invalid_url', 'not a URL');
  const url = new URL(target);
  if (url.protocol !== 'https:') return failed('invalid_url', 'not an https URL');

  // One of the clocks stops while the machine sleeps.
  const isInTime = () =>
    Math.max(performance.now() - startedAt, Date.now() - startedAtWall) < timeoutMs;
  const limit = new AbortController();
  const abort = () => limit.abort();
  const timer = setTimeout(abort, timeoutMs);
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  try {
    const opened = await connections();
    const answer = await opened.send(
      {
        ...{ origin: url.origin, path: url.pathname + url.search, headers, body: bytesOf(body) },
        mayBegin: isInTime,
      },
      limit.signal,
    );
    return {
      status: answer.status,
      error: null,
      responseBody: answer.excerpt,
      retryAfter: answer.retryAfter,
      durationMs: since(answer.answeredAt),
    };
  } catch (error) {
    if (signal?.aborted) return failed('aborted', 'interrupted by a shutdown');
    if (limit.signal.aborted || error instanceof TooLate)
      return failed('timeout', `no response within ${timeoutMs} ms`);
    return failed(codeOf(error), messageOf(error, hostOf(url)));
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Encoded once, also when it is sent twice. */
function bytesOf(body: string | Uint8Array): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body;
}

function errnoOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

function codeOf(error: unknown): DeliveryErrorCode {
  if (error instanceof AddressBlocked) return 'address_blocked';
  if (error instanceof HostNotFound) return 'host_not_found';
  const code = errnoOf(error);
  if (error instanceof ConnectTimeout || code === 'ETIMEDOUT') return 'timeout';
  if (/TLS|SSL|CERT|SIGNATURE|ISSUER/.test(code)) return 'tls';
  return 'connection';
}

/** For the owner of the endpoint: the error, without the addresses that were tried. */
function messageOf(error: unknown, host: string): string {
  if (error instanceof AddressBlocked || error instanceof EgressProxyFailed) return error.message;
  const code = errnoOf(error);
  switch (codeOf(error)) {
    case 'host_not_found':
      return `${host} could not be resolved`;
    case 'timeout':
      return `no connection to ${host} in time`;
    case 'tls':
      return `the TLS handshake failed: ${code}`;
    default:
      if (error instanceof ResponseTooLarge || code === 'UND_ERR_HEADERS_OVERFLOW')
        return 'the headers of the response are too large';
      return code === '' ? 'the connection failed' : `the connection failed: ${code}`;
  }
}
