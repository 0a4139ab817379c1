/**
 * Calls the service's public API like a client: for commands that belong to an organization and its key,
 * and need neither an operator nor a database. Errors are distinguished by whether a retry may help.
 */
import { apiClientEnv, loadConfig } from '@pis/service-kit/stores';
import { CommandFailed, describe } from '../output.js';
import { within } from './within.js';

/** No answer, or a temporary failure: ask again. */
export class ApiAway extends CommandFailed {
  constructor(
    message: string,
    /** The service's Retry-After. */
    readonly retryAfterMs: number | null,
  ) {
    super(message);
  }
}

export interface ApiOptions {
  readonly apiUrl?: string;
}

/** An event of the feed: the envelope that endpoints are sent. */
export interface FeedEvent {
  readonly id: string;
  readonly eventType: string;
  readonly createdAt: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface FeedPage {
  readonly events: readonly FeedEvent[];
  readonly nextCursor: string;
}

/** Longer than the service waits for an endpoint when it tests it. */
const timeoutMs = 40_000;
const feedPageMax = 100;
/** After all events: this page is empty, and its cursor is behind the newest event. */
const endOfTime = '9999-12-31T23:59:59.999Z';
const passing: readonly number[] = [408, 425, 429, 500, 502, 503, 504];

export class PublicApi {
  private constructor(
    readonly url: string,
    private readonly apiKey: string,
  ) {}

  /** @throws CommandFailed, ConfigurationError when the address or the key is missing */
  static from(options: ApiOptions): PublicApi {
    const config = loadConfig(apiClientEnv, process.env);
    const url = options.apiUrl ?? config.PIS_PUBLIC_URL ?? `http://127.0.0.1:${config.PORT}`;
    if (options.apiUrl === undefined && config.PIS_PUBLIC_URL === undefined && config.PORT === 0)
      throw new CommandFailed('PORT is 0; give the address of the API with --api-url');
    if (config.PIS_API_KEY === undefined)
      throw new CommandFailed('PIS_API_KEY is not set; the command needs it to call the API');
    const { href, search, hash } = httpUrl(url, '--api-url');
    if (search !== '' || hash !== '')
      throw new CommandFailed('--api-url may have only an origin and a path');
    return new PublicApi(href.replace(/\/+$/, ''), config.PIS_API_KEY);
  }

  /** @throws ApiAway, CommandFailed */
  async newestCursor(signal: AbortSignal): Promise<string> {
    return (await this.feed({ from: endOfTime, limit: '1' }, signal)).nextCursor;
  }

  /** Oldest first, after the position. @throws ApiAway, CommandFailed */
  eventsAfter(cursor: string, signal: AbortSignal): Promise<FeedPage> {
    return this.feed({ after: cursor, limit: String(feedPageMax) }, signal);
  }

  /** Full pages are followed by another at once. */
  static isFull({ events }: FeedPage): boolean {
    return events.length === feedPageMax;
  }

  /** Has the service send a sample to an endpoint. @throws ApiAway, CommandFailed */
  async testEndpoint(endpointId: string, eventType: string | null): Promise<TestResult> {
    const path = `/v1/webhooks/${encodeURIComponent(endpointId)}/test`;
    const body = JSON.stringify(eventType === null ? {} : { eventType });
    return (await this.ask('POST', path, { body })).data as TestResult;
  }

  private async feed(
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<FeedPage> {
    const path = `/v1/events?${new URLSearchParams(query).toString()}`;
    const { data, meta } = await this.ask('GET', path, { signal });
    const nextCursor = meta?.pagination?.nextCursor;
    // Without a position events would be lost or repeated.
    if (!Array.isArray(data) || typeof nextCursor !== 'string')
      throw new CommandFailed(`${this.url} did not answer with a page of events`);
    return { events: data as readonly FeedEvent[], nextCursor };
  }

  /** What a single operation answers. A field that is undefined is not sent. @throws ApiAway, CommandFailed */
  async data<Data>(method: string, path: string, body?: object): Promise<Data> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return (await this.ask(method, path, sent)).data as Data;
  }

  /** A range of a file, whole. `end` is exclusive. @throws ApiAway, CommandFailed */
  async range(
    path: string,
    { start, end }: { readonly start: number; readonly end: number },
  ): Promise<Uint8Array> {
    const range = `bytes=${start}-${end - 1}`;
    const [response, bytes] = await this.send('GET', path, { headers: { range } });
    if (response.status !== 206) throw this.failure(response, parsed(bytes.toString()));
    if (bytes.length !== end - start) throw new ApiAway(`${this.url} answered in part`, null);
    return bytes;
  }

  private async ask(
    method: string,
    path: string,
    { body, signal }: { readonly body?: string; readonly signal?: AbortSignal },
  ): Promise<ApiBody> {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const [response, bytes] = await this.send(method, path, { body, headers, signal });
    const answer = parsed(bytes.toString());
    if (response.ok && answer !== null) return answer;
    throw this.failure(response, answer);
  }

  private async send(
    method: string,
    path: string,
    { body, headers, signal }: Sent,
  ): Promise<readonly [Response, Buffer]> {
    const request = {
      method,
      headers: { authorization: `Bearer ${this.apiKey}`, ...headers },
      // The key is for this address and no other.
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    } as const;
    return within(timeoutMs, signal, async (ending) => {
      const answered = await fetch(`${this.url}${path}`, { ...request, signal: ending });
      return [answered, Buffer.from(await answered.arrayBuffer())] as const;
    }).catch((error: unknown) => {
      throw new ApiAway(`no answer from ${this.url}: ${describe(error)}`, null);
    });
  }

  private failure({ status, ok, headers }: Response, answer: ApiBody | null): CommandFailed {
    const {
      code = `HTTP ${status}`,
      message = 'no answer of the API',
      details,
    } = answer?.error ?? {};
    const problems = Array.isArray(details) ? details.map((one) => `\n${Object(one).message}`) : [];
    const said = `${this.url} answered ${code}: ${message}${problems.join('')}`;
    // An incomplete answer, or a proxy's page, counts as no answer.
    if (passing.includes(status) || ok)
      return new ApiAway(said, retryAfterMsOf(headers.get('retry-after')));
    return new CommandFailed(said);
  }
}

interface Sent {
  readonly body?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export interface TestResult {
  readonly success: boolean;
  readonly statusCode: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

interface ApiBody {
  readonly data?: unknown;
  readonly meta?: { readonly pagination?: { readonly nextCursor?: unknown } };
  readonly error?: {
    readonly code?: string;
    readonly message?: string;
    readonly details?: unknown;
  };
}

/** Null when it is not a JSON object. */
function parsed(text: string): ApiBody | null {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}

function retryAfterMsOf(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : null;
}

/** @throws CommandFailed */
export function httpUrl(text: string, option: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new CommandFailed(`${option} is not an http(s) URL`);
  if (url.username !== '' || url.password !== '')
    throw new CommandFailed(`${option} must not have a user or a password`);
  return url;
}
