/** Rules of interface.md, "Decisions where the spec is silent", in its words. */
import { laterDecisions } from './later-decisions.mjs';
import { statements } from './reasons.mjs';

export const decisions = [
  {
    document: 'interface.md',
    heading: 'Decisions where the spec is silent',
    rules: {
      'key-1':
        '**Keys.** `pis_test_…` in the sandbox, `pis_live_…` in production; 32 random bytes, base64url; stored only as a SHA-256 digest.',
      'key-2':
        'Types: `full_access` (everything), `read_only` (GET only), `webhook_admin` (only `/v1/webhooks*`); otherwise 403 FORBIDDEN.',
      'key-3': 'A revocation or expiry takes effect within 5 s everywhere.',
      'check-order-1':
        '**Order of checks.** 404 for an unknown route, then 401, 403, 413/415/INVALID_JSON, IDEMPOTENCY_KEY_REQUIRED, VALIDATION_ERROR, the idempotency comparison (replay or 409), 404 of referenced records, state conflicts.',
      'success-code-1':
        '**Success codes.** 201 for create (contact, payment, webhook), 200 for read, list, update and test, 204 for delete.',
      'further-error-1': {
        text: 'RATE_LIMITED 429',
        tests: [
          {
            file: 'apps/api-gateway/src/http.pg.spec.ts',
            title:
              'get 429 with Retry-After, before anything else is said, and others are served on',
          },
        ],
      },
      'further-error-8': {
        text: 'REQUEST_TIMEOUT 408',
        tests: [
          {
            file: 'apps/api-gateway/src/http-slow.spec.ts',
            title:
              'who sends %s byte by byte is told so and cut off, and others are served meanwhile',
          },
        ],
      },
      'further-error-2': 'PAYLOAD_TOO_LARGE 413 (bodies over 64 KiB)',
      'further-error-3': 'UNSUPPORTED_MEDIA_TYPE 415',
      'further-error-4': {
        text: "SERVICE_UNAVAILABLE 503 with Retry-After (a store that can't be reached: never a 500, never a lost or half-made payment).",
        tests: [
          {
            file: 'apps/api-gateway/src/http-faults.pg.spec.ts',
            title:
              'the event store: 503 with Retry-After, nothing is made, and it goes on by itself',
          },
        ],
      },
      'further-error-5': 'Malformed JSON is INVALID_JSON too.',
      'further-error-6': "Every response has `X-Request-Id` (the caller's, if it sent a sane one).",
      'further-error-7':
        'Every error, also of the router and the HTTP parser, has the error envelope.',
      'trailing-slash-1': '**Trailing slash.** Each path works with and without it.',
      'originator-item-1':
        '**Originator** (list item, PATCH response): `originatorId`, `entityType`, `firstName`, `lastName`, `companyName`, `email`, `phoneNumber`, `legalAddress`, `bankAccount` (masked), `createdAt`, `updatedAt`.',
      'originator-item-2': "PATCH /v1/originators/:id works like the contact's.",
      'contact-item-1':
        '**Contact** (list item, PATCH response): `contactId`, `originatorId` and the same fields; `bankAccount` may be null.',
      'contact-item-2':
        'Both lists: newest first, everything when called without paging parameters',
      'contact-item-3':
        'with `limit` (1-100) or `cursor` they page as payments do, and only then carry `meta.pagination`.',
      'party-input-1':
        'Required on create: originatorId, entityType, email, firstName and lastName (INDIVIDUAL) or companyName (BUSINESS).',
      'party-input-2': 'phoneNumber (E.164)',
      'party-input-3': 'legalAddress (all five fields or none; US state two letters, ZIP 5 digits)',
      'party-input-4':
        'bankAccount (subType, achRoutingNumber, achAccountNumber; optional swiftCode; bankName is ours, from the routing directory)',
      'party-input-5': 'Names 1-100 characters after trimming',
      'party-input-6': 'companyName 1-200',
      'party-input-7': 'e-mail at most 254',
      'party-input-8': 'account number 4-17 digits',
      'party-input-9': 'routing number 9 digits with a valid ABA checksum',
      'party-input-10': 'swiftCode 8 or 11 (ISO 9362)',
      'party-input-11': 'PATCH takes any of the create fields but originatorId and entityType',
      'party-input-12': '`legalAddress` and `bankAccount` are replaced whole',
      'party-input-13': 'null clears phoneNumber, legalAddress and bankAccount',
      'party-input-14': 'an empty patch is a valid no-op',
      'party-input-15':
        'Two contacts are the same when originatorId, entityType, name, e-mail (case folded) and bank account are',
      'party-input-16':
        'creating or patching into a second one is 409 CONFLICT, also under concurrent requests',
      'payment-decision-1': 'paymentNote optional, at most 500 characters',
      'payment-decision-2': 'externalPaymentId optional, 1-255',
      'payment-decision-3': 'null equals absent.',
      'payment-decision-4': 'paymentAmount at most 99,999,999,999.',
      'payment-decision-5':
        'The contact must belong to the originator (400, `contactId`, `validation_contact_originator_mismatch`)',
      'payment-decision-6':
        'have a bank account (400, `contactId`, `validation_contact_bank_account_required`)',
      'payment-decision-7': 'currencyCode is USD.',
      'payment-decision-8':
        "The rail is chosen at creation and recorded: INBOUND → ACH (debit); OUTBOUND → by policy from the contact's bank's participation, amount and time; see the rails issue.",
      'payment-decision-9': 'Idempotency keys are scoped to the organization.',
      'payment-decision-10': 'A replayed 201 carries `Idempotent-Replayed: true`',
      'payment-decision-11':
        "the 409's message names the original paymentId and each recognized field that differs (no `error.details`: the specification keeps those for validation errors).",
      'list-filter-1': '`createdFrom`/`createdTo` inclusive, milliseconds',
      'list-filter-2':
        'a date alone means the start of that UTC day in createdFrom, its end in createdTo',
      'list-filter-3': 'from after to is 400',
      'list-filter-4': 'a parameter given twice is 400',
      'list-filter-5': 'unknown ones are ignored',
      'list-filter-6': 'A cursor is signed and bound to the organization.',
      'validation-1':
        '**Validation codes** (`issue`), stable: validation_required, validation_type, validation_uuid, validation_enum, validation_min_length, validation_max_length, validation_min, validation_max, validation_integer, validation_email, validation_phone_number, validation_postal_code, validation_state, validation_country_code, validation_routing_number, validation_account_number, validation_swift_code, validation_datetime, validation_date_range, validation_cursor, validation_url, validation_url_https, validation_url_credentials, validation_url_private_address, validation_event_type, validation_subscription_limit, validation_contact_originator_mismatch, validation_contact_bank_account_required.',
      'validation-2':
        'All problems of a request are reported at once, `field` dotted (`bankAccount.achRoutingNumber`, `subscribedEvents.0`).',
      'webhook-decision-1': {
        text: 'A host name that resolves to a blocked address is refused at creation',
        tests: [
          {
            file: 'libs/webhooks/src/webhook-url.spec.ts',
            title: 'is refused a host that resolves to a private address, also among public ones',
          },
          {
            file: 'libs/webhooks/src/hostile-urls.spec.ts',
            title: 'for a name that stands for %s',
          },
        ],
      },
      'webhook-decision-2': {
        text: 'again at every connection, on the address really connected to',
        tests: [
          {
            file: 'libs/webhooks/src/guarded-client.spec.ts',
            title: 'when a name resolves to it later (DNS rebinding)',
          },
        ],
      },
      'webhook-decision-3': 'one that does not resolve is accepted at creation',
      'webhook-decision-4': 'Redirects are not followed (a 3xx is a failed attempt).',
      'webhook-decision-5':
        'An event that occurs while an endpoint is disabled or not subscribed is never delivered to it',
      'webhook-decision-6': {
        text: 'retries due while it is disabled wait, inside the same window',
        tests: [
          {
            file: 'apps/webhook-dispatcher/src/webhook-dispatcher.pg.spec.ts',
            title:
              'disables it: retries wait; enables it: they go on; an event in between is never delivered',
          },
          {
            file: 'apps/webhook-dispatcher/src/webhook-dispatcher.pg.spec.ts',
            title: 'leaves it disabled until the window is over: the delivery has failed',
          },
        ],
      },
      'webhook-decision-7': 'deleting it ends them',
      'webhook-decision-8':
        'Every attempt is recorded: time, status, duration, error, first 1 KiB of the response.',
      'webhook-decision-9': {
        text: "`Retry-After` is honoured up to the contract's hour.",
        tests: [
          {
            file: 'libs/webhooks/src/retry-schedule.spec.ts',
            title: 'gets an hour at most, whatever it asks for and whichever attempt it was',
          },
          {
            file: 'apps/webhook-dispatcher/src/webhook-dispatcher-isolation.pg.spec.ts',
            title: 'that asks for %s s by Retry-After gets the delivery then, or in an hour',
          },
        ],
      },
      'statement-read-1': '`GET /v1/statements` (filters `originatorId`, `year`)',
      'statement-read-2': {
        text: '`GET /v1/statements/:id` (`statementId`, `originatorId`, `periodYear`, `periodMonth`, `generatedAt`, `sizeBytes`, `sha256`)',
        notTestable: statements,
      },
      'statement-read-3': { text: '`GET /v1/statements/:id/pdf`', notTestable: statements },
      'sandbox-1': 'any other account succeeds',
      'sandbox-2': '0101 | COMPLETED, then RETURNED with R01',
      'sandbox-3': '0102 | COMPLETED, then RETURNED with R02',
      'sandbox-4': '0107 | COMPLETED, then RETURNED with R07',
      'sandbox-5': '0199 | COMPLETED, then RETURNED, no code',
      'sandbox-6': '0201 | FAILED, INVALID_CONTACT_DATA naming bankAccount.achAccountNumber',
      'sandbox-7': '0202 | FAILED, INVALID_ORIGINATOR_DATA naming bankAccount.achAccountNumber',
      'sandbox-8': '0203 | FAILED, INTERNAL_ERROR, from QUEUED',
      'sandbox-9': '0204 | FAILED, INTERNAL_ERROR, from PROCESSING',
      'sandbox-10': '0301 | BLOCKED',
      'sandbox-11': '0401 | FAILED_IN_FLIGHT, and stays',
      'sandbox-12': '0402 | FAILED_IN_FLIGHT, then COMPLETED',
      'sandbox-13': '0501 | stays QUEUED',
      'sandbox-14': '0502 | stays PROCESSING',
      'sandbox-15': '9001 to 9085 | COMPLETED, then RETURNED with that R code (R01 to R85)',
      'sandbox-16':
        '`POST /v1/sandbox/payments/:id/simulate` with `{"outcome": "complete" | "return" | "fail" | "time_out" | "late_confirm", "returnReasonCode"?}` moves one payment along by hand',
      'sandbox-17': {
        text: '404 in production',
        tests: [
          { file: 'apps/api-gateway/src/sandbox.pg.spec.ts', title: 'is not there in production' },
        ],
      },
      'sandbox-18': '409 CONFLICT where the state does not allow it',
      'sandbox-19': {
        text: 'In the sandbox "the normal time" is 2 s unless PIS_RAIL_CONFIRMATION_TIMEOUT_MS says otherwise.',
        tests: [
          {
            file: 'apps/rail-executor/src/rail-executor.module.pg.spec.ts',
            title: 'is two seconds and the simulated delay in the sandbox',
          },
          {
            file: 'apps/rail-executor/src/rail-executor.module.pg.spec.ts',
            title: 'is what the configuration says, everywhere',
          },
        ],
      },
      'rail-decision-1': {
        text: "A rail's definite rejection (no funds moved) is FAILED: INVALID_CONTACT_DATA or INVALID_ORIGINATOR_DATA naming the field where the rail's reason is about a party's data, INTERNAL_ERROR otherwise.",
        tests: [
          {
            file: 'apps/rail-executor/src/sandbox-outcomes.pg.spec.ts',
            title: 'an account ending in %s leads to %j',
          },
          {
            file: 'apps/rail-executor/src/sandbox-outcomes.pg.spec.ts',
            title: 'a rejection names the field (%s)',
          },
        ],
      },
      'rail-decision-2': {
        text: 'An unexpected error before submission ends in FAILED / INTERNAL_ERROR after its tries.',
        tests: [
          {
            file: 'apps/rail-executor/src/open-payments.pg.spec.ts',
            title: 'ends in FAILED / INTERNAL_ERROR after its tries, without another message',
          },
        ],
      },
      'rail-decision-3': {
        text: "Silence is never FAILED: FAILED_IN_FLIGHT in the rail's normal time, however long the bank cannot be reached.",
        tests: [
          {
            file: 'apps/rail-executor/src/submissions.pg.spec.ts',
            title: 'does not keep the payment from FAILED_IN_FLIGHT in the normal time',
          },
        ],
      },
      ...laterDecisions,
    },
    context: {
      '**Rails.**': 'introduces what follows',
      '**Further error codes.**': 'introduces what follows',
      'Optional:': 'introduces what follows',
      '**Payment.**': 'introduces what follows',
      and: 'introduces what follows',
      'List filters:': 'introduces what follows',
      '**Webhooks.**': 'introduces what follows',
      '**Statements.**': 'introduces what follows',
      "**Sandbox outcomes.** In the sandbox the last four digits of the contact's account number choose what the simulated bank does":
        'introduces what follows',
      And: 'introduces what follows',
    },
  },
];
