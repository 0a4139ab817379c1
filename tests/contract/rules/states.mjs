/** Rules of spec.md, in its words. See tools/conformance-rules.mjs for the form. */
import { matrix } from './reasons.mjs';

export const states = [
  {
    document: 'spec.md',
    heading: 'States and transitions',
    rules: {
      'status-1':
        'Statuses: AWAITING_CONFIRMATION, QUEUED, PROCESSING, COMPLETED, FAILED, FAILED_IN_FLIGHT, BLOCKED, RETURNED, CANCELED.',
      'status-2': {
        text: 'AWAITING_CONFIRMATION | dashboard-created payment waiting for the counterparty to submit details | no',
        tests: [matrix],
      },
      'status-3': 'QUEUED | queued for processing on the rail | no',
      'status-4': 'PROCESSING | submitted to the rail | no',
      'status-5':
        "COMPLETED | handed off to the payment network; for ACH the recipient's bank typically credits in 1-2 business days | no",
      'status-6': 'FAILED | a failure prevented processing; no funds moved | yes',
      'status-7':
        'FAILED_IN_FLIGHT | submitted but no confirmation in time; under review; may still settle | yes',
      'status-8': 'BLOCKED | stopped by automated review; never processed | yes',
      'status-9': 'RETURNED | returned by the receiving bank after completion | yes',
      'status-10': {
        text: 'CANCELED | canceled before submission | Whether CANCELED is terminal: not shown.',
        tests: [matrix],
      },
      'transition-1':
        '(creation) | POST /v1/payments/ | always | QUEUED | event payment.queued, previousStatus null',
      'transition-2': {
        text: '(creation) | dashboard or app creates a payment without counterparty bank details | link flow | AWAITING_CONFIRMATION | event payment.awaiting_confirmation, previousStatus null',
        tests: [matrix],
      },
      'transition-3': {
        text: 'AWAITING_CONFIRMATION | counterparty submits the link page | valid submission before expiry | QUEUED | event payment.queued',
        tests: [
          matrix,
          {
            file: 'libs/domain/src/payment/payment.spec.ts',
            title: 'takes an answer until the last millisecond before the link expires',
          },
        ],
      },
      'transition-4': {
        text: 'AWAITING_CONFIRMATION | cancel in dashboard | only from this status | CANCELED | link disabled at once; event payment.canceled',
        tests: [matrix],
      },
      'transition-5': {
        text: 'AWAITING_CONFIRMATION | link expires | 30 days pass | stays AWAITING_CONFIRMATION | no event; the dashboard shows an expired label but the API reports AWAITING_CONFIRMATION; the way forward is to cancel and create a new payment',
        tests: [
          {
            file: 'libs/domain/src/payment/payment.spec.ts',
            title: 'can still be canceled when the link has expired',
          },
        ],
      },
      'transition-6':
        'QUEUED | system picks up the payment | | PROCESSING | event payment.processing',
      'transition-7':
        'QUEUED | validation rejects originator or contact data, or unexpected error | | FAILED | failureCode INVALID_ORIGINATOR_DATA, INVALID_CONTACT_DATA or INTERNAL_ERROR; event payment.failed',
      'transition-8':
        'QUEUED | automated review holds the payment | rare | BLOCKED | event payment.blocked; never released',
      'transition-9':
        'PROCESSING | rail accepts the payment | | COMPLETED | event payment.completed',
      'transition-10':
        'PROCESSING | internal error prevents submission | rare | FAILED | no automatic retry; event payment.failed',
      'transition-11':
        'PROCESSING | no confirmation within the normal time | | FAILED_IN_FLIGHT | event payment.failed_in_flight',
      'transition-14': 'staff are notified',
      'transition-12':
        'FAILED_IN_FLIGHT | late signal | shown only in the status diagram | COMPLETED |',
      'transition-13':
        'COMPLETED | receiving bank returns the payment | for example R01, R02, R07 | RETURNED | returnReasonCode set; event payment.returned',
      'recovery-1':
        'Recovery from FAILED (a new payment, with a fresh Idempotency-Key; the same externalPaymentId may be reused; the new payment reads the latest originator and contact data):',
      'recovery-2':
        'INVALID_ORIGINATOR_DATA | a field on the originator was rejected; failureMessage names it | update the originator record, then create a new payment',
      'recovery-3':
        'INVALID_CONTACT_DATA | a field on the contact was rejected; failureMessage names it | update the contact (PATCH /v1/contacts/:id), then create a new payment',
      'recovery-4':
        'INTERNAL_ERROR | unexpected error | wait a few minutes, then create a new payment; contact support if it persists',
      'recovery-5': 'The failed payment stays in the history.',
    },
    context: {
      'Transitions:': 'introduces what follows',
      'no client action': 'advice to the caller, not a rule of the service',
    },
  },
];
