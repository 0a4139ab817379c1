/** Turns an HTTP response into the caller's result: the resource, or the error. */
import { PisApiError, PisNetworkError, type Problem, type RequestErrorContext } from './errors.js';

export interface Reply<Data> {
  readonly data: Data;
  /** For a paged list; null on the last page. */
  readonly nextCursor: string | null;
  readonly replayed: boolean;
}

/** Errors are returned, not thrown. */
export function answerOf<Data>(
  response: Response,
  bytes: Uint8Array,
  context: RequestErrorContext,
  accept: string | undefined,
): Reply<Data> | PisApiError | PisNetworkError {
  if (response.ok && accept !== undefined) return fileOf<Data>(response, bytes, context, accept);
  const body = bytes.length === 0 ? undefined : parsed(bytes);
  if (!response.ok) return apiError(response, body, context);
  const replayed = response.headers.get('idempotent-replayed') === 'true';
  if (response.status === 204) return { data: undefined as Data, nextCursor: null, replayed };
  // An unreadable success, cut off or from a proxy, does not show the outcome.
  if (!isObject(body) || body['data'] === undefined)
    return new PisNetworkError(`the answer (${response.status}) could not be read`, context);
  return { data: body['data'] as Data, nextCursor: nextCursorIn(body['meta']), replayed };
}

/** Returns the bytes unchanged, if they have the requested media type. */
function fileOf<Data>(
  response: Response,
  bytes: Uint8Array,
  context: RequestErrorContext,
  accept: string,
): Reply<Data> | PisNetworkError {
  const mediaType = response.headers.get('content-type') ?? '';
  if (!mediaType.startsWith(accept))
    return new PisNetworkError(`the answer (${response.status}) is not ${accept}`, context);
  return { data: bytes as Data, nextCursor: null, replayed: false };
}

function apiError(response: Response, body: unknown, context: RequestErrorContext): PisApiError {
  const error = isObject(body) && isObject(body['error']) ? body['error'] : {};
  const { code, message, details } = error;
  const { status, headers } = response;
  return new PisApiError(
    {
      status,
      code: typeof code === 'string' ? code : `HTTP_${status}`,
      message: typeof message === 'string' ? message : `the server answered ${status}`,
      details: Array.isArray(details) ? (details as Problem[]) : [],
      requestId: headers.get('x-request-id'),
      retryAfterMs: retryAfterMsOf(headers.get('retry-after')),
    },
    context,
  );
}

/** Seconds or a date (RFC 9110, 10.2.3). */
function retryAfterMsOf(header: string | null): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}

function nextCursorIn(meta: unknown): string | null {
  const pagination = isObject(meta) ? meta['pagination'] : undefined;
  const nextCursor = isObject(pagination) ? pagination['nextCursor'] : undefined;
  return typeof nextCursor === 'string' ? nextCursor : null;
}

const utf8 = new TextDecoder();

/** Undefined when it is not JSON. */
function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes)) as unknown;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
