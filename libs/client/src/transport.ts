/**
 * Requests over `fetch`: one attempt with its timeout, and the rule when another one follows
 * (rule error-15). A request is built once, so that every attempt is the
 * same bytes with the same Idempotency-Key.
 */
import { setTimeout as delayFor } from 'node:timers/promises';
import { answerOf, type Reply } from './answer.js';
import {
  PisAbortError,
  PisApiError,
  PisNetworkError,
  PisRequestError,
  PisTimeoutError,
  type RequestErrorContext,
} from './errors.js';

export interface PisClientOptions {
  /** The service's base address, for example `https://api.example.com`; a path prefix is kept. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Of each attempt, until its answer is complete. Default 30 s. */
  readonly timeoutMs?: number | undefined;
  /** Instead of the global one: for a proxy, or TLS of your own. */
  readonly fetch?: typeof fetch | undefined;
  /** Waits between attempts; ends early by rejecting when the signal aborts. For tests. */
  readonly delay?: ((ms: number, signal: AbortSignal | undefined) => Promise<unknown>) | undefined;
}

export interface RequestOptions {
  /** Ends the request, its retries and the pauses between them with a PisAbortError. */
  readonly signal?: AbortSignal | undefined;
  /** Of each attempt, instead of the client's. */
  readonly timeoutMs?: number | undefined;
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | Date | undefined>>;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  /**
   * Whether the request is safe to repeat. If not, it is retried only when it certainly was not executed.
   */
  readonly repeatable: boolean;
  /** For requests that take longer than others. */
  readonly timeoutMs?: number;
  /** The media type of an answer that is no JSON: its bytes are the data. Errors are JSON in any case. */
  readonly accept?:
    | 'application/pdf'
    | 'application/jsonl'
    | 'application/xml'
    | 'text/csv'
    | 'text/plain';
  /** A range of the bytes of such an answer. */
  readonly range?: string;
}

const timeoutDefaultMs = 30_000;
/** The longest that a timer can wait. */
const timeoutMaxMs = 2 ** 31 - 1;
/** Between the attempts, of which there are five. */
const retryDelaysMs = [1_000, 2_000, 4_000, 8_000] as const;
/** A longer Retry-After is left to the caller. */
const retryAfterMaxMs = 60_000;
/** A proxy's 502 and 504 leave the outcome as unknown as our own 500 and 503. */
const retriedStatuses: readonly number[] = [500, 502, 503, 504];

interface Prepared {
  readonly url: string;
  readonly init: RequestInit;
  readonly timeoutMs: number;
  readonly accept: Call['accept'];
}

export class Transport {
  // Private to the language, so that no dump of a client shows the key.
  readonly #baseUrl: string;
  readonly #apiKey: string;
  readonly #timeoutMs: number | undefined;
  readonly #fetch: typeof fetch;
  readonly #delay: NonNullable<PisClientOptions['delay']>;

  /** @throws TypeError, RangeError when an option cannot work */
  constructor(options: PisClientOptions) {
    this.#baseUrl = checkedBaseUrl(options.baseUrl);
    if (typeof options.apiKey !== 'string' || options.apiKey.trim() === '')
      throw new TypeError('apiKey is missing or empty');
    this.#apiKey = options.apiKey;
    this.#timeoutMs = options.timeoutMs;
    if (options.timeoutMs !== undefined) checkTimeout(options.timeoutMs);
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#delay = options.delay ?? ((ms, signal) => delayFor(ms, undefined, { signal }));
  }

  /**
   * @throws PisRequestError
   * @throws TypeError, RangeError when it cannot be sent as given; nothing was sent then
   */
  async send<Data>(call: Call, options: RequestOptions = {}): Promise<Reply<Data>> {
    const request = this.#prepare(call, options);
    for (let attempt = 1; ; attempt += 1) {
      const context = { attempts: attempt, idempotencyKey: call.idempotencyKey ?? null };
      const result = await this.#attempt<Data>(request, context, options.signal);
      if (!(result instanceof PisRequestError)) return result;
      const pauseMs = pauseBeforeRetry(result, call.repeatable);
      if (pauseMs === null) throw result;
      await this.#pause(pauseMs, context, options.signal);
    }
  }

  #prepare(call: Call, options: RequestOptions): Prepared {
    const url = new URL(`${this.#baseUrl}${call.path}`);
    for (const [name, value] of Object.entries(call.query ?? {}))
      if (value !== undefined)
        url.searchParams.set(name, value instanceof Date ? value.toISOString() : String(value));

    // Refuses what no header can hold, before anything is sent.
    const { accept } = call;
    const headers = new Headers({
      accept: accept === undefined ? 'application/json' : `${accept}, application/json`,
      authorization: `Bearer ${this.#apiKey}`,
    });
    if (call.range !== undefined) headers.set('range', call.range);
    if (call.body !== undefined) headers.set('content-type', 'application/json');
    if (call.idempotencyKey !== undefined)
      headers.set('idempotency-key', asHeaderBytes(call.idempotencyKey));
    const body = call.body === undefined ? {} : { body: JSON.stringify(call.body) };
    // A redirect would turn a POST into a GET, or carry the request to somebody else.
    const init = { method: call.method, headers, redirect: 'manual', ...body } as const;

    const timeoutMs = options.timeoutMs ?? call.timeoutMs ?? this.#timeoutMs ?? timeoutDefaultMs;
    checkTimeout(timeoutMs);
    return { url: url.href, init, timeoutMs, accept };
  }

  /** Errors are returned: whether they are thrown is decided above. */
  async #attempt<Data>(
    { url, init, timeoutMs, accept }: Prepared,
    context: RequestErrorContext,
    caller: AbortSignal | undefined,
  ): Promise<Reply<Data> | PisRequestError> {
    if (caller?.aborted) return aborted(context, caller);
    // Not AbortSignal.any: signals that live long would keep what every request left behind.
    const ending = new AbortController();
    const end = () => ending.abort();
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      end();
    }, timeoutMs);
    caller?.addEventListener('abort', end, { once: true });
    try {
      const response = await this.#fetch(url, { ...init, signal: ending.signal });
      const bytes = new Uint8Array(await response.arrayBuffer());
      return answerOf<Data>(response, bytes, context, accept);
    } catch (cause) {
      if (caller?.aborted) return aborted(context, caller);
      if (timedOut)
        return new PisTimeoutError(`no complete answer within ${timeoutMs} ms`, context, cause);
      return new PisNetworkError('the connection failed', context, cause);
    } finally {
      clearTimeout(timer);
      caller?.removeEventListener('abort', end);
    }
  }

  async #pause(
    ms: number,
    context: RequestErrorContext,
    caller: AbortSignal | undefined,
  ): Promise<void> {
    try {
      await this.#delay(ms, caller);
    } catch (error) {
      throw caller?.aborted ? aborted(context, caller) : error;
    }
  }
}

/** How long to wait before the next attempt, or null when there is none. */
function pauseBeforeRetry(error: PisRequestError, repeatable: boolean): number | null {
  const delayMs = retryDelaysMs[error.attempts - 1];
  if (delayMs === undefined) return null;
  if (error instanceof PisNetworkError)
    return repeatable || neverConnected(error.cause) ? delayMs : null;
  if (!(error instanceof PisApiError)) return null;

  const { status, retryAfterMs } = error;
  // A rate-limited request was not executed. Without a Retry-After the time for a retry is unknown.
  const refused = status === 429 && retryAfterMs !== null;
  if (!refused && !(repeatable && retriedStatuses.includes(status))) return null;
  if (retryAfterMs !== null && retryAfterMs > retryAfterMaxMs) return null;
  return Math.max(delayMs, retryAfterMs ?? 0);
}

/** The causes of fetch's TypeError in Node when no byte was sent. */
const connectFailures: readonly unknown[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
];

function neverConnected(cause: unknown): boolean {
  const { cause: inner } = (cause ?? {}) as { readonly cause?: unknown };
  const { code } = (inner ?? {}) as { readonly code?: unknown };
  return connectFailures.includes(code);
}

function aborted(context: RequestErrorContext, { reason }: AbortSignal): PisAbortError {
  return new PisAbortError('the request was aborted by its caller', context, reason);
}

/** @returns the address without a slash at its end */
function checkedBaseUrl(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new TypeError('baseUrl must be an http(s) URL, for example http://127.0.0.1:3000');
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new TypeError('baseUrl has more than an origin and a path');
  return url.href.replace(/\/+$/, '');
}

function checkTimeout(timeoutMs: number): void {
  if (!(timeoutMs > 0 && timeoutMs <= timeoutMaxMs))
    throw new RangeError(`timeoutMs must be more than 0 and at most ${timeoutMaxMs}`);
}

/** Headers are bytes: the API reads them as UTF-8, fetch takes one character for each. */
function asHeaderBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
