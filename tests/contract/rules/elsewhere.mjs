/** Rules that tests outside the contract suite prove, alone or together with a contract test. */

export const elsewhere = {
  'audit-1': [
    [
      'apps/api-gateway/src/audit.pg.spec.ts',
      'proves all events of a payment, its checkpoints and their consistency',
    ],
    [
      'libs/audit/src/audit-log.pg.spec.ts',
      'signs the whole log, in notes that node:crypto alone can verify',
    ],
  ],
  'audit-2': [
    [
      'apps/api-gateway/src/audit.pg.spec.ts',
      'proves all events of a payment, its checkpoints and their consistency',
    ],
    [
      'libs/audit/src/audit-log.pg.spec.ts',
      'signs the whole log, in notes that node:crypto alone can verify',
    ],
  ],
  'audit-3': [
    [
      'libs/audit/src/audit-log.pg.spec.ts',
      'signs the whole log, in notes that node:crypto alone can verify',
    ],
    [
      'libs/audit/src/audit-log.pg.spec.ts',
      'two processes together make one tree and one line of checkpoints',
    ],
  ],
  'audit-4': [
    [
      'apps/api-gateway/src/audit.pg.spec.ts',
      'proves all events of a payment, its checkpoints and their consistency',
    ],
    [
      'apps/api-gateway/src/audit.pg.spec.ts',
      'refuses sizes that no checkpoint has, and payments of others',
    ],
  ],
  'audit-5': [
    [
      'apps/api-gateway/src/audit.pg.spec.ts',
      'proves all events of a payment, its checkpoints and their consistency',
    ],
    ['libs/audit/src/audit-log.pg.spec.ts', 'finds the leaves of a payment among those of others'],
  ],
  'audit-6': [
    ['libs/audit/src/leaf.spec.ts', 'hashes leaves and nodes as RFC 6962 says'],
    [
      'libs/audit/src/merkle-tree.spec.ts',
      "gives the roots of RFC 6962's reference implementation at every size",
    ],
  ],
  'audit-7': [
    ['libs/audit/src/leaf.spec.ts', 'a leaf names the event and holds no personal data'],
    [
      'tests/erasure.spec.ts',
      'is refused for a business, and erases an individual beside the contacts',
    ],
  ],
  'audit-8': [
    [
      'libs/audit/src/audit-log.pg.spec.ts',
      'signs the whole log, in notes that node:crypto alone can verify',
    ],
    ['libs/audit/src/verify/stored-event.spec.ts', 'a checkpoint is no leaf'],
  ],
  'audit-9': [
    [
      'libs/audit/src/verify/stored-event.spec.ts',
      'computes the hashes that the store and the tree compute, of the sealed data',
    ],
    [
      'libs/event-store/src/event-hash.spec.ts',
      'is SHA-256 over JSON with sorted keys, so that anyone can compute it again',
    ],
  ],
  'audit-10': [
    ['tests/cli-audit.spec.ts', 'an auditor follows docs/audit.md, and the proofs in the PDF hold'],
    ['tools/verifier.spec.mjs', 'exits with 0 or 1'],
  ],
  'audit-11': [
    [
      'tests/cli-audit.spec.ts',
      'audit verify says that a whole log holds, also against a kept checkpoint',
    ],
    ['tests/cli-audit.spec.ts', 'audit verify names what was altered, with exit code 1'],
  ],
  'audit-12': [
    [
      'tests/cli-audit.spec.ts',
      'audit verify finds a log that is not consistent with a kept checkpoint',
    ],
  ],
  'audit-14': [
    ['tests/cli-audit.spec.ts', 'audit show tells who did what with a payment, and when'],
  ],
  'event-rule-3': [
    [
      'tests/collections.spec.ts',
      'a collection is executed and returned, and nothing tells a client of it',
    ],
  ],
  'event-rule-4': [
    [
      'tests/collections.spec.ts',
      'a collection is executed and returned, and nothing tells a client of it',
    ],
    [
      'apps/rail-executor/src/return-movements.pg.spec.ts',
      'each return in the books of the bank is one opposite movement with its reference there, however often it is told',
    ],
  ],
  'export-1': [
    [
      'apps/api-gateway/src/exports.pg.spec.ts',
      'is accepted, then written, and then has its figures and its file',
    ],
  ],
  'export-2': [
    [
      'apps/api-gateway/src/exports.pg.spec.ts',
      'is accepted, then written, and then has its figures and its file',
    ],
  ],
  'export-3': [
    [
      'apps/api-gateway/src/exports.pg.spec.ts',
      'gives ranges of its file, and says when nothing has changed',
    ],
  ],
  'export-4': [
    [
      'libs/exports/src/export-worker.pg.spec.ts',
      'filters by originator and time, and has a header without rows',
    ],
    ['apps/api-gateway/src/exports.pg.spec.ts', 'names everything that is wrong'],
  ],
  'export-5': [
    ['apps/api-gateway/src/exports.pg.spec.ts', 'names everything that is wrong'],
    [
      'libs/exports/src/export-worker.pg.spec.ts',
      'has movements in every format, also when the process dies',
    ],
    [
      'libs/read-models/src/movements.pg.spec.ts',
      'a payment that completes is one movement, and its return is the opposite one, months later',
    ],
  ],
  'export-6': [
    [
      'libs/exports/src/export-worker.pg.spec.ts',
      'filters by originator and time, and has a header without rows',
    ],
    ['libs/exports/src/csv.spec.ts', 'quotes what RFC 4180 requires, and ends lines with CRLF'],
  ],
  'export-7': [
    [
      'apps/api-gateway/src/exports.pg.spec.ts',
      'has the API’s objects as JSON Lines, only those of the originator and the time',
    ],
  ],
  'fee-decision-1': [
    [
      'libs/commands/src/organization-fees.spec.ts',
      'a schedule counts from then on, and changes no payment that exists',
    ],
    [
      'libs/domain/src/organization/fees.spec.ts',
      'never exceeds the exact share, differs from it by less than a cent, and never shrinks as the amount grows',
    ],
  ],
  'service-9': [
    [
      'libs/fees/src/fee-sums.pg.spec.ts',
      'whatever the payments, also around the ends of months (seed %i)',
    ],
    ['libs/fees/src/fee-collection.pg.spec.ts', 'if the collector dies %s any append'],
  ],
  'fee-decision-2': [
    [
      'libs/fees/src/fee-collection.pg.spec.ts',
      'are those of payments completed in it, and return fees of payments returned in it',
    ],
  ],
  'fee-schedule-4': [
    ['tests/cli-fees-collect.spec.ts', 'collects the fees of each originator once, beside the job'],
    ['libs/fees/src/fee-collection.pg.spec.ts', 'if jobs and operators collect at the same time'],
  ],
  'command-22': [
    ['tests/cli-fees.spec.ts', 'replaces the schedules that it shows, recorded'],
    ['tests/cli-fees-collect.spec.ts', 'sets and shows the settlement account, masked'],
  ],
  'fee-schedule-1': [
    ['tests/cli-fees.spec.ts', 'replaces the schedules that it shows, recorded'],
    [
      'libs/commands/src/organization-fees.spec.ts',
      'a schedule counts from then on, and changes no payment that exists',
    ],
  ],
  'fee-schedule-2': [
    ['libs/domain/src/organization/fees.spec.ts', 'is the most specific: %s'],
    [
      'libs/domain/src/organization/fees.spec.ts',
      'is the latest of equals that is not in the future',
    ],
  ],
  'fee-schedule-3': [
    [
      'tests/cli-fees.spec.ts',
      'one bad entry refuses the whole file, and the message names the field',
    ],
    [
      'libs/commands/src/organization-fees.spec.ts',
      'names every problem of a file, and sets nothing then',
    ],
  ],
  'payment-link-3': [
    [
      'libs/commands/src/payment-links/link-token.spec.ts',
      'a token is 32 random bytes in 43 URL-safe characters, and no two are alike',
    ],
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'for money from %s always takes a link',
    ],
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'is nowhere in the log, and neither is the account holder',
    ],
  ],
  'payment-link-4': [
    [
      'libs/domain/src/payment/payment.spec.ts',
      'waits for a counterparty that is not saved, and the link expires after exactly 30 days',
    ],
    [
      'libs/commands/src/payment-links/link-end.spec.ts',
      'comes after 30 days: nothing can be submitted, and the status stays',
    ],
  ],
  'payment-link-5': [
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'is the same payment with the same link under the same key, and a refusal for another body',
    ],
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'that arrives twice at the same time makes one payment, and only its token works',
    ],
  ],
  'payment-link-6': [
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'for money from %s always takes a link',
    ],
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'to send money takes a link if the recipient is not saved, or has no account',
    ],
  ],
  'payment-link-7': [
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'to send money to a saved contact with an active account needs no link',
    ],
  ],
  'payment-link-11': [
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'records who opens it, with the visitor sealed',
    ],
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'is not made when it cannot be recorded',
    ],
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'a request is opened, submitted and followed by its link, and each visit is recorded',
    ],
  ],
  'payment-link-12': [
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'is refused with the API’s codes for each wrong field, and the link stays open',
    ],
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'gives an unsaved counterparty an id',
    ],
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'a request is opened, submitted and followed by its link, and each visit is recorded',
    ],
  ],
  'payment-link-13': [
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'queues the payment for the submitted account, with the rail that its bank takes',
    ],
  ],
  'payment-link-14': [
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'is accepted once; after it the link shows the status',
    ],
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'a request is opened, submitted and followed by its link, and each visit is recorded',
    ],
    [
      'tests/payment-pages.spec.ts',
      'takes bank details on a phone, and follows the payment without a reload',
    ],
  ],
  'payment-link-16': [
    [
      'libs/commands/src/payment-links/link-end.spec.ts',
      'comes at once with the cancellation: the token is as unknown as one that never was',
    ],
    [
      'libs/commands/src/payment-links/link-races.spec.ts',
      'of 1,000 pairs of a submission and a cancellation exactly one of each wins',
    ],
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'a canceled link is unknown at once, also to those who have its page open',
    ],
  ],
  'payment-link-17': [
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'shows the payer the amount, the fee on top, the originator and the account holder',
    ],
    [
      'apps/rail-executor/src/linked-payments.pg.spec.ts',
      'an %s payment moves %d and keeps its paymentAmount',
    ],
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'a request is opened, submitted and followed by its link, and each visit is recorded',
    ],
  ],
  'limit-13': [
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'for money from %s always takes a link',
    ],
    [
      'apps/payment-pages/src/payment-pages.spec.ts',
      'is answered alike whether it never existed or was canceled, by the same steps',
    ],
  ],
  'link-decision-1': [
    [
      'libs/domain/src/payment/payment.spec.ts',
      'is the amount and the processing fee when the payer of a link is debited',
    ],
    [
      'apps/rail-executor/src/linked-payments.pg.spec.ts',
      'an %s payment moves %d and keeps its paymentAmount',
    ],
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'a request is opened, submitted and followed by its link, and each visit is recorded',
    ],
  ],
  'link-decision-2': [
    ['libs/domain/src/contact/contact-reports.spec.ts', 'unless its last return was %s'],
    [
      'libs/domain/src/contact/contact-reports.spec.ts',
      'unless a notification of change is unanswered',
    ],
    [
      'apps/rail-executor/src/bank-reports.pg.spec.ts',
      'a return is noted once on the contact, whose account is then no longer active',
    ],
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'to send money takes a link after the account returned %s',
    ],
  ],
  'link-decision-3': [
    [
      'libs/commands/src/payment-links/payment-links.spec.ts',
      'is refused with the API’s codes for each wrong field, and the link stays open',
    ],
    [
      'apps/payment-pages/src/payment-pages.spec.ts',
      'is refused for a routing number that no bank has, and shows the bank of one that is known',
    ],
  ],
  'service-10': [
    [
      'libs/domain/src/payment/payment.spec.ts',
      'waits for a counterparty that is not saved, and the link expires after exactly 30 days',
    ],
  ],
  'service-11': [
    [
      'libs/read-models/src/payments.projection.spec.ts',
      'shows a payment in %s like the single read',
    ],
    [
      'apps/api-gateway/src/payment-statuses.pg.spec.ts',
      'is the same in the list, without the reasons and the accounts',
    ],
    [
      'apps/api-gateway/src/payment-statuses.pg.spec.ts',
      'is sent as it is read at that moment, with the previous status',
    ],
  ],
  'payment-7': [
    [
      'apps/api-gateway/src/payment-statuses.pg.spec.ts',
      'has the fields of its status, and null for all others',
    ],
  ],
  'payment-22': [
    [
      'apps/api-gateway/src/payment-statuses.pg.spec.ts',
      'has the fields of its status, and null for all others',
    ],
  ],
  'masking-6': [
    [
      'apps/api-gateway/src/payment-statuses.pg.spec.ts',
      'has the fields of its status, and null for all others',
    ],
  ],
  'masking-8': [
    [
      'libs/domain/src/payment/payment-lives.spec.ts',
      'both parties have their bank account from QUEUED on, the originator always',
    ],
  ],
  'status-2': [['libs/domain/src/payment/payment-matrix.spec.ts', '%s, when %s, becomes %s']],
  'status-10': [['libs/domain/src/payment/payment-matrix.spec.ts', '%s, when %s, becomes %s']],
  'transition-2': [['libs/domain/src/payment/payment-matrix.spec.ts', '%s, when %s, becomes %s']],
  'transition-3': [
    ['libs/domain/src/payment/payment-matrix.spec.ts', '%s, when %s, becomes %s'],
    [
      'libs/domain/src/payment/payment.spec.ts',
      'takes an answer until the last millisecond before the link expires',
    ],
  ],
  'transition-4': [['libs/domain/src/payment/payment-matrix.spec.ts', '%s, when %s, becomes %s']],
  'transition-5': [
    ['libs/domain/src/payment/payment.spec.ts', 'can still be canceled when the link has expired'],
  ],
  'webhook-1': [
    ['libs/webhooks/src/hostile-urls.spec.ts', 'for %j, which is not the address of a public host'],
  ],
  'command-13': [
    [
      'tests/cli-statements.spec.ts',
      'makes the statement of an originator once, and stores what it recorded',
    ],
  ],
  'service-13': [
    [
      'apps/api-gateway/src/statements.pg.spec.ts',
      'is announced with its ID, originator, year and month, in the feed and over the API',
    ],
  ],
  'statement-1': [
    ['libs/statements/src/generation.pg.spec.ts', 'is made once, by however many at the same time'],
  ],
  'event-type-10': [
    [
      'apps/api-gateway/src/statements.pg.spec.ts',
      'is announced with its ID, originator, year and month, in the feed and over the API',
    ],
  ],
  ...Object.fromEntries(
    [1, 2, 3, 4].map((field) => [
      `statement-event-${field}`,
      [
        [
          'apps/api-gateway/src/statements.pg.spec.ts',
          'is announced with its ID, originator, year and month, in the feed and over the API',
        ],
      ],
    ]),
  ),
  'statement-read-2': [
    [
      'apps/api-gateway/src/statements.pg.spec.ts',
      'answers with the record of a statement, and lists it by originator and year',
    ],
  ],
  'statement-read-3': [
    [
      'apps/api-gateway/src/statements.pg.spec.ts',
      'serves the document whole, in ranges, and not again to who has it',
    ],
  ],
  'statement-read-4': [
    [
      'libs/statements/src/statement-pdf.spec.ts',
      'names organization, originator and month, and shows the opening figures',
    ],
    [
      'libs/statements/src/statement-pdf.spec.ts',
      "shows each kind of line with its date in the organization's zone, reference, status and amounts",
    ],
  ],
  'event-envelope-4': [
    [
      'apps/webhook-dispatcher/src/statement-deliveries.pg.spec.ts',
      'gets a createdAt that is stamped at each signing, and everything else unchanged',
    ],
  ],
  'event-type-1': [
    [
      'apps/api-gateway/src/payment-statuses.pg.spec.ts',
      'is sent as it is read at that moment, with the previous status',
    ],
  ],
  'event-rule-6': [
    ['libs/domain/src/payment/payment.spec.ts', 'can still be canceled when the link has expired'],
  ],
  'event-data-3': [
    [
      'apps/api-gateway/src/payment-statuses.pg.spec.ts',
      'has the fields of its status, and null for all others',
    ],
    [
      'apps/api-gateway/src/payment-statuses.pg.spec.ts',
      'is sent as it is read at that moment, with the previous status',
    ],
  ],
  'signature-3': [
    [
      'libs/webhooks/src/signing.spec.ts',
      'accepts a clock that differs by 5 minutes, and rejects any more, either way',
    ],
  ],
  'delivery-3': [
    ['tests/contract/webhook-numbers.spec.ts', 'limit-7 gives a receiver 30 seconds to respond'],
  ],
  'delivery-4': [
    [
      'libs/webhooks/src/retry-schedule.spec.ts',
      'after 30 seconds, then after twice as long each time, at most an hour',
    ],
    ['tests/contract/webhook-numbers.spec.ts', 'limit-9 tries payment events for 72 hours'],
    ['tests/contract/webhook-numbers.spec.ts', 'limit-10 tries statement events for 14 days'],
    [
      'apps/webhook-dispatcher/src/statement-deliveries.pg.spec.ts',
      'is attempted on its fourteenth day, and not after that',
    ],
  ],
  'delivery-5': [
    [
      'libs/webhooks/src/retry-schedule.spec.ts',
      'at the very end of the window, and not a millisecond later',
    ],
  ],
  'error-3': [
    ['libs/http-api/src/errors.spec.ts', '%s has details only if it is a VALIDATION_ERROR'],
  ],
  'error-14': [
    ['apps/api-gateway/src/http-faults.pg.spec.ts', 'an unexpected error: 500 without details'],
  ],
  'error-15': [
    [
      'libs/client/src/transport.spec.ts',
      '%s is tried again after 1, 2, 4 and 8 s, each time the same request',
    ],
    ['libs/client/src/transport.spec.ts', 'includes a timeout of each attempt'],
    ['libs/client/src/transport.spec.ts', 'with %i %s is not tried again'],
  ],
  'limit-8': [
    [
      'libs/webhooks/src/retry-schedule.spec.ts',
      'after 30 seconds, then after twice as long each time, at most an hour',
    ],
  ],
  'limit-9': [
    [
      'libs/webhooks/src/retry-schedule.spec.ts',
      'at the very end of the window, and not a millisecond later',
    ],
  ],
  'versioning-4': [
    ['libs/contracts/src/payment-requests.spec.ts', 'keeps the validation codes stable'],
  ],
  'further-error-1': [
    [
      'apps/api-gateway/src/http.pg.spec.ts',
      'get 429 with Retry-After before any other check, while others are served',
    ],
  ],
  'further-error-8': [
    [
      'apps/api-gateway/src/http-slow.spec.ts',
      'a client that sends %s byte by byte gets an error and is cut off, and others are served meanwhile',
    ],
  ],
  'further-error-4': [
    [
      'apps/api-gateway/src/http-faults.pg.spec.ts',
      'the event store: 503 with Retry-After, nothing is created, and it recovers by itself',
    ],
  ],
  'webhook-decision-1': [
    [
      'libs/webhooks/src/webhook-url.spec.ts',
      'cannot use a host with a private address, also among public ones',
    ],
    ['libs/webhooks/src/hostile-urls.spec.ts', 'for a name that resolves to %s'],
  ],
  'webhook-decision-2': [
    [
      'libs/webhooks/src/guarded-client.spec.ts',
      'when a name resolves to it later (DNS rebinding)',
    ],
  ],
  'webhook-decision-6': [
    [
      'apps/webhook-dispatcher/src/webhook-dispatcher.pg.spec.ts',
      'disables it: retries wait; enables it: they continue; an event in between is never delivered',
    ],
    [
      'apps/webhook-dispatcher/src/webhook-dispatcher.pg.spec.ts',
      'leaves it disabled until the window is over: the delivery has failed',
    ],
  ],
  'webhook-decision-9': [
    [
      'libs/webhooks/src/retry-schedule.spec.ts',
      'gets an hour at most, whatever it asks for and whichever attempt it was',
    ],
    [
      'apps/webhook-dispatcher/src/webhook-dispatcher-isolation.pg.spec.ts',
      'that asks for %s s by Retry-After with %i gets the delivery then, or after an hour at most',
    ],
  ],
  'sandbox-17': [['apps/api-gateway/src/sandbox.pg.spec.ts', 'does not exist in production']],
  'sandbox-19': [
    [
      'apps/rail-executor/src/rail-executor.module.pg.spec.ts',
      'is two seconds and the simulated delay in the sandbox',
    ],
    [
      'apps/rail-executor/src/rail-executor.module.pg.spec.ts',
      'is the configured time in both environments',
    ],
  ],
  'rail-decision-1': [
    ['apps/rail-executor/src/sandbox-outcomes.pg.spec.ts', 'an account ending in %s leads to %j'],
    ['apps/rail-executor/src/sandbox-outcomes.pg.spec.ts', 'a rejection names the field (%s)'],
  ],
  'service-16': [
    [
      'libs/bank-rails/src/selection/rail-selection.spec.ts',
      'is %s at %s with %j for %d dollars: %s',
    ],
    ['apps/api-gateway/src/rails.pg.spec.ts', 'with a contact at %s is %s'],
  ],
  'rail-decision-2': [
    [
      'apps/rail-executor/src/open-payments.pg.spec.ts',
      'ends in FAILED / INTERNAL_ERROR after its tries, without another message',
    ],
  ],
  'rail-decision-3': [
    [
      'apps/rail-executor/src/submissions.pg.spec.ts',
      'does not keep the payment from FAILED_IN_FLIGHT in the normal time',
    ],
  ],
  'transition-11': [
    [
      'apps/rail-executor/src/submissions.pg.spec.ts',
      'does not keep the payment from FAILED_IN_FLIGHT in the normal time',
    ],
    [
      'apps/rail-executor/src/submissions.pg.spec.ts',
      'and never answers does not hold up the deadline',
    ],
  ],
  'payment-13': [
    ['libs/contracts/src/payment-view.spec.ts', 'shows the rail that was recorded: %s'],
  ],
  'payment-decision-8': [
    ['libs/domain/src/payment/payment-lives.spec.ts', 'the details set at creation never change'],
  ],
  'authentication-8': [
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'a request is opened, submitted and followed by its link, and each visit is recorded',
    ],
  ],
  'payment-link-2': [
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'of many submissions of one link at the same time one is accepted',
    ],
  ],
  'payment-link-9': [
    [
      'tests/payment-links.spec.ts',
      'no token of a link is found in any table, topic, webhook, log line or trace of the run',
    ],
    [
      'tests/dashboard-roles.spec.ts',
      'never sends the token of a link to a viewer: not in a page, an answer or a live update',
    ],
  ],
  'payment-link-10': [
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'a request is opened, submitted and followed by its link, and each visit is recorded',
    ],
  ],
  'payment-link-15': [
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'an expired link shows who created it, and takes no submission',
    ],
  ],
  'page-1': [
    [
      'tests/payment-pages.spec.ts',
      'takes bank details on a phone, and follows the payment without a reload',
    ],
  ],
  'page-2': [
    [
      'tests/payment-pages.spec.ts',
      'works without JavaScript: problems beside the fields, submission, status by a link',
    ],
  ],
  'page-3': [
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'an expired link shows who created it, and takes no submission',
    ],
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'a canceled link is unknown at once, also to those who have its page open',
    ],
    [
      'apps/payment-pages/src/payment-pages-edge.spec.ts',
      'hold for each address whatever the link is, also for links that are not there',
    ],
  ],
  'page-4': [
    [
      'apps/payment-pages/src/payment-pages.spec.ts',
      'is accepted once; the second one says so and changes nothing',
    ],
  ],
  'page-5': [
    ['tests/dashboard.spec.ts', 'asks for the one-time code of a user who has turned codes on'],
  ],
  'page-6': [
    [
      'tests/dashboard-names.spec.ts',
      'leads from the navigation to each screen, with one main landmark and no errors, and signs out',
    ],
  ],
  'page-7': [
    [
      'tests/dashboard-names.spec.ts',
      'names the fields and choices of a new payment, and puts its messages beside the wrong fields',
    ],
    [
      'tests/dashboard.spec.ts',
      'requests money by a link, finds the payment by its filters, and cancels it',
    ],
  ],
  'page-8': [
    [
      'tests/dashboard.spec.ts',
      'requests money by a link, finds the payment by its filters, and cancels it',
    ],
  ],
  'page-9': [['tests/dashboard.spec.ts', 'shows a new API key once, and the key works']],
  'page-10': [
    [
      'tests/dashboard.spec.ts',
      'requests money by a link, finds the payment by its filters, and cancels it',
    ],
    [
      'tests/dashboard-names.spec.ts',
      'names the fields and choices of a new payment, and puts its messages beside the wrong fields',
    ],
    ['apps/dashboard-web/src/format.spec.ts', 'shows amounts in dollars'],
  ],
  'page-11': [
    [
      'tests/dashboard-names.spec.ts',
      'names the fields and choices of a new payment, and puts its messages beside the wrong fields',
    ],
    [
      'tests/payment-pages.spec.ts',
      'works without JavaScript: problems beside the fields, submission, status by a link',
    ],
    [
      'apps/payment-pages/src/payment-pages.spec.ts',
      'reports all problems at once, each beside its field, and shows no account number again',
    ],
  ],
  'page-12': [
    ['tests/dashboard-accessibility.spec.ts', 'is sound (%s)'],
    [
      'tests/payment-pages-views.spec.ts',
      'is accessible (WCAG 2.2 AA), fits the screen and loads less than 50 KB in English and Spanish, on a phone and a desktop, light and dark: %s',
    ],
  ],
  'page-13': [
    ['tests/dashboard-roles.spec.ts', 'shows %s what the role may do'],
    [
      'tests/dashboard-roles.spec.ts',
      'shows %s nothing of the screens for administrators, whatever the address',
    ],
    [
      'tests/dashboard-roles.spec.ts',
      'never sends the token of a link to a viewer: not in a page, an answer or a live update',
    ],
  ],
  'page-14': [
    [
      'tests/dashboard-names.spec.ts',
      'locks a user out after five failed sign-ins, and says the same as of an unknown address',
    ],
    [
      'libs/users/src/sign-in.pg.spec.ts',
      'is locked for 15 minutes after five failures, also for the right password',
    ],
    [
      'apps/dashboard/src/sign-in.pg.spec.ts',
      'answers a wrong password, an unknown address and a locked account alike',
    ],
  ],
  'page-15': [
    [
      'apps/payment-pages/src/payment-pages-edge.spec.ts',
      'are those of an API key, for each link whatever the address is',
    ],
    ['apps/payment-pages/src/payment-pages-edge.spec.ts', 'are off with 0'],
  ],
  'path-3': [
    [
      'apps/payment-pages/src/payment-pages.pg.spec.ts',
      'a request is opened, submitted and followed by its link, and each visit is recorded',
    ],
  ],
  'limit-14': [
    [
      'apps/payment-pages/src/payment-pages-edge.spec.ts',
      'are those of an API key, for each link whatever the address is',
    ],
  ],
};
