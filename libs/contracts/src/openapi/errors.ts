/** The error answers of the OpenAPI document: one shared response for each status and set of codes. */
import type { ErrorCode, ErrorEnvelope } from '../error-codes.js';
import { paymentId } from './examples.js';
import { type Json, ref } from './schemas.js';

interface ErrorDescription {
  readonly status: number;
  readonly when: string;
  readonly example: Omit<ErrorEnvelope['error'], 'code'>;
}

/** The gateway chooses the status; a test there compares. */
const errorDescriptions: Readonly<Record<ErrorCode, ErrorDescription>> = {
  VALIDATION_ERROR: {
    status: 400,
    when: 'The body, a parameter or an ID is invalid. All problems are reported at once.',
    example: {
      message: 'the request is not valid',
      details: [
        {
          field: 'paymentAmount',
          issue: 'validation_min',
          message: 'paymentAmount must be at least 1',
        },
        {
          field: 'direction',
          issue: 'validation_enum',
          message: 'direction must be one of INBOUND, OUTBOUND',
        },
      ],
    },
  },
  INVALID_JSON: {
    status: 400,
    when: 'The body is not JSON in UTF-8, or repeats a key.',
    example: { message: 'the body repeats a key' },
  },
  IDEMPOTENCY_KEY_REQUIRED: {
    status: 400,
    when: 'Idempotency-Key is missing, empty or longer than 255 characters.',
    example: { message: 'send an Idempotency-Key header of 1 to 255 characters' },
  },
  UNAUTHORIZED: {
    status: 401,
    when: 'The key is missing, invalid, expired, revoked or of another environment.',
    example: { message: 'the API key is missing, invalid, expired or revoked' },
  },
  FORBIDDEN: {
    status: 403,
    when: 'The type of the key does not permit this.',
    example: { message: 'a read_only key cannot do this' },
  },
  NOT_FOUND: {
    status: 404,
    when: 'Your organization has no such record.',
    example: { message: 'payment not found' },
  },
  CONFLICT: {
    status: 409,
    when: 'The record exists already, or its state does not allow this.',
    example: { message: 'a contact with these details exists already' },
  },
  IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY: {
    status: 409,
    when: 'The key has created a payment from another body. The message names it and each field that differs.',
    example: {
      message: `this Idempotency-Key created payment ${paymentId} from a request that differs in: paymentAmount`,
    },
  },
  REQUEST_TIMEOUT: {
    status: 408,
    when: 'The request did not arrive in time, and the connection is closed. Nothing was done.',
    example: { message: 'the request did not arrive in time' },
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    when: 'The body exceeds 64 KiB.',
    example: { message: 'the body exceeds 64 KiB' },
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    when: 'The body is not uncompressed application/json in UTF-8.',
    example: { message: 'send application/json in UTF-8, not compressed' },
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    when: 'The file has no byte of the range. Content-Range has the size of the file.',
    example: { message: 'the file has 412873 bytes' },
  },
  RATE_LIMITED: {
    status: 429,
    when: 'The key has sent too many requests. Repeat after Retry-After.',
    example: { message: 'too many requests; retry shortly' },
  },
  INTERNAL_ERROR: {
    status: 500,
    when: 'An unexpected error. Repeat with the same Idempotency-Key.',
    example: { message: 'an unexpected error occurred' },
  },
  SERVICE_UNAVAILABLE: {
    status: 503,
    when: 'A store cannot be reached. Nothing is lost or half done. Repeat with the same Idempotency-Key.',
    example: { message: 'the service cannot answer now; retry shortly' },
  },
};

/** `responses` of an operation: references to the shared ones, by status. */
export function errorResponses(codes: readonly ErrorCode[]): Json {
  return Object.fromEntries(
    byStatus(codes).map(([status, those]) => [
      status,
      { $ref: `#/components/responses/${nameOf(those)}` },
    ]),
  );
}

/** The shared responses that operations with these sets of codes refer to. */
export function errorComponents(sets: readonly (readonly ErrorCode[])[]): Json {
  return Object.fromEntries(
    sets.flatMap(byStatus).map(([status, codes]) => [nameOf(codes), errorResponse(status, codes)]),
  );
}

export function errorExamples(): Json {
  return Object.fromEntries(
    Object.entries(errorDescriptions).map(([code, { when, example }]) => [
      code,
      { summary: when, value: { error: { code, ...example } } },
    ]),
  );
}

function errorResponse(status: string, codes: readonly ErrorCode[]): Json {
  const one = codes.length === 1;
  return {
    description: codes
      .map((code) => `${one ? '' : '- '}\`${code}\`: ${errorDescriptions[code].when}`)
      .join('\n'),
    headers: {
      ...header('X-Request-Id'),
      // Without a known key there is no rate limit to report.
      ...(status === '401' || status === '408' ? {} : ofRateLimit),
      ...(headersByStatus[status] ?? {}),
    },
    content: {
      'application/json': {
        schema: ref('Error'),
        examples: Object.fromEntries(
          codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]),
        ),
      },
    },
  };
}

export function header(name: string): Json {
  return { [name]: { $ref: `#/components/headers/${name}` } };
}

/** The rest of the key's limit. */
export const ofRateLimit: Json = {
  ...header('RateLimit-Policy'),
  ...header('RateLimit'),
  ...header('RateLimit-Limit'),
  ...header('RateLimit-Remaining'),
  ...header('RateLimit-Reset'),
};

const headersByStatus: Readonly<Record<string, Json>> = {
  401: header('WWW-Authenticate'),
  416: header('Content-Range'),
  429: header('Retry-After'),
  503: header('Retry-After'),
};

function byStatus(codes: readonly ErrorCode[]): (readonly [string, readonly ErrorCode[]])[] {
  const statuses = [...new Set(codes.map((code) => errorDescriptions[code].status))].sort();
  return statuses.map((status) => [
    String(status),
    codes.filter((code) => errorDescriptions[code].status === status),
  ]);
}

/** For example `ValidationErrorOrInvalidJson`. */
function nameOf(codes: readonly ErrorCode[]): string {
  return codes
    .map((code) =>
      code
        .toLowerCase()
        .split('_')
        .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
        .join(''),
    )
    .join('Or');
}
