/**
 * Errors as the client sees them: the only place that chooses the error envelope and its HTTP status. An
 * unexpected error shows no internals.
 */
import type { ErrorCode, ErrorEnvelope, Problem } from '@pis/contracts';
import { UnreadableEvent, WrongExpectedRevision } from '@pis/event-store';
import { isTransient } from '@pis/postgres';

const statusOf = {
  VALIDATION_ERROR: 400,
  INVALID_JSON: 400,
  IDEMPOTENCY_KEY_REQUIRED: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  CONFLICT: 409,
  IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY: 409,
  REQUEST_TIMEOUT: 408,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RANGE_NOT_SATISFIABLE: 416,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
} as const satisfies Record<ErrorCode, number>;

const headersOf: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = {
  UNAUTHORIZED: { 'WWW-Authenticate': 'Bearer' },
  RATE_LIMITED: { 'Retry-After': '1' },
  SERVICE_UNAVAILABLE: { 'Retry-After': '1' },
};

/** A request that is answered with an error of the specification. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly code: ErrorCode,
    message: string,
    /** Only for a VALIDATION_ERROR (rule error-3). Without them its list of details is empty. */
    readonly details?: readonly Problem[],
  ) {
    super(message);
  }
}

export function notFound(what: string): ApiError {
  return new ApiError('NOT_FOUND', `${what} not found`);
}

export function invalid(details: readonly Problem[]): ApiError {
  return new ApiError('VALIDATION_ERROR', 'the request is not valid', details);
}

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorEnvelope;
}

export function answerTo(error: unknown): ErrorAnswer {
  const { code, message, details = [] } = asApiError(error);
  return {
    status: statusOf[code],
    headers: headersOf[code] ?? {},
    body: { error: { code, message, ...(code === 'VALIDATION_ERROR' && { details }) } },
  };
}

/** Fastify's and the HTTP parser's own errors, by their code. */
const serverErrors: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['PAYLOAD_TOO_LARGE', 'the body exceeds 64 KiB'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['UNSUPPORTED_MEDIA_TYPE', 'send application/json'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['INVALID_JSON', 'the body is not as long as announced'],
  FST_ERR_BAD_URL: ['NOT_FOUND', 'there is no such path'],
  HPE_HEADER_OVERFLOW: ['VALIDATION_ERROR', 'the headers are too long'],
};

const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'VALIDATION_ERROR',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  408: 'REQUEST_TIMEOUT',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMITED',
  503: 'SERVICE_UNAVAILABLE',
};

function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  const error = withoutWrapping(thrown);
  const known = serverErrors[codeOf(error)];
  if (known) return new ApiError(...known);
  if (isTemporary(error))
    return new ApiError('SERVICE_UNAVAILABLE', 'the service cannot answer now; retry shortly');
  const codeByStatus = codeOfStatus[httpStatusOf(error)];
  if (codeByStatus === 'NOT_FOUND') return new ApiError('NOT_FOUND', 'there is no such path');
  if (codeByStatus) return new ApiError(codeByStatus, 'the request cannot be served');
  return new ApiError('INTERNAL_ERROR', 'an unexpected error occurred');
}

/** Recognized by type and never by name: another library may use the same name. */
function isTemporary(error: unknown): boolean {
  // Ten tries conflicted with other writers. Nothing was written, and a retry may succeed.
  if (error instanceof WrongExpectedRevision) return true;
  // A newer release wrote the event: a gateway of that release can answer.
  if (error instanceof UnreadableEvent) return true;
  return isTransient(error);
}

/** Nest wraps Fastify's errors: they are the cause of its own exception. */
function withoutWrapping(error: unknown): unknown {
  return isNests(error) && error.cause instanceof Error ? withoutWrapping(error.cause) : error;
}

/** Recognized by shape: Nest's exceptions have a method for their status, Fastify's errors a field. */
function isNests(error: unknown): error is Error & { getStatus(): unknown } {
  return error instanceof Error && 'getStatus' in error && typeof error.getStatus === 'function';
}

function httpStatusOf(error: unknown): number {
  if (isNests(error)) return Number(error.getStatus());
  return error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 0;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
