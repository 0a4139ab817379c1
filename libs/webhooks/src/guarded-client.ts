/**
 * The HTTPS client of webhooks: it connects to addresses that strangers chose. What always holds:
 * - the address really connected to was judged by the guard, at every connection, so that a name
 *   that resolves differently the second time (DNS rebinding) gains nothing;
 * - TLS 1.2 or later with a trusted certificate, no redirect, no proxy of the environment;
 * - one time limit over everything, and never more than a bounded part of an answer in memory.
 */
import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { addressGuard, type AddressGuard } from './address-guard.js';
import { hostOf } from './webhook-url.js';

export interface GuardedClientOptions {
  /** CIDRs exempt from the private-address block. */
  readonly allowedNetworks: readonly string[];
  /** PEM certificates trusted in addition to the system's roots. */
  readonly extraCaPem?: string;
  /** From the start of the request to the response's headers, connecting included. */
  readonly timeoutMs: number;
  /** Connections to one origin, at most. */
  readonly connectionsPerOriginMax: number;
  /** Resolves host names; the system's when absent. */
  readonly lookup?: LookupAll;
}

export type LookupAll = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

export type DeliveryErrorCode =
  | 'timeout'
  | 'aborted'
  | 'address_blocked'
  | 'host_not_found'
  | 'tls'
  | 'connection'
  | 'invalid_url';

/** What one request came to: a status, or an error when no response arrived. */
export interface DeliveryResult {
  readonly status: number | null;
  readonly error: { readonly code: DeliveryErrorCode; readonly message: string } | null;
  /** The first responseKeptBytes of the response, as text; null without a response. */
  readonly responseBody: string | null;
  readonly durationMs: number;
}

export interface GuardedClient {
  /** Posts the body. Never throws. @param signal ends it early, as `aborted` */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal?: AbortSignal,
  ): Promise<DeliveryResult>;
  /** Cuts what is in flight and closes the connections. */
  close(): Promise<void>;
}

/** Read of a response, at most; a longer one costs the connection. */
export const responseReadMaxBytes = 64 * 1024;
/** Kept of it, for the record of the attempt. */
export const responseKeptBytes = 1024;
const responseHeadersMaxBytes = 16 * 1024;
/** Once the status is known the body is but a note: it may take this long. */
const responseBodyTimeoutMs = 2_000;
const connectTimeoutMs = 10_000;
const keepAliveMs = 4_000;

/** No address of the host is one a webhook may be sent to. */
class AddressBlocked extends Error {
  override readonly name = 'AddressBlocked';
  constructor() {
    super('the host has no publicly routable address');
  }
}

export function guardedClient(options: GuardedClientOptions): GuardedClient {
  const agent = new Agent({
    connect: guardedConnector(options),
    connections: options.connectionsPerOriginMax,
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    maxHeaderSize: responseHeadersMaxBytes,
    // The one limit over everything is the signal of post().
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    post: (url, headers, body, signal) =>
      post({ agent, timeoutMs: options.timeoutMs }, url, headers, body, signal),
    close: () => agent.destroy(),
  };
}

function guardedConnector(options: GuardedClientOptions): buildConnector.connector {
  const guard = addressGuard(options.allowedNetworks);
  const connect = buildConnector({
    // Shared by all connections: parsing the roots takes longer than a handshake.
    secureContext: secureContext(options.extraCaPem),
    lookup: guardedLookup(guard, options.lookup ?? lookupAll),
    timeout: Math.min(connectTimeoutMs, options.timeoutMs),
    allowH2: false,
  });
  return (target, callback) => {
    const host = target.hostname.replace(/^\[|\]$/g, '');
    // An address as host is never looked up.
    if (isIP(host) !== 0 && !guard.permits(host)) {
      callback(new AddressBlocked(), null);
      return;
    }
    connect({ ...target, hostname: host }, (error, socket) => {
      if (error) callback(error, null);
      else if (isPeerPermitted(guard, socket)) callback(null, socket);
      else {
        socket.destroy();
        callback(new AddressBlocked(), null);
      }
    });
  };
}

/** The last word has the address the socket is really connected to. */
function isPeerPermitted(guard: AddressGuard, socket: Socket): boolean {
  return socket.remoteAddress !== undefined && guard.permits(socket.remoteAddress);
}

function secureContext(extraCaPem: string | undefined): SecureContext {
  const ca = extraCaPem === undefined ? {} : { ca: [...getCACertificates(), extraCaPem] };
  return createSecureContext({ minVersion: 'TLSv1.2', ...ca });
}

/** Gives the socket only addresses that the guard permits: what is looked up is what is connected to. */
function guardedLookup(guard: AddressGuard, lookup: LookupAll): LookupFunction {
  return (hostname, { all, family }, callback) =>
    lookup(hostname, (error, addresses) => {
      const permitted = addresses.filter(({ address }) => guard.permits(address));
      const first = permitted.find((found) => !family || found.family === family) ?? permitted[0];
      if (error) callback(error, []);
      else if (!first) callback(new AddressBlocked(), []);
      else if (all) callback(null, permitted);
      else callback(null, first.address, first.family);
    });
}

const lookupAll: LookupAll = (hostname, callback) =>
  systemLookup(hostname, { all: true }, (error, addresses) => callback(error, addresses ?? []));

interface PostContext {
  readonly agent: Agent;
  readonly timeoutMs: number;
}

async function post(
  { agent, timeoutMs }: PostContext,
  target: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal?: AbortSignal,
): Promise<DeliveryResult> {
  const startedAt = performance.now();
  const durationMs = () => Math.round(performance.now() - startedAt);
  const failed = (code: DeliveryErrorCode, message: string): DeliveryResult => ({
    status: null,
    error: { code, message },
    responseBody: null,
    durationMs: durationMs(),
  });
  if (!URL.canParse(target)) return failed('invalid_url', 'not a URL');
  const url = new URL(target);
  if (url.protocol !== 'https:') return failed('invalid_url', 'not an https URL');

  const limit = new AbortController();
  const abort = () => limit.abort();
  const timer = setTimeout(abort, timeoutMs);
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  try {
    // One attempt is one request: what fails is recorded and tried again by the schedule, even when
    // a receiver closes a kept connection in the very moment in which it is used.
    const response = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: 'POST',
      headers,
      body,
      signal: limit.signal,
    });
    const took = durationMs();
    const responseBody = await excerptOf(response, timeoutMs);
    return { status: response.statusCode, error: null, responseBody, durationMs: took };
  } catch (error) {
    if (signal?.aborted) return failed('aborted', 'interrupted by a shutdown');
    if (limit.signal.aborted) return failed('timeout', `no response within ${timeoutMs} ms`);
    return failed(codeOf(error), messageOf(error, hostOf(url)));
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/**
 * The beginning of the response's body. Bounded in bytes and time; what goes wrong here leaves the
 * outcome as it is, for the status has arrived.
 */
async function excerptOf({ body }: Dispatcher.ResponseData, timeoutMs: number): Promise<string> {
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let readBytes = 0;
  const timer = setTimeout(
    () => body.destroy(new Error('the response took too long')),
    Math.min(responseBodyTimeoutMs, timeoutMs),
  );
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      readBytes += chunk.length;
      if (keptBytes < responseKeptBytes) {
        const part = chunk.subarray(0, responseKeptBytes - keptBytes);
        // A copy: the chunk's buffer may be far larger than what is kept of it.
        kept.push(Buffer.from(part));
        keptBytes += part.length;
      }
      if (readBytes >= responseReadMaxBytes) break; // leaving the loop closes the connection
    }
  } catch {
    // Cut short by the receiver or by a limit: what arrived is what there is to keep.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(kept).toString('utf8');
}

function errnoOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

function codeOf(error: unknown): DeliveryErrorCode {
  if (error instanceof AddressBlocked) return 'address_blocked';
  const code = errnoOf(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'timeout';
  if (code === 'ENOTFOUND' || code.startsWith('EAI_')) return 'host_not_found';
  if (/TLS|SSL|CERT|SIGNATURE|ISSUER/.test(code)) return 'tls';
  return 'connection';
}

/** For the owner of the endpoint: what went wrong, not which addresses we tried. */
function messageOf(error: unknown, host: string): string {
  if (error instanceof AddressBlocked) return error.message;
  const code = errnoOf(error);
  switch (codeOf(error)) {
    case 'host_not_found':
      return `${host} could not be resolved`;
    case 'timeout':
      return `no connection to ${host} in time`;
    case 'tls':
      return `the TLS handshake failed: ${code}`;
    default:
      return code === '' ? 'the connection failed' : `the connection failed: ${code}`;
  }
}
