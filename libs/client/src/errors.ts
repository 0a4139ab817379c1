/** The errors of the client, distinguished by what a caller can do. */

/** Codes of the API's error envelope: branch on these. */
export type ErrorCode =
  | 'VALIDATION_ERROR'
  | 'INVALID_JSON'
  | 'IDEMPOTENCY_KEY_REQUIRED'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY'
  | 'REQUEST_TIMEOUT'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RANGE_NOT_SATISFIABLE'
  | 'RATE_LIMITED'
  | 'INTERNAL_ERROR'
  | 'SERVICE_UNAVAILABLE';

/** One thing wrong with a request. */
export interface Problem {
  /** Dotted path relative to the body, or the parameter's name; empty for the body as a whole. */
  readonly field: string;
  /** A stable `validation_*` code, or a description where the rule has none. */
  readonly issue: string;
  /** For people; the wording may change. */
  readonly message: string;
}

export abstract class PisError extends Error {}

export interface RequestErrorContext {
  readonly attempts: number;
  readonly idempotencyKey: string | null;
}

/** A request that did not succeed. */
export abstract class PisRequestError extends PisError {
  /** How often the request was tried, 1 to 5. */
  readonly attempts: number;
  /**
   * The payment's idempotency key, also when the client generated it. Repeat with this key when the outcome
   * is unknown. Null for all other requests.
   */
  readonly idempotencyKey: string | null;

  constructor(message: string, context: RequestErrorContext, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.attempts = context.attempts;
    this.idempotencyKey = context.idempotencyKey;
  }
}

export interface ErrorAnswer {
  readonly status: number;
  /** `HTTP_<status>` for an answer that is not the API's, a proxy's for instance. */
  readonly code: ErrorCode | (string & {});
  readonly message: string;
  readonly details: readonly Problem[];
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
}

/** The API answered with an error. */
export class PisApiError extends PisRequestError {
  override readonly name = 'PisApiError';
  readonly status: number;
  readonly code: ErrorAnswer['code'];
  /** Everything wrong with the request at once; empty where the API gave none. */
  readonly details: readonly Problem[];
  /** Include it when you ask for support. */
  readonly requestId: string | null;
  /** The pause that the Retry-After header asked for. */
  readonly retryAfterMs: number | null;

  constructor(answer: ErrorAnswer, context: RequestErrorContext) {
    super(answer.message, context);
    this.status = answer.status;
    this.code = answer.code;
    this.details = answer.details;
    this.requestId = answer.requestId;
    this.retryAfterMs = answer.retryAfterMs;
  }
}

/** No answer, or none that could be read: whether the request was executed is not known. */
export class PisNetworkError extends PisRequestError {
  override readonly name: string = 'PisNetworkError';
}

/** No complete answer in time. */
export class PisTimeoutError extends PisNetworkError {
  override readonly name = 'PisTimeoutError';
}

/** The caller's signal ended it; `cause` is the signal's reason. A sent request may have been executed. */
export class PisAbortError extends PisRequestError {
  override readonly name = 'PisAbortError';
}

/** A delivery that must not be trusted, and why. */
export class PisWebhookError extends PisError {
  override readonly name = 'PisWebhookError';

  constructor(
    /** `payload`: signed correctly, but not an event. */
    readonly reason: 'signature' | 'timestamp' | 'payload',
    message: string,
  ) {
    super(message);
  }
}
