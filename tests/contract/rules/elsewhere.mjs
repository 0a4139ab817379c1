/** Rules that tests outside the contract suite prove, alone or together with a contract test. */

export const elsewhere = {
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
      'libs/commands/src/payment-links/payment-links.spec.ts',
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
      'libs/commands/src/payment-links/payment-links.spec.ts',
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
      'that asks for %s s by Retry-After gets the delivery then, or after an hour at most',
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
