/** Rules of spec.md, in its words. See tools/conformance-rules.mjs for the form. */
import { statements, fees } from './reasons.mjs';

export const events = [
  {
    document: 'spec.md',
    heading: 'Events',
    rules: { 'event-1': 'Delivery is by HTTP POST of JSON to each subscribed endpoint.' },
  },
  {
    document: 'spec.md',
    heading: 'Events › Envelope',
    rules: {
      'event-envelope-1':
        'id | string (UUID) | stable across retries to the same endpoint; use it to deduplicate',
      'event-envelope-2': 'version | string | envelope schema version, currently `1`',
      'event-envelope-3': 'eventType | string | see below',
      'event-envelope-4': {
        text: 'createdAt | string, ISO 8601 | payment events: time of emission, fixed across retries; statement events: stamped at each signing, so a retry has a fresh value',
        tests: [
          {
            file: 'apps/webhook-dispatcher/src/statement-deliveries.pg.spec.ts',
            title: 'gets a createdAt that is stamped at each signing, and all else as it was',
          },
        ],
      },
      'event-envelope-5':
        'synthetic | boolean | true for test-endpoint deliveries, false for real events',
      'event-envelope-6': 'data | object | payload',
      'event-envelope-7':
        'Synthetic events refer to sample entities that do not exist in the account.',
    },
    context: {
      'Consumers must ignore unknown fields.': 'advice to the receiver, not a rule of the service',
    },
  },
  {
    document: 'spec.md',
    heading: 'Events › Event types',
    rules: {
      'event-type-1': {
        text: 'payment.awaiting_confirmation | AWAITING_CONFIRMATION | a dashboard payment waits for the counterparty',
        tests: [
          {
            file: 'apps/api-gateway/src/payment-statuses.pg.spec.ts',
            title: 'is sent as it is read at that moment, with the status before',
          },
        ],
      },
      'event-type-2': {
        text: 'payment.queued | QUEUED | queued (API creation, or counterparty submission)',
        sameAs: 'transition-1',
      },
      'event-type-3': {
        text: 'payment.processing | PROCESSING | submitted to the rail',
        sameAs: 'transition-6',
      },
      'event-type-4': {
        text: 'payment.completed | COMPLETED | handed off to the network',
        sameAs: 'transition-9',
      },
      'event-type-5': {
        text: 'payment.failed | FAILED | failure, no funds moved; failureCode in payload',
        sameAs: 'transition-7',
      },
      'event-type-6': {
        text: 'payment.failed_in_flight | FAILED_IN_FLIGHT | no confirmation in time',
        sameAs: 'transition-11',
      },
      'event-type-7': {
        text: 'payment.canceled | CANCELED | canceled before processing',
        sameAs: 'transition-4',
      },
      'event-type-8': {
        text: 'payment.returned | RETURNED | returned by the receiving bank; returnReasonCode in payload',
        sameAs: 'transition-13',
      },
      'event-type-9': {
        text: 'payment.blocked | BLOCKED | stopped by automated review',
        sameAs: 'transition-8',
      },
      'event-type-10': {
        text: 'statement.generated | none | a monthly statement PDF was generated for an originator',
        notTestable: statements,
      },
      'event-rule-1': 'One payment event fires per status transition.',
      'event-rule-2':
        'The name suffix is the lowercase status and the payload `status` equals it in upper case.',
      'event-rule-3': { text: 'Only originator payments emit events.', notTestable: fees },
      'event-rule-4': {
        text: 'Fee collection and refunds spawned by a return do not',
        notTestable: fees,
      },
      'event-rule-5': 'a return arrives as payment.returned on the original payment',
      'event-rule-6': {
        text: 'Link expiry emits nothing.',
        tests: [
          {
            file: 'libs/domain/src/payment/payment.spec.ts',
            title: 'can still be canceled when the link has expired',
          },
        ],
      },
      'event-rule-7': '`payment.*` subscribes to all payment events, including future ones.',
      'event-rule-8': 'It counts toward the limit of every payment event type.',
      'event-rule-9':
        'A TEST event type exists for the test endpoint only; its sample payload shape: not shown.',
    },
    context: { 'Rules:': 'introduces what follows' },
  },
  {
    document: 'spec.md',
    heading: 'Events › Payment event data',
    rules: {
      'event-data-1':
        'The payment exactly as the single read returns it at the moment of the transition (including failureReason, returnReasonCode and party bankAccount objects), plus `previousStatus` (string or null; null when the payment was created directly in this status).',
      'event-data-2': 'The snapshot is frozen; retries carry an identical payload.',
      'event-data-3': {
        text: 'On payment.awaiting_confirmation and payment.canceled the nulls of contact and contact.bankAccount described under Resources apply.',
        tests: [
          {
            file: 'apps/api-gateway/src/payment-statuses.pg.spec.ts',
            title: 'has the fields of its status, and null for all others',
          },
          {
            file: 'apps/api-gateway/src/payment-statuses.pg.spec.ts',
            title: 'is sent as it is read at that moment, with the status before',
          },
        ],
      },
      'event-data-4': 'Every event from payment.queued onward has both populated.',
    },
  },
  {
    document: 'spec.md',
    heading: 'Events › Statement event data',
    rules: {
      'statement-event-1': { text: 'statementId | string (UUID)', notTestable: statements },
      'statement-event-2': { text: 'originatorId | string (UUID)', notTestable: statements },
      'statement-event-3': { text: 'periodYear | integer', notTestable: statements },
      'statement-event-4': { text: 'periodMonth | integer', notTestable: statements },
    },
  },
  {
    document: 'spec.md',
    heading: 'Events › Delivery headers',
    rules: {
      'delivery-header-1': 'X-Webhook-Signature-256 | `sha256=<hex>` HMAC-SHA256',
      'delivery-header-2': 'X-Webhook-Timestamp | ISO 8601 time of signing',
      'delivery-header-3': 'X-Webhook-Event | event type',
      'delivery-header-4':
        'X-Webhook-Delivery | delivery ID, unique per event and endpoint, identical across retries',
    },
  },
  {
    document: 'spec.md',
    heading: 'Events › Signature',
    rules: {
      'signature-1': 'The signed string is the timestamp, a period, then the raw request body.',
      'signature-2': 'The key is the endpoint secret; the digest is hex, prefixed `sha256=`.',
      'signature-3': {
        text: 'A receiver rejects a timestamp differing from its clock by more than 5 minutes and compares with a constant-time comparison.',
        tests: [
          {
            file: 'libs/webhooks/src/signing.spec.ts',
            title: 'accepts a clock that differs by 5 minutes, and rejects any more, either way',
          },
        ],
      },
    },
  },
  {
    document: 'spec.md',
    heading: 'Events › Delivery contract',
    rules: {
      'delivery-1': 'At least once: the same event may arrive several times.',
      'delivery-2': 'No ordering guarantee.',
      'delivery-3': {
        text: 'A delivery fails on a non-2xx response or when no response arrives within 30 seconds.',
        tests: [
          {
            file: 'tests/contract/webhook-numbers.spec.ts',
            title: 'limit-7 gives a receiver 30 seconds to respond',
          },
        ],
      },
      'delivery-4': {
        text: 'Failed deliveries retry with exponential backoff starting at 30 seconds, doubling, capped at 1 hour between attempts, for 72 hours (payment events) or 14 days (statement events).',
        tests: [
          {
            file: 'libs/webhooks/src/retry-schedule.spec.ts',
            title: 'after 30 seconds, then after twice as long each time, at most an hour',
          },
          {
            file: 'tests/contract/webhook-numbers.spec.ts',
            title: 'limit-9 tries payment events for 72 hours',
          },
          {
            file: 'tests/contract/webhook-numbers.spec.ts',
            title: 'limit-10 tries statement events for 14 days',
          },
          {
            file: 'apps/webhook-dispatcher/src/statement-deliveries.pg.spec.ts',
            title: 'is tried on its fourteenth day, and not after that',
          },
        ],
      },
      'delivery-5': {
        text: 'After that no further attempt.',
        tests: [
          {
            file: 'libs/webhooks/src/retry-schedule.spec.ts',
            title: 'at the very end of the window, and not a millisecond later',
          },
        ],
      },
      'delivery-6':
        'A 4xx response other than 408, 425 or 429 is a permanent failure and is not retried.',
    },
    context: {
      'Deduplicate on the envelope id.': 'advice to the receiver, not a rule of the service',
      'Reconcile with status, previousStatus and createdAt.':
        'advice to the receiver, not a rule of the service',
    },
  },
];
