/** Rules of spec.md, in its words. See tools/conformance-rules.mjs for the form. */
import { links, statements, fees } from './reasons.mjs';

export const resources = [
  {
    document: 'spec.md',
    heading: '',
    rules: {},
    context: {
      "This single document covers the whole service: purpose, records and fields, states, endpoints, authentication, events, errors, limits and versioning. {base_url} is the service's base address.":
        'introduces what follows',
      'The sandbox and production environments use different base addresses.':
        'a matter of the deployment',
    },
  },
  {
    document: 'spec.md',
    heading: 'What the service does',
    rules: {
      'service-1': {
        text: 'Rails that appear as `paymentRail` values: ACH, FEDNOW, RTP, FEDWIRE, SWIFT.',
        sameAs: 'payment-13',
      },
      'service-2': 'One contact record serves both directions.',
      'service-3': 'OUTBOUND | the originator | the contact | pay the contact',
      'service-4': 'INBOUND | the contact | the originator | collect from the contact',
      'service-5': 'Everything else about creating a payment is the same in both directions.',
      'service-6':
        '`paymentAmount` is always a positive integer in minor units (cents for USD) and is never signed.',
      'service-7':
        'A payment created through the API needs an existing contact, always starts in QUEUED, and is then executed on the appropriate rail.',
      'service-8': 'Fees are not deducted from individual payments.',
      'service-9': {
        text: 'They are aggregated and collected by a separate fee collection process.',
        notTestable: fees,
      },
      'service-10': {
        text: "Payments created in the service's dashboard or app may start in AWAITING_CONFIRMATION (see Payment links).",
        tests: [
          {
            file: 'libs/domain/src/payment/payment.spec.ts',
            title: 'waits for the counterparty, saved or not, and remembers when the link expires',
          },
        ],
      },
      'service-11': {
        text: 'They appear in API reads and webhooks like any other payment of the organization.',
        tests: [
          {
            file: 'libs/read-models/src/payments.projection.spec.ts',
            title: 'shows a payment in %s as the single read does',
          },
          {
            file: 'apps/api-gateway/src/payment-statuses.pg.spec.ts',
            title: 'is the same in the list, less the reasons and the accounts',
          },
          {
            file: 'apps/api-gateway/src/payment-statuses.pg.spec.ts',
            title: 'is sent as it is read at that moment, with the status before',
          },
        ],
      },
      'service-12': {
        text: 'The service sends signed webhook notifications for payment status changes',
        sameAs: 'signature-1',
      },
      'service-13': {
        text: 'for generated monthly statements (a PDF per originator)',
        notTestable: statements,
      },
      'service-14': {
        text: "Every record belongs to the caller's organization.",
        sameAs: 'authentication-5',
      },
      'service-15': {
        text: 'A record of another organization is reported as not found.',
        sameAs: 'authentication-5',
      },
    },
    context: {
      "The service moves money over bank rails between an originator (the client's own party and bank account) and a contact (the party on the other side).":
        'introduces what follows',
      "`direction` is read from the originator's point of view:": 'introduces what follows',
      "Before creating an INBOUND payment the caller must hold the contact's authorization to debit the account.":
        'an obligation of the caller, not of the service',
      'This obligation lies with the caller.': 'an obligation of the caller, not of the service',
      and: 'introduces what follows',
    },
  },
  { document: 'spec.md', heading: 'Resources and their fields', rules: {} },
  {
    document: 'spec.md',
    heading: 'Resources and their fields › Response envelope',
    rules: {
      'envelope-1': 'data | object or array | the resource, or the list of resources',
      'envelope-2': 'meta.timestamp | string, ISO 8601 with milliseconds | time of the response',
      'envelope-3':
        'meta.pagination | object, list of payments only | holds `limit` (integer) and `nextCursor` (string or null)',
      'envelope-4': 'Errors use a different envelope (see Errors).',
    },
  },
  {
    document: 'spec.md',
    heading: 'Resources and their fields › Originator',
    rules: {
      'originator-1': 'Identifiers are UUIDs.',
      'originator-2': {
        text: 'The originator is listed through `GET /v1/originators/`.',
        sameAs: 'endpoint-5',
      },
    },
    context: {
      'Fields of the originator record beyond the party fields seen inside a payment: not shown.':
        'left open by the specification; decided in interface.md',
    },
  },
  {
    document: 'spec.md',
    heading: 'Resources and their fields › Contact (create request)',
    rules: {
      'contact-create-1': 'originatorId | string (UUID) | originator the contact is created for',
      'contact-create-2': 'entityType | string | INDIVIDUAL or BUSINESS',
      'contact-create-3': 'firstName | string | for individuals',
      'contact-create-4': 'lastName | string | for individuals',
      'contact-create-5': 'companyName | string | for businesses (appears on party objects)',
      'contact-create-6':
        'email | string | e-mail address; a missing value fails validation with a rule code',
      'contact-create-7':
        'phoneNumber | string | international format with a leading plus sign and country code',
      'contact-create-8':
        'legalAddress | object | addressLine1, city, state, postalCode (5-digit ZIP for US), countryCode (two-letter)',
      'contact-create-9':
        'bankAccount | object | subType (CHECKING or SAVINGS), achRoutingNumber, achAccountNumber',
      'contact-create-10': 'Create response `data`: `contactId` (UUID), `createdAt` (ISO 8601).',
      'contact-create-11': {
        text: 'Creating a contact that already exists returns 409 and creates no duplicate.',
        sameAs: 'contact-creation-3',
      },
    },
    context: {
      'Which of these fields are required, and the exact length and format limits: not shown.':
        'left open by the specification; decided in interface.md',
    },
  },
  {
    document: 'spec.md',
    heading: 'Resources and their fields › Payment create request',
    rules: {
      'payment-create-1': 'originatorId | string (UUID) | yes |',
      'payment-create-2': 'contactId | string (UUID) | yes | existing contact',
      'payment-create-3': 'paymentAmount | integer | yes | positive, minor units',
      'payment-create-4': 'direction | string | yes | INBOUND or OUTBOUND',
      'payment-create-5': 'paymentNote | string | see note | free text attached to the payment',
      'payment-create-6':
        'externalPaymentId | string | no | free-form label, not unique, not used for idempotency',
      'payment-create-7': {
        text: 'Unrecognized body fields are ignored when the body is compared for idempotency.',
        sameAs: 'idempotency-4',
      },
      'payment-create-8': 'Create response `data`: `paymentId` (UUID).',
    },
    context: {
      'Whether paymentNote is required, and the length limits of paymentNote and externalPaymentId: not shown.':
        'left open by the specification; decided in interface.md',
    },
  },
  {
    document: 'spec.md',
    heading: 'Resources and their fields › Payment (single read)',
    rules: {
      'payment-1': 'paymentId | string (UUID) |',
      'payment-2': 'status | string | see States and transitions',
      'payment-3': 'createdAt | string, ISO 8601 |',
      'payment-4': 'completedAt | string or null |',
      'payment-5': 'failedAt | string or null |',
      'payment-6': 'returnedAt | string or null |',
      'payment-7': {
        text: 'canceledAt | string or null |',
        tests: [
          {
            file: 'apps/api-gateway/src/payment-statuses.pg.spec.ts',
            title: 'has the fields of its status, and null for all others',
          },
        ],
      },
      'payment-8': 'paymentAmount | integer | minor units',
      'payment-9': 'discountFee | integer | minor units',
      'payment-10': 'flatFee | integer | minor units',
      'payment-11': 'returnFee | integer | minor units',
      'payment-12': 'currencyCode | string | e.g. USD',
      'payment-13': 'paymentRail | string | ACH, FEDNOW, RTP, FEDWIRE or SWIFT',
      'payment-14': 'direction | string | INBOUND or OUTBOUND',
      'payment-15': 'paymentNote | string or null |',
      'payment-16': 'externalPaymentId | string or null |',
      'payment-17':
        'failureCode | string or null | INVALID_ORIGINATOR_DATA, INVALID_CONTACT_DATA or INTERNAL_ERROR; set on failures',
      'payment-18':
        'failureMessage | string or null | actionable text; for data failures it names the rejected field',
      'payment-19':
        'failureReason | string or null | human-readable; set when status is FAILED or FAILED_IN_FLIGHT; for data failures repeats failureMessage; wording may change, so branch on failureCode',
      'payment-20':
        'returnReasonCode | string or null | ACH return code (for example R01, R02, R07) when status is RETURNED; may be null if the bank gave no code',
      'payment-21': 'originator | object | party object, always with bankAccount populated',
      'payment-22': {
        text: 'contact | object or null | party object',
        tests: [
          {
            file: 'apps/api-gateway/src/payment-statuses.pg.spec.ts',
            title: 'has the fields of its status, and null for all others',
          },
        ],
      },
      'payment-23':
        'Each failure or return field is null when its status condition does not apply.',
      'party-1': 'id | string (UUID) |',
      'party-2': 'firstName | string or null | populated for INDIVIDUAL; may be null for BUSINESS',
      'party-3': 'lastName | string or null | same',
      'party-4': 'companyName | string or null | populated for BUSINESS; null for INDIVIDUAL',
      'party-5': 'entityType | string | INDIVIDUAL or BUSINESS',
      'party-6': 'bankAccount | object or null | single read and webhook payloads only',
      'bank-account-1': 'bankName | string or null | never masked',
      'bank-account-2': 'swiftCode | string or null | masked',
      'bank-account-3': 'subType | string | CHECKING or SAVINGS',
      'bank-account-4': 'achRoutingNumber | string | masked',
      'bank-account-5': 'achAccountNumber | string | masked',
      'masking-1':
        'achAccountNumber, achRoutingNumber and swiftCode are masked in every response and webhook payload: leading asterisks, last four characters visible.',
      'masking-2': 'Account numbers of four or fewer characters show only the last two.',
      'masking-3': 'No parameter returns the full number.',
      'masking-4':
        "On an INBOUND payment contact.bankAccount is the debited account and the originator's is the credited one.",
      'masking-5': 'Only `direction` tells the direction apart.',
      'masking-6': {
        text: 'While status is AWAITING_CONFIRMATION, or CANCELED (always canceled before submission), contact.bankAccount is null when the counterparty is a saved contact, and the whole contact is null when the counterparty is not a saved contact.',
        tests: [
          {
            file: 'apps/api-gateway/src/payment-statuses.pg.spec.ts',
            title: 'has the fields of its status, and null for all others',
          },
        ],
      },
      'masking-7': 'From QUEUED onward contact and contact.bankAccount are always populated.',
      'masking-8': {
        text: 'originator and its bankAccount are populated in every status.',
        tests: [
          {
            file: 'libs/domain/src/payment/payment-lives.spec.ts',
            title: 'both parties have their bank account from QUEUED on, the originator always',
          },
        ],
      },
    },
    context: {
      'Party object (`originator`, `contact`):': 'introduces what follows',
      'bankAccount object:': 'introduces what follows',
      'Rules:': 'introduces what follows',
    },
  },
  {
    document: 'spec.md',
    heading: 'Resources and their fields › Payment (list item)',
    rules: {
      'list-item-1':
        'Same fields as the single read, except failureReason, returnReasonCode and the bankAccount of both parties, which are omitted.',
    },
  },
  {
    document: 'spec.md',
    heading: 'Resources and their fields › Webhook endpoint',
    rules: {
      'endpoint-field-1': 'id | string (UUID) |',
      'endpoint-field-2': 'url | string | HTTPS',
      'endpoint-field-3': 'subscribedEvents | string[] | event types or `payment.*`',
      'endpoint-field-4': 'label | string or null | 1-255 characters, no effect on delivery',
      'endpoint-field-5': 'enabled | boolean |',
      'endpoint-field-6':
        'secret | string | 64-character hex; returned only in the create response',
      'endpoint-field-7': 'createdAt | string, ISO 8601 |',
      'endpoint-field-8': 'updatedAt | string, ISO 8601 | on list, get and update responses',
    },
  },
  {
    document: 'spec.md',
    heading: 'Resources and their fields › Statement',
    rules: {
      'statement-1': { text: 'A monthly statement per originator.', notTestable: statements },
    },
    context: {
      'Fields of the statement record beyond those in its event payload: not shown.':
        'left open by the specification; decided in interface.md',
    },
  },
  {
    document: 'spec.md',
    heading: 'Resources and their fields › Payment link (dashboard feature)',
    rules: {
      'payment-link-1':
        'The API never creates payment links and never returns link URLs or tokens.',
      'payment-link-2': {
        text: 'Purpose | a single-payment public URL where the counterparty enters bank details on a hosted page',
        notTestable: links,
      },
      'payment-link-3': {
        text: "Token | 256-bit random, 43 URL-safe characters; the URL's only secret",
        notTestable: links,
      },
      'payment-link-4': {
        text: 'Expiry | 30 days after creation; fixed, cannot be extended or reissued',
        tests: [
          {
            file: 'libs/domain/src/payment/payment.spec.ts',
            title: 'waits for the counterparty, saved or not, and remembers when the link expires',
          },
          {
            file: 'libs/domain/src/payment/payment.spec.ts',
            title: 'takes an answer until the last millisecond before the link expires',
          },
        ],
      },
      'payment-link-5': { text: 'Uniqueness | one active link per payment', notTestable: links },
      'payment-link-6': {
        text: 'When used | every INBOUND request made in the dashboard; OUTBOUND only when the recipient is a saved contact without an active bank account or is not a saved contact',
        notTestable: links,
      },
      'payment-link-7': {
        text: 'Direct sends | an OUTBOUND payment to a contact with a bank account on file starts in QUEUED with no link',
        notTestable: links,
      },
      'payment-link-8': {
        text: 'API-created | never use a link and never enter AWAITING_CONFIRMATION',
        sameAs: 'service-7',
      },
      'payment-link-9': {
        text: 'Delivery | the service sends nothing to the counterparty; the client shares the URL',
        notTestable: links,
      },
      'payment-link-10': {
        text: 'Access | no account needed; anyone with the URL can view the payment and submit bank details',
        notTestable: links,
      },
      'payment-link-11': {
        text: 'Audit | each open and each submission is recorded with time, IP address and user agent',
        notTestable: links,
      },
      'payment-link-12': {
        text: 'Submission data | account holder name (person or company, fixed when the link is created), account type CHECKING or SAVINGS, routing and account number (routing number verified against a bank directory), legal address',
        notTestable: links,
      },
      'payment-link-13': {
        text: "Scope of submission | applies only to that payment; a saved contact's stored data is never overwritten",
        tests: [
          {
            file: 'libs/domain/src/payment/payment.spec.ts',
            title:
              'is queued with exactly the details it was created with and the counterparty’s answer',
          },
        ],
      },
      'payment-link-14': {
        text: 'After submission | the same URL stays a status page until expiry',
        notTestable: links,
      },
      'payment-link-15': {
        text: 'Expired page | shows only who created the link and the direction; submissions are rejected',
        notTestable: links,
      },
      'payment-link-16': {
        text: 'Canceled | the URL stops resolving immediately',
        notTestable: links,
      },
      'payment-link-17': {
        text: 'Fee on requests | on a payment request the payer also sees the processing fee, added to the requested amount',
        notTestable: links,
      },
    },
    context: { 'Facts that affect API-visible behavior:': 'introduces what follows' },
  },
];
