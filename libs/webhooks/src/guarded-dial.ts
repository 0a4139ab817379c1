/**
 * Connections to addresses that strangers chose. What always holds: the name is resolved here, its
 * addresses are checked here, and only the permitted addresses are connected to. The socket's real peer is
 * compared once more before the first byte of TLS. So a name that resolves differently the second time (DNS
 * rebinding) gains nothing.
 */
import { request } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { canonicalAddress } from './address-guard.js';
import { AddressBlocked, ConnectTimeout, EgressProxyFailed, HostNotFound } from './dial-errors.js';
import type { EgressPolicy } from './egress-policy.js';
import { exceptLoopback, type Lookup } from './lookup.js';

export interface DialOptions {
  readonly policy: EgressPolicy;
  readonly lookup: Lookup;
  /** For receivers and the proxy. Shared by all connections: parsing the roots takes longer than a handshake. */
  readonly trusted: SecureContext;
  /**
   * `http://` or `https://`, with or without credentials. The proxy gets a CONNECT for the checked address,
   * not for the name, so that it cannot resolve the name to another address.
   */
  readonly proxy?: URL;
  /** Resolving, connecting, asking the proxy and TLS together. */
  readonly timeoutMs: number;
}

export type DialTarget = buildConnector.Options;

/** @param signal cancels the connection */
export type Dial = (target: DialTarget, signal: AbortSignal) => Promise<Socket>;

/** An address that hangs must leave time for the next one. */
const addressTimeoutMs = 1_500;
/** Tunnels through the proxy, each to another address of the host. */
const proxiedAddressesMax = 3;
const proxyAnswerMaxBytes = 16 * 1024;

export function guardedDial(options: DialOptions): Dial {
  const { policy, lookup, timeoutMs, trusted, proxy } = options;
  const tls = buildConnector({
    secureContext: trusted,
    allowH2: false,
    timeout: 0,
  });
  const reach = proxy === undefined ? connectTo : through(proxy, trusted);
  return async (target, signal) => {
    // Not AbortSignal.any: a signal that lives long keeps something of each one made from it.
    const ending = new AbortController();
    const late = ending.signal;
    const end = () => ending.abort(signal.reason);
    const timer = setTimeout(end, timeoutMs);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    const host = target.hostname.replace(/^\[|\]$/g, '');
    const port = target.port === '' ? 443 : Number(target.port);
    try {
      const addresses = await unless(late, resolved(host, lookup));
      const { permitted } = await unless(late, policy.judge(host, port, addresses));
      if (permitted.length === 0) throw new AddressBlocked();
      const socket = await reach(permitted, port, late);
      return await secured(tls, { ...target, hostname: host, httpSocket: socket }, late);
    } catch (error) {
      if (late.aborted && !signal.aborted) throw new ConnectTimeout(`not within ${timeoutMs} ms`);
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
  };
}

async function resolved(host: string, lookup: Lookup): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    return await exceptLoopback(lookup)(host);
  } catch (error) {
    throw new HostNotFound(`${host} could not be resolved`, { cause: error });
  }
}

/** Tries IPv4 and IPv6 addresses alternately until one answers. */
async function connectTo(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const only = found.length === 1 ? found[0] : undefined;
  const socket = connect({
    // Not resolved again: the addresses are known already.
    host: only?.address ?? 'resolved.invalid',
    lookup: (_name, _options, callback) => callback(null, found),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: addressTimeoutMs,
    port,
    keepAlive: true,
    noDelay: true,
  });
  await opened(socket, 'connect', signal);
  const peer = canonicalAddress(socket.remoteAddress ?? '');
  if (addresses.some((address) => canonicalAddress(address) === peer)) return socket;
  socket.destroy();
  throw new AddressBlocked();
}

/** TLS with the receiver itself, also through a proxy. Its name goes into SNI, and its certificate must match it. */
function secured(
  tls: buildConnector.connector,
  target: DialTarget,
  signal: AbortSignal,
): Promise<Socket> {
  const raw = target.httpSocket;
  return new Promise((resolve, reject) => {
    const abort = () => {
      raw?.destroy();
      reject(reasonOf(signal));
    };
    signal.addEventListener('abort', abort, { once: true });
    tls(target, (error, socket) => {
      signal.removeEventListener('abort', abort);
      if (error === null) resolve(socket);
      else {
        raw?.destroy();
        reject(error);
      }
    });
    if (signal.aborted) abort();
  });
}

function through(proxy: URL, trusted: SecureContext): typeof connectTo {
  return async (addresses, port, signal) => {
    let failure: unknown;
    for (const address of addresses.slice(0, proxiedAddressesMax))
      try {
        return await tunnel(await toProxy(proxy, trusted, signal), proxy, address, port, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        failure = error;
      }
    throw failure;
  };
}

async function tunnel(
  socket: Socket,
  proxy: URL,
  address: string,
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  const authority = `${isIP(address) === 6 ? `[${address}]` : address}:${port}`;
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return new Promise((resolve, reject) => {
    const asked = request({
      method: 'CONNECT',
      path: authority,
      createConnection: () => socket,
      headers: {
        Host: authority,
        ...(credentials === ':'
          ? {}
          : { 'Proxy-Authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
      },
      maxHeaderSize: proxyAnswerMaxBytes,
      signal,
    });
    const refuse = (what: string) => {
      socket.destroy();
      reject(signal.aborted ? reasonOf(signal) : new EgressProxyFailed(`the egress proxy ${what}`));
    };
    asked.on('error', () => refuse('hung up'));
    asked.on('response', ({ statusCode }) => refuse(`answered ${statusCode}`));
    asked.on('connect', ({ statusCode = 0 }, _socket, early: Buffer) => {
      if (statusCode < 200 || statusCode > 299) refuse(`answered ${statusCode}`);
      // In TLS the client speaks first: a peer that speaks before us is not the receiver.
      else if (early.length > 0) refuse('sent what nobody asked for');
      else resolve(socket);
    });
    asked.end();
  });
}

async function toProxy(proxy: URL, trusted: SecureContext, signal: AbortSignal): Promise<Socket> {
  const host = proxy.hostname.replace(/^\[|\]$/g, '');
  const isTls = proxy.protocol === 'https:';
  const port = proxy.port === '' ? (isTls ? 443 : 80) : Number(proxy.port);
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = isTls
    ? connectTls({ host, port, secureContext: trusted, ...name })
    : connect({ host, port, keepAlive: true, noDelay: true });
  try {
    await opened(socket, isTls ? 'secureConnect' : 'connect', signal);
    return socket;
  } catch (error) {
    throw new EgressProxyFailed('the egress proxy cannot be reached', { cause: error });
  }
}

/** The socket is closed when it fails, and later errors are ignored. */
function opened(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      socket.destroy();
      reject(reasonOf(signal));
    };
    signal.addEventListener('abort', abort, { once: true });
    socket.once(event, () => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
    socket.on('error', (error) => {
      signal.removeEventListener('abort', abort);
      reject(error);
    });
    if (signal.aborted) abort();
  });
}

/** Work that cannot be aborted is abandoned. */
async function unless<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  let abort: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(reasonOf(signal));
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (abort !== undefined) signal.removeEventListener('abort', abort);
  }
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('given up');
}
