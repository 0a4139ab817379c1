/** Rules of spec.md, in its words. See tools/conformance-rules.mjs for the form. */
import { links } from './reasons.mjs';

export const endpoints = [
  {
    document: 'spec.md',
    heading: 'Endpoints',
    rules: {
      'endpoint-1':
        'Paths are given as they are used; the collection paths for originators, contacts and payments carry a trailing slash, the webhook paths do not.',
      'endpoint-2': {
        text: 'All endpoints need authentication (see Authentication).',
        sameAs: 'authentication-2',
      },
      'endpoint-3': 'Bodies are JSON with `Content-Type: application/json`.',
      'endpoint-4': 'A body containing the same JSON key twice is rejected (INVALID_JSON).',
      'endpoint-5': 'GET | /v1/originators/ | list originators',
      'endpoint-6': 'POST | /v1/contacts/ | create contact',
      'endpoint-7': 'GET | /v1/contacts/ | list contacts',
      'endpoint-8': 'PATCH | /v1/contacts/:id | update contact',
      'endpoint-9': 'PATCH | /v1/originators/:id | update originator',
      'endpoint-10': 'POST | /v1/payments/ | create payment',
      'endpoint-11': 'GET | /v1/payments/{paymentId} | get payment',
      'endpoint-12': 'GET | /v1/payments/ | list payments',
      'endpoint-13': 'POST | /v1/webhooks | create webhook endpoint',
      'endpoint-14': 'GET | /v1/webhooks | list webhook endpoints',
      'endpoint-15': 'GET | /v1/webhooks/:id | get webhook endpoint',
      'endpoint-16': 'PATCH | /v1/webhooks/:id | update webhook endpoint',
      'endpoint-17': 'DELETE | /v1/webhooks/:id | delete webhook endpoint',
      'endpoint-18': 'POST | /v1/webhooks/:id/test | send a test event',
    },
  },
  {
    document: 'spec.md',
    heading: 'Endpoints › GET /v1/originators/',
    rules: {
      'originator-list-1': 'Returns `{data: [...], meta}`.',
      'originator-list-2': 'A successful call with a valid key can serve to verify the key.',
      'originator-list-3': { text: 'A bad key gives 401.', sameAs: 'authentication-2' },
    },
    context: {
      'Item shape and query parameters: not shown.':
        'left open by the specification; decided in interface.md',
    },
  },
  {
    document: 'spec.md',
    heading: 'Endpoints › POST /v1/contacts/',
    rules: {
      'contact-creation-1': { text: 'Body: contact create request.', sameAs: 'contact-create-1' },
      'contact-creation-2': {
        text: 'Response `data`: contactId, createdAt.',
        sameAs: 'contact-create-10',
      },
      'contact-creation-3': 'Existing duplicate gives 409.',
      'contact-creation-4': 'Validation failure gives 400 VALIDATION_ERROR with details.',
    },
    context: {
      'Success status code: not shown.': 'left open by the specification; decided in interface.md',
    },
  },
  {
    document: 'spec.md',
    heading: 'Endpoints › GET /v1/contacts/',
    rules: {
      'contact-creation-5': 'Query: `originatorId` (UUID) filters the contacts of an originator.',
    },
    context: {
      'Response item shape, other parameters and paging: not shown.':
        'left open by the specification; decided in interface.md',
    },
  },
  {
    document: 'spec.md',
    heading: 'Endpoints › PATCH /v1/contacts/:id and PATCH /v1/originators/:id',
    rules: {
      'patch-1':
        'Updating a contact applies the given patch and can be retried without cumulative effect.',
    },
    context: {
      'Updating an originator is referred to as not yet available.':
        'left open by the specification; decided in interface.md',
      'Patch body fields of both and response shapes: not shown.':
        'left open by the specification; decided in interface.md',
    },
  },
  {
    document: 'spec.md',
    heading: 'Endpoints › POST /v1/payments/',
    rules: {
      'payment-creation-1':
        'Required header: `Idempotency-Key`, free-form string of 1-255 characters.',
      'payment-creation-2': 'Body: payment create request.',
      'payment-creation-3': 'Success: 201 with `data.paymentId`.',
      'payment-creation-4':
        'Errors: 400 IDEMPOTENCY_KEY_REQUIRED (header missing, empty or over 255 characters), 400 VALIDATION_ERROR, 400 INVALID_JSON, 401, 404, 409 IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY.',
      'idempotency-1': 'First request with a key creates the payment and records the key.',
      'idempotency-2':
        'Same key and same body replays the original 201 with the same paymentId; no duplicate is created.',
      'idempotency-3': 'Same key and different body gives 409.',
      'idempotency-4': 'The comparison ignores unrecognized fields and key order.',
      'idempotency-5':
        'A non-201 response does not reserve the key; the same key may be retried, also with a corrected body.',
      'idempotency-6': 'After a 201 the key is locked permanently; there is no expiry of keys.',
    },
    context: { 'Idempotency rules:': 'introduces what follows' },
  },
  {
    document: 'spec.md',
    heading: 'Endpoints › GET /v1/payments/{paymentId}',
    rules: {
      'payment-read-1': 'Returns the payment record.',
      'payment-read-2':
        "Errors: 400 invalid payment ID format; 401; 404 payment not found or not in the caller's organization.",
    },
  },
  {
    document: 'spec.md',
    heading: 'Endpoints › GET /v1/payments/',
    rules: {
      'payment-list-1':
        'cursor | string | none | opaque token; omit on the first request, then pass the previous nextCursor',
      'payment-list-2': 'limit | integer | 20 | 1 to 100',
      'payment-list-3': 'status | string | none | one of the nine statuses',
      'payment-list-4': 'originatorId | UUID | none |',
      'payment-list-5': 'direction | string | none | INBOUND or OUTBOUND',
      'payment-list-6': 'createdFrom | ISO 8601 | none | created on or after',
      'payment-list-7': 'createdTo | ISO 8601 | none | created on or before',
      'payment-list-8':
        'Response: `data` is an array of list items; `meta.pagination` has `limit` and `nextCursor`.',
      'payment-list-9': 'Ordering is by createdAt descending.',
      'payment-list-10': 'nextCursor is null on the last page.',
      'payment-list-11': 'A malformed cursor gives 400.',
      'payment-list-12': 'Invalid query parameters give 400.',
      'payment-list-13': 'Missing or invalid key gives 401.',
    },
    context: {
      'Query parameters:': 'introduces what follows',
      'Rules:': 'introduces what follows',
      'Filters must stay identical across pages; changing them mid-paging gives undefined results.':
        'an obligation of the caller, not of the service',
    },
  },
  {
    document: 'spec.md',
    heading: 'Endpoints › Webhook endpoints',
    rules: {
      'webhook-1': {
        text: 'url | string | yes | HTTPS only, at most 2000 characters, publicly routable (private, localhost and link-local addresses are blocked), no embedded credentials',
        tests: [
          {
            file: 'libs/webhooks/src/hostile-urls.spec.ts',
            title: 'for %j, an address of no public host',
          },
        ],
      },
      'webhook-2':
        'subscribedEvents | string[] | yes | at least one event type or `payment.*`; a global `*` is rejected; concrete names may be combined with `payment.*`',
      'webhook-3': 'label | string | no | 1-255 characters',
      'webhook-4':
        'The response `data` is the endpoint including `secret`, which appears only in this response.',
      'webhook-5': 'A subscription that would exceed the per-event-type limit gives 400.',
      'webhook-6': 'List returns `data` as an array of endpoints without secret.',
      'webhook-7': 'Get returns one endpoint without secret.',
      'webhook-8': 'Update (PATCH) takes any of url, subscribedEvents, label, enabled',
      'webhook-9': 'only the supplied fields change',
      'webhook-10':
        'subscribedEvents replaces the whole subscription and an empty array unsubscribes from everything',
      'webhook-11': 'label null clears it',
      'webhook-12': 'Delete returns 204 with no body.',
      'webhook-test-1':
        'Test (POST /v1/webhooks/:id/test), body is `{}` or `{eventType: <payment event type>}`:',
      'webhook-test-2':
        'With `{}` a TEST event with a sample payload is delivered to the endpoint.',
      'webhook-test-3':
        'With eventType the sample is a synthetic payment event with the real envelope, signing and payload shape, including status-specific fields (failureCode for payment.failed, returnReasonCode for payment.returned).',
      'webhook-test-4': '`payment.*` and `statement.generated` cannot be triggered this way.',
      'webhook-test-5': 'The sample is sent whatever the subscriptions are',
      'webhook-test-6': 'is not stored, and never appears in delivery records',
      'webhook-test-7':
        'Response `data`: `success` (boolean), `statusCode` (integer, the status the endpoint returned, or null if the connection failed), `error` (string or null), `durationMs` (integer milliseconds).',
    },
    context: {
      'Create (POST /v1/webhooks), body:': 'introduces what follows',
      'Success status codes of create, list, get, update and test: not shown.':
        'left open by the specification; decided in interface.md',
    },
  },
  {
    document: 'spec.md',
    heading: 'Endpoints › Not in the API',
    rules: {
      'not-in-api-1':
        'The API has no operation to cancel a payment and none to create or read payment links.',
    },
    context: {
      'The paths of the public link endpoints and any statement retrieval endpoints: not shown.':
        'left open by the specification; decided in interface.md',
    },
  },
  {
    document: 'spec.md',
    heading: 'Authentication',
    rules: {
      'authentication-1': 'Every API request carries `Authorization: Bearer <API_KEY>`.',
      'authentication-2': 'A missing, invalid, expired or revoked key gives 401 UNAUTHORIZED.',
      'authentication-3': 'A key whose type cannot access the resource gives 403 FORBIDDEN.',
      'authentication-4': 'Sandbox keys carry a fixed test prefix',
      'authentication-5':
        'Keys are scoped to an organization; records of other organizations give 404.',
      'authentication-6': {
        text: 'Webhook deliveries are authenticated by signature (see Events).',
        sameAs: 'signature-1',
      },
      'authentication-7': 'The webhook `secret` is used for verification only.',
      'authentication-8': {
        text: 'Public payment link pages need no API key; the token in the URL is the credential.',
        notTestable: links,
      },
    },
    context: {
      'The list of key types and what each may access: not shown.':
        'left open by the specification; decided in interface.md',
      'the sandbox has its own base address': 'a matter of the deployment',
    },
  },
];
