/**
 * Authenticates the API key in `Authorization: Bearer`.
 *
 * The digest of a key names its stream, so a lookup is one read. The result is trusted for freshMs and
 * renewed in the background until staleMs. After that it is not used, so a revocation takes effect
 * everywhere within 5 s. Expiry is checked on each request. Unknown keys are not cached. An address that
 * keeps sending unknown keys is refused without a read; cached keys still work from it.
 */
import { hash } from 'node:crypto';
import {
  apiKey as apiKeys,
  type ApiKeyState,
  type ApiKeyType,
  type Environment,
  isUsable,
} from '@pis/domain';
import type { OperationDeclaration } from '@pis/contracts';
import { type EventStore, repository, StoreUnavailable } from '@pis/event-store';
import { BoundedMap } from './bounded-map.js';
import { networkOf } from './client-address.js';
import { ApiError } from './errors.js';
import type { RateLimit } from './rate-limit.js';

export interface Caller {
  readonly organizationId: string;
  readonly apiKeyId: string;
  readonly keyType: ApiKeyType;
}

type KnownKey = NonNullable<ApiKeyState>;
interface Cached {
  readonly key: KnownKey;
  /** Monotonic time at which the read began. Later events may be missing. */
  readonly readAtMs: number;
}

const cachedKeysMax = 10_000;
const freshMs = 2_000;
const staleMs = 4_500;

const keyFormat = {
  sandbox: /^Bearer +(pis_test_[A-Za-z0-9_-]{16,128})$/i,
  production: /^Bearer +(pis_live_[A-Za-z0-9_-]{16,128})$/i,
} as const satisfies Record<Environment, RegExp>;

/** Milliseconds; injected by tests. */
export interface Clocks {
  /** Since 1970: for the expiry of keys. */
  now(): number;
  /** Monotonic: for the age of cached reads. */
  elapsed(): number;
}

const clocksOfTheMachine: Clocks = { now: () => Date.now(), elapsed: () => performance.now() };

export class Authentication {
  private readonly cache = new BoundedMap<string, Cached>(cachedKeysMax);
  private readonly reading = new Map<string, Promise<KnownKey | null>>();
  private readonly keys: ReturnType<typeof repositoryOf>;

  constructor(
    store: EventStore,
    private readonly environment: Environment,
    /** Limits the failed requests of an address. */
    private readonly failures: RateLimit,
    private readonly clocks: Clocks = clocksOfTheMachine,
  ) {
    this.keys = repositoryOf(store);
  }

  /**
   * Synchronous when the key is cached, as it is for most requests. Otherwise a promise.
   * @throws ApiError UNAUTHORIZED, RATE_LIMITED; StoreUnavailable
   */
  authenticate(authorization: string | undefined, address: string): Caller | Promise<Caller> {
    const token = keyFormat[this.environment].exec(authorization ?? '')?.[1];
    if (token === undefined) throw this.refusal(address);
    const digest = hash('sha256', token, 'hex');
    const cached = this.cache.get(digest);
    const ageMs = cached === undefined ? Infinity : this.clocks.elapsed() - cached.readAtMs;
    if (cached === undefined || ageMs > staleMs) {
      return (this.reading.get(digest) ?? this.readFor(address, digest)).then((key) =>
        this.callerOf(key, address),
      );
    }
    // On failure the entry becomes stale. The next request waits for a read, and reports its error.
    if (ageMs > freshMs) this.read(digest).catch(() => undefined);
    return this.callerOf(cached.key, address);
  }

  /** @throws ApiError RATE_LIMITED */
  private readFor(address: string, digest: string): Promise<KnownKey | null> {
    const network = networkOf(address);
    // Counts as a failure until the result is known. Otherwise many concurrent requests would all pass.
    this.failures.take(network);
    return this.read(digest).finally(() => this.failures.giveBack(network));
  }

  private callerOf(key: KnownKey | null, address: string): Caller {
    const at = new Date(this.clocks.now()).toISOString();
    if (key === null || !isUsable(key, this.environment, at)) throw this.refusal(address);
    return { organizationId: key.organizationId, apiKeyId: key.apiKeyId, keyType: key.keyType };
  }

  /** @throws ApiError RATE_LIMITED instead when the address has failed too often */
  private refusal(address: string): ApiError {
    this.failures.take(networkOf(address));
    return new ApiError('UNAUTHORIZED', 'the API key is missing, invalid, expired or revoked');
  }

  /** One read of a key at a time. All requests with this key wait for the same read. */
  private read(digest: string): Promise<KnownKey | null> {
    const underWay = this.reading.get(digest);
    if (underWay) return underWay;
    const readAtMs = this.clocks.elapsed();
    const reading = this.keys
      .load(digest)
      .then(({ state }) => {
        if (this.clocks.elapsed() - readAtMs > staleMs)
          throw new StoreUnavailable('reading the API key took too long');
        if (state === null) this.cache.delete(digest);
        else this.cache.set(digest, { key: state, readAtMs });
        return state;
      })
      .finally(() => this.reading.delete(digest));
    this.reading.set(digest, reading);
    return reading;
  }
}

function repositoryOf(store: EventStore) {
  return repository(store, apiKeys);
}

/** Whether a key of the caller's type may call the operation. */
export function permits({ access }: OperationDeclaration, { keyType }: Caller): boolean {
  return access.includes(keyType);
}
