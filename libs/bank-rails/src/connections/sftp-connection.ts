/**
 * One SSH connection to a bank's SFTP server, opened when it is needed and again after it was lost. What
 * always holds: a call ends within its time limit, only a pinned host key is talked to, and failed attempts
 * to connect are spaced out, because banks lock accounts that try too often.
 */
import { backoffMs } from '@pis/postgres';
import ssh2, { type ConnectConfig, type SFTPWrapper } from 'ssh2';
import { BankUnavailable } from '../bank-connection.js';
import { stopwatch } from '../stopwatch.js';
import { fingerprintOf, type PinnedHostKeys, pinnedHostKeys } from './host-keys.js';

export type SftpCredentials =
  | { readonly privateKey: string; readonly passphrase: string | null }
  | { readonly password: string };

export interface SftpConnectionOptions {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly credentials: SftpCredentials;
  /** Pinned: fingerprints or public keys, see host-keys.ts. At least one. */
  readonly hostKeys: readonly string[];
  /** Connecting, and each single request. */
  readonly timeoutMs?: number;
  /** The pause after the first failed attempt to connect. It doubles up to reconnectMaxMs. */
  readonly reconnectMs?: number;
}

const timeoutDefaultMs = 30_000;
const reconnectDefaultMs = 1_000;
const reconnectMaxMs = 60_000;
/** After the bank has refused our credentials, or has shown another host key. */
const refusedPauseMs = 30_000;
/** After a connection that was lost sooner, the next attempt waits. */
const steadyAfterMs = 10_000;
const keepaliveIntervalMs = 15_000;
const keepalivesMissedMax = 3;

/** Without SHA-1. */
const macs: readonly (
  | 'hmac-sha2-256-etm@openssh.com'
  | 'hmac-sha2-512-etm@openssh.com'
  | 'hmac-sha2-256'
  | 'hmac-sha2-512'
)[] = [
  'hmac-sha2-256-etm@openssh.com',
  'hmac-sha2-512-etm@openssh.com',
  'hmac-sha2-256',
  'hmac-sha2-512',
];

/** Status codes of the SFTP protocol, version 3, that callers tell apart. */
export const sftpStatus = { noSuchFile: 2, permissionDenied: 3 } as const;

/** The server answered a request with an error. The connection is well. */
export class SftpStatusError extends Error {
  override readonly name = 'SftpStatusError';
  constructor(
    request: string,
    readonly status: number,
    options?: ErrorOptions,
  ) {
    super(`the bank's SFTP server answered ${request} with status ${status}`, options);
  }
}

type Callback<Value> = (error: Error | null | undefined, value?: Value) => void;

type OnLost = (reason: Error, wasOfUse: boolean) => void;

/** An open connection. */
export class SftpSession {
  private readonly waiting = new Set<(error: Error) => void>();
  private lost: Error | null = null;
  /** The server has answered a request. */
  private wasOfUse = false;

  constructor(
    private readonly client: ssh2.Client,
    private readonly sftp: SFTPWrapper,
    private readonly timeoutMs: number,
    private readonly onLost: OnLost,
  ) {}

  /**
   * One request to the server. An answer after the time limit is none, also when this process was frozen and reads it before
   * its timers: others may have given up what the next request would do.
   * @param request what it is, for messages
   * @throws SftpStatusError, BankUnavailable
   */
  call<Value = void>(
    request: string,
    begin: (sftp: SFTPWrapper, callback: Callback<Value>) => void,
  ): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      if (this.lost !== null) {
        reject(this.lost);
        return;
      }
      const giveUp = () =>
        this.end(new BankUnavailable(`no answer to ${request} within ${this.timeoutMs} ms`));
      const sinceMs = stopwatch();
      const timer = setTimeout(giveUp, this.timeoutMs);
      const fail = (error: Error) => {
        clearTimeout(timer);
        this.waiting.delete(fail);
        reject(error);
      };
      this.waiting.add(fail);
      try {
        begin(this.sftp, (error, value) => {
          if (sinceMs() > this.timeoutMs) {
            giveUp();
            return;
          }
          if (error) {
            fail(failureOf(request, error));
            return;
          }
          clearTimeout(timer);
          this.waiting.delete(fail);
          this.wasOfUse = true;
          resolve(value as Value);
        });
      } catch (error) {
        fail(error as Error);
      }
    });
  }

  /** Ends it. Every request that waits for an answer fails with `reason`. */
  end(reason: Error): void {
    if (this.lost !== null) return;
    this.lost = reason;
    for (const fail of this.waiting) fail(reason);
    this.onLost(reason, this.wasOfUse);
    this.client.destroy();
  }
}

function failureOf(request: string, error: Error): Error {
  const { code } = error as { code?: unknown };
  if (typeof code === 'number') return new SftpStatusError(request, code, { cause: error });
  return new BankUnavailable(`${request} failed: ${error.message}`, { cause: error });
}

export class SftpConnection {
  private session: Promise<SftpSession> | null = null;
  private failures = 0;
  private pausing: { readonly untilMs: number; readonly error: Error } | null = null;
  private isClosed = false;
  /** Ends an attempt to connect. */
  private abandon: (reason: Error) => void = () => undefined;
  private readonly config: ConnectConfig;
  private readonly where: string;
  private readonly pins: PinnedHostKeys;

  /** @throws Error when the private key cannot be read, or no host key is pinned */
  constructor(private readonly options: SftpConnectionOptions) {
    this.where = `sftp://${options.host}:${options.port}`;
    this.pins = pinnedHostKeys(options.hostKeys);
    this.config = configOf(options, this.pins);
  }

  /** The connection that there is, or a new one. @throws BankUnavailable */
  open(): Promise<SftpSession> {
    if (this.isClosed)
      return Promise.reject(new BankUnavailable(`the connection to ${this.where} is closed`));
    if (this.session !== null) return this.session;
    const { pausing } = this;
    if (pausing !== null && performance.now() < pausing.untilMs)
      return Promise.reject(pausing.error);
    let openedAtMs = Infinity;
    const opening = this.connect((reason, wasOfUse) => {
      if (this.session === opening) this.session = null;
      // A bank may end connections early. One that answers nothing is tried less and less often.
      if (wasOfUse) this.failures = 0;
      if (performance.now() - openedAtMs < steadyAfterMs) this.pauseAfter(reason);
    });
    this.session = opening;
    opening.then(
      (session) => {
        openedAtMs = performance.now();
        if (this.isClosed) this.end(session);
      },
      (error: unknown) => {
        this.session = null;
        this.pauseAfter(error as Error);
      },
    );
    return opening;
  }

  close(): void {
    this.isClosed = true;
    this.abandon(new Error('it was closed'));
    this.session?.then(
      (session) => this.end(session),
      () => undefined,
    );
  }

  private end(session: SftpSession): void {
    session.end(new BankUnavailable(`the connection to ${this.where} was closed`));
  }

  private pauseAfter(error: Error): void {
    const { reconnectMs = reconnectDefaultMs } = this.options;
    const leastMs = error instanceof Untrusted ? refusedPauseMs : 0;
    const ms = Math.max(leastMs, backoffMs(this.failures, reconnectMs, reconnectMaxMs));
    this.failures += 1;
    this.pausing = { untilMs: performance.now() + ms, error };
  }

  private connect(onLost: OnLost): Promise<SftpSession> {
    const { timeoutMs = timeoutDefaultMs } = this.options;
    return new Promise((resolve, reject) => {
      const client = new ssh2.Client();
      let session: SftpSession | null = null;
      let wrongKey: string | null = null;
      const fail = (error: Error) => {
        clearTimeout(timer);
        if (session !== null) {
          const reason = `the connection to ${this.where} was lost: ${error.message}`;
          session.end(new BankUnavailable(reason, { cause: error }));
          return;
        }
        reject(this.notConnected(error, wrongKey));
        client.destroy();
      };
      const giveUp = () => fail(new Error(`not within ${timeoutMs} ms`));
      const sinceMs = stopwatch();
      // The client's own limit does not cover the start of SFTP.
      const timer = setTimeout(giveUp, timeoutMs);
      this.abandon = fail;
      client.on('error', fail);
      client.on('close', () => fail(new Error('the server closed it')));
      // Requests are small: without it, each would wait for more to send.
      client.on('connect', () => client.setNoDelay(true));
      client.on('ready', () =>
        client.sftp((error, sftp) => {
          if (error) {
            fail(error);
            return;
          }
          if (sinceMs() > timeoutMs) {
            giveUp();
            return;
          }
          clearTimeout(timer);
          session = new SftpSession(client, sftp, timeoutMs, onLost);
          sftp.on('close', () => fail(new Error('the server ended SFTP')));
          resolve(session);
        }),
      );
      client.connect({
        ...this.config,
        hostVerifier: (key: Buffer) => {
          if (this.pins.has(key)) return true;
          wrongKey = fingerprintOf(key);
          return false;
        },
      });
    });
  }

  private notConnected(error: Error, wrongKey: string | null): Error {
    const { level } = error as { level?: unknown };
    if (wrongKey !== null)
      return new Untrusted(`${this.where} has the host key ${wrongKey}, which is not pinned`);
    if (level === 'client-authentication')
      return new Untrusted(`${this.where} refuses the credentials of ${this.options.username}`);
    return new BankUnavailable(`no connection to ${this.where}: ${error.message}`, {
      cause: error,
    });
  }
}

/** A person must look at it. */
class Untrusted extends BankUnavailable {}

function configOf(options: SftpConnectionOptions, pins: PinnedHostKeys): ConnectConfig {
  const { host, port, username, credentials, timeoutMs = timeoutDefaultMs } = options;
  const config: ConnectConfig = {
    host,
    port,
    username,
    readyTimeout: timeoutMs,
    keepaliveInterval: keepaliveIntervalMs,
    keepaliveCountMax: keepalivesMissedMax,
    algorithms: { serverHostKey: [...pins.algorithms], hmac: [...macs], compress: ['none'] },
  };
  if ('password' in credentials)
    return { ...config, password: credentials.password, authHandler: ['password'] };
  const { privateKey, passphrase } = credentials;
  const key = ssh2.utils.parseKey(privateKey, passphrase ?? undefined);
  // The library's message may quote what it could not read.
  if (key instanceof Error) throw new Error('the private key cannot be read');
  return {
    ...config,
    privateKey,
    ...(passphrase !== null && { passphrase }),
    authHandler: ['publickey'],
  };
}
