/** Rules of spec.md, in its words. See tools/conformance-rules.mjs for the form. */
import { links } from './reasons.mjs';

export const errorsAndLimits = [
  {
    document: 'spec.md',
    heading: 'Errors',
    rules: {
      'error-1': 'error.code | string | branch on this',
      'error-2': 'error.message | string | human-readable',
      'error-3': 'error.details | array | validation errors only',
      'error-4':
        'Each details entry: `field` (dotted path relative to the request body), `issue` (a stable `validation_*` code, or a description when the rule has no code; treat a non-`validation_*` issue as informational), `message` (wording may change).',
      'error-5': 'A field can appear more than once.',
      'error-6': {
        text: '400 | VALIDATION_ERROR | body or parameters fail validation (including malformed cursor, invalid ID format, subscription limit exceeded)',
        sameAs: 'validation-1',
      },
      'error-7': { text: '400 | INVALID_JSON | the body repeats a JSON key', sameAs: 'endpoint-4' },
      'error-8': {
        text: '400 | IDEMPOTENCY_KEY_REQUIRED | Idempotency-Key missing, empty or over 255 characters on POST /v1/payments/',
        sameAs: 'payment-creation-4',
      },
      'error-9': {
        text: '401 | UNAUTHORIZED | key missing, expired, revoked or invalid',
        sameAs: 'authentication-2',
      },
      'error-10': {
        text: '403 | FORBIDDEN | key type cannot access the resource',
        sameAs: 'authentication-3',
      },
      'error-11': {
        text: '404 | NOT_FOUND | resource missing or not accessible',
        sameAs: 'authentication-5',
      },
      'error-12': {
        text: '409 | CONFLICT | resource exists or state conflict (for example a duplicate contact)',
        sameAs: 'contact-creation-3',
      },
      'error-13': {
        text: '409 | IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY | an used key came with a different body',
        sameAs: 'idempotency-3',
      },
      'error-14': {
        text: '500 | INTERNAL_ERROR | unexpected failure',
        tests: [
          {
            file: 'apps/api-gateway/src/http-faults.pg.spec.ts',
            title: 'what nobody expected: 500 that tells nothing',
          },
        ],
      },
      'error-15': {
        text: 'Client handling: retry 500 and timeouts with exponential backoff (delays of 1, 2, 4 and 8 seconds, up to 5 attempts) using the same Idempotency-Key; do not retry 4xx without changing the request.',
        tests: [
          {
            file: 'libs/client/src/transport.spec.ts',
            title: '%s is tried again after 1, 2, 4 and 8 s, each time the same request',
          },
          { file: 'libs/client/src/transport.spec.ts', title: 'is a timeout too, of each attempt' },
          { file: 'libs/client/src/transport.spec.ts', title: 'with %i %s is not tried again' },
        ],
      },
      'error-16': {
        text: 'Retrying create contact is safe (409 on a duplicate).',
        sameAs: 'contact-creation-3',
      },
    },
    context: {
      'Format:': 'introduces what follows',
      'Reads are always safe to retry.': 'an obligation of the caller, not of the service',
    },
  },
  {
    document: 'spec.md',
    heading: 'Limits',
    rules: {
      'limit-1': {
        text: 'list page size | 1-100, default 20 | GET /v1/payments/',
        sameAs: 'payment-list-2',
      },
      'limit-2': 'Idempotency-Key length | 1-255 characters | POST /v1/payments/',
      'limit-3': {
        text: 'Idempotency key lifetime | no expiry | POST /v1/payments/',
        sameAs: 'idempotency-6',
      },
      'limit-4': 'webhook url length | at most 2000 characters | webhook create and update',
      'limit-5': 'webhook label length | 1-255 characters | webhook create and update',
      'limit-6':
        'endpoints per event type | 5 per organization; disabled endpoints still count; only deleting frees a slot | webhook create and update',
      'limit-7': 'webhook response time | 30 seconds | delivery',
      'limit-8': {
        text: 'webhook retry backoff | starts at 30 seconds, doubles, capped at 1 hour | delivery',
        tests: [
          {
            file: 'libs/webhooks/src/retry-schedule.spec.ts',
            title: 'after 30 seconds, then after twice as long each time, at most an hour',
          },
        ],
      },
      'limit-9': {
        text: '72 hours payment events',
        tests: [
          {
            file: 'libs/webhooks/src/retry-schedule.spec.ts',
            title: 'at the very end of the window, and not a millisecond later',
          },
        ],
      },
      'limit-10': '14 days statement events',
      'limit-11': {
        text: 'signature timestamp tolerance | 5 minutes | receiver verification',
        sameAs: 'signature-3',
      },
      'limit-12': {
        text: 'payment link expiry | 30 days, fixed | payment links',
        sameAs: 'payment-link-4',
      },
      'limit-13': {
        text: 'payment link token | 43 characters | payment links',
        notTestable: links,
      },
      'limit-14': {
        text: 'public link endpoints | rate limited per token | payment links',
        notTestable: links,
      },
    },
    context: {
      'webhook retry window |': 'introduces what follows',
      '| delivery': 'introduces what follows',
      'recommended polling interval | 15 minutes or longer until a terminal status | GET /v1/payments/{paymentId}':
        'an obligation of the caller, not of the service',
      'Rate limits of the authenticated API and the numeric values for link rate limiting: not shown.':
        'left open by the specification; decided in interface.md',
    },
  },
  {
    document: 'spec.md',
    heading: 'Versioning',
    rules: {
      'versioning-1': 'Paths carry the major version prefix `/v1`.',
      'versioning-2': {
        text: 'The webhook envelope carries `version`, currently `1`.',
        sameAs: 'event-envelope-2',
      },
      'versioning-3': {
        text: 'New payment event types may be added; `payment.*` subscriptions receive them.',
        sameAs: 'event-rule-7',
      },
      'versioning-4': {
        text: 'codes and validation_* issue codes are stable',
        tests: [
          {
            file: 'libs/contracts/src/payment-requests.spec.ts',
            title: 'keeps the validation codes stable',
          },
        ],
      },
    },
    context: {
      'New fields may be added to the envelope, to the data object and to responses at any time; consumers ignore unknown fields.':
        'a promise about later versions',
      'Error message wording, failureReason wording and validation message wording may change;':
        'a promise about later versions',
      'Deprecation and sunset policy, and a version header: not shown.':
        'a promise about later versions',
    },
  },
];
