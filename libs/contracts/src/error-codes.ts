/** The error envelope of the API (rules error-1 to error-14, further-error-1 to further-error-8). */

export const errorCodes = [
  'VALIDATION_ERROR',
  'INVALID_JSON',
  'IDEMPOTENCY_KEY_REQUIRED',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'NOT_FOUND',
  'CONFLICT',
  'IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY',
  'REQUEST_TIMEOUT',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'RANGE_NOT_SATISFIABLE',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** One thing wrong with a request. */
export interface Problem {
  /** Dotted path relative to the body, or the parameter's name; empty for the body as a whole. */
  readonly field: string;
  /** A stable `validation_*` code, or a description where the rule has none. */
  readonly issue: string;
  /** A text for people. The wording may change. */
  readonly message: string;
}

export interface ErrorEnvelope {
  readonly error: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly details?: readonly Problem[];
  };
}
