/** What the records and fields mean, for people. A field's name means the same wherever it occurs. */

export const describedSchemas: Readonly<Record<string, string>> = {
  ContactCreateRequest: 'An INDIVIDUAL needs firstName and lastName, a BUSINESS companyName.',
  ContactPatchRequest: 'An absent field stays as it is; null clears it.',
  OriginatorPatchRequest:
    'An absent field stays as it is; null clears it. An originator is never without a bank account.',
  BankAccountRequest: 'A bank account in a request: the only place with full numbers.',
  BankAccount: 'A bank account in a response: masked numbers with the last four characters.',
  LegalAddress: 'All five fields or none. In the US a two-letter state and a five-digit ZIP code.',
  Payment:
    'One transfer between an originator and a contact. It keeps both parties as they were at its creation.',
  PaymentListItem:
    'A payment without bank accounts, failureReason and returnReasonCode. The single read has them.',
  Party: 'An originator or contact as it was when the payment was created.',
  PartyWithAccount: 'An originator or contact as it was when the payment was created.',
  RailEvaluation: 'The rail that a payment would take now.',
  RejectedRail: 'A rail that is not chosen, and why.',
  WebhookEndpoint: 'Where notifications are delivered, and which ones.',
  CreatedWebhookEndpoint: 'The only response that shows the secret.',
  RotatedWebhookEndpoint: 'The only response that shows the new secret.',
  WebhookRotateRequest:
    'Without overlapHours, deliveries also have the old secret’s signature for 24 hours.',
  WebhookReplayRequest:
    'Without `to`, the replay ends now. Without `eventTypes`, it sends the event types that the endpoint subscribes to now.',
  WebhookDelivery: 'The delivery of one event to one endpoint, and its result.',
  WebhookDeliveryDetail: 'A delivery with all its attempts and its payload.',
  WebhookAttempt: 'One request to the endpoint.',
  WebhookReplay: 'Past events being sent to an endpoint again.',
  Event: 'The envelope exactly as subscribed endpoints receive it.',
  WebhookTestRequest: 'Without an event type a TEST event is sent.',
  Statement: 'A monthly statement of an originator, a PDF.',
  Export: 'A file of records, and how far it is written.',
  ExportCreated: 'An export that was accepted.',
  ExportCreateRequest:
    'The formats bai2 and camt053 are for movements only. Of a payment, csv and jsonl have the fields of the list.',
  Problem: 'One problem of a request. All problems are reported at once. A field can appear twice.',
  PaymentEvent: 'The envelope of a payment event. Ignore unknown fields and event types.',
  PaymentEventData:
    'The payment as the single read showed it at the moment of the transition, and the previous status. The same in every retry.',
};

/** By field, or by `Schema.field` where a schema has more to say. */
export const describedFields: Readonly<Record<string, string>> = {
  originatorId: 'Your own party of the transfer.',
  contactId: 'The party on the other side.',
  entityType: 'A person or a company.',
  firstName: 'Required for an INDIVIDUAL, optional for a BUSINESS.',
  lastName: 'Required for an INDIVIDUAL, optional for a BUSINESS.',
  companyName: 'Required for a BUSINESS, null for an INDIVIDUAL.',
  phoneNumber: 'International format (E.164).',
  state: 'Two letters in the US.',
  postalCode: 'Five digits in the US.',
  countryCode: 'Two letters (ISO 3166-1).',
  achRoutingNumber: 'ABA routing number.',
  'BankAccountRequest.achRoutingNumber': 'ABA routing number: nine digits with a valid checksum.',
  swiftCode: 'BIC (ISO 9362).',
  bankName: 'From the routing directory.',
  erased:
    'True on a party whose personal data was erased. All its other fields but id and entityType are null. Absent otherwise.',
  paymentAmount: 'Minor units (cents for USD). Never negative.',
  discountFee:
    'Minor units. Fees are not deducted from the payment. They are collected separately.',
  flatFee: 'Minor units. Fees are not deducted from the payment. They are collected separately.',
  returnFee: 'Minor units. Charged when the payment is returned.',
  currencyCode: 'ISO 4217. Currently always USD.',
  paymentRail: 'The rail that was chosen at creation.',
  'RailEvaluation.paymentRail': 'Null if no rail can take the payment.',
  'RejectedRail.paymentRail': 'The rail.',
  achService: 'Whether an ACH entry settles on the same day. Null for other rails.',
  expectedSettlementAt: 'When the payment is expected to settle.',
  nextCutoffAt: 'By when the bank must have the payment to settle then. Null without a cutoff.',
  rejectedRails: 'Each other rail. ACH occurs once for each service.',
  'RejectedRail.code': 'Branch on this. Values may be added.',
  reason: 'A text for people. The wording may change.',
  direction:
    'From the originator’s point of view: OUTBOUND pays the contact, INBOUND collects from it.',
  paymentNote: 'Free text attached to the payment.',
  externalPaymentId: 'Your own label. It need not be unique and is not used for idempotency.',
  completedAt: 'When it was handed off to the payment network.',
  returnedAt: 'When the receiving bank returned it.',
  failureCode: 'Branch on this, not on the texts. Set when status is FAILED.',
  failureMessage: 'What to do about the failure. For invalid data it names the rejected field.',
  failureReason:
    'A text for people. Set when status is FAILED or FAILED_IN_FLIGHT. The wording may change.',
  returnReasonCode: 'The bank’s return code when status is RETURNED; null if the bank gave none.',
  'SimulateRequest.returnReasonCode': 'R01 to R85, for the outcome return.',
  'SimulateRequest.outcome':
    'complete and late_confirm lead to COMPLETED, return to RETURNED, fail to FAILED, time_out to FAILED_IN_FLIGHT.',
  'Payment.contact':
    'Null, or without its bank account, only while AWAITING_CONFIRMATION or CANCELED.',
  'PaymentEventData.contact':
    'Null, or without its bank account, only while AWAITING_CONFIRMATION or CANCELED.',
  'PaymentListItem.contact': 'Null only while AWAITING_CONFIRMATION or CANCELED.',
  previousStatus: 'Null when the payment was created directly in this status.',
  url: 'HTTPS, publicly routable, without credentials.',
  health:
    'healthy: the last attempt succeeded, or none was made. degraded: attempts fail. failing: they have failed for a day or longer. Null when it is unknown at the moment.',
  failingSince: 'The first failed attempt after the last success. Null if there is none.',
  subscribedEvents:
    'payment.* covers all payment events, including future ones. At most five endpoints per event type and 500 in total.',
  'WebhookPatchRequest.subscribedEvents':
    'Replaces the whole subscription; empty unsubscribes from everything.',
  label: 'Your own label. It has no effect on delivery.',
  enabled:
    'Whether events are delivered. Events that happen while it is false are never delivered.',
  secret: 'The signature key: these 64 characters. Shown only once.',
  overlapHours: 'How long deliveries have both signatures. 0 ends the old secret at once.',
  previousSecretEndsAt: 'Until this time, deliveries also have the old secret’s signature.',
  deliveryId: 'As in X-Webhook-Delivery.',
  webhookId: 'The endpoint.',
  eventId: 'The id of the envelope.',
  occurredAt: 'The createdAt of the envelope.',
  replayed: 'Whether a replay sent it. It then has X-Webhook-Replay: true.',
  attemptCount: 'Attempts made so far.',
  nextAttemptAt: 'The time of the next retry. Null for a finished delivery.',
  finishedReason:
    'Why it failed or was canceled: a permanent 4xx, the end of its retry window, or the deletion of its endpoint.',
  lastStatusCode: 'The last status that the endpoint returned; null if no response arrived.',
  attempt: '1 for the first attempt.',
  responseExcerpt: 'The first KiB of the response; null if there was none.',
  payload: 'The envelope.',
  'ExportCreateRequest.from': 'Records created at or after this time.',
  'ExportCreateRequest.to':
    'Records created at or before this time. By default, and at the latest, the time of the request.',
  'ExportCreateRequest.originatorId':
    'Only records of this originator. Deliveries: only those of its payments.',
  'Export.rows':
    'Records written so far, without a header. In bai2 records 16, in camt053 entries.',
  'Export.sizeBytes': 'Bytes written so far.',
  'Export.sha256': 'Of the whole file. Null until it is complete.',
  'Export.progress': 'From 0 to 1. Estimated until the export is complete.',
  'Export.expiresAt': 'When the file is deleted. Null without a file.',
  'Export.reason': 'Why the export failed or expired. A text for people.',
  'WebhookReplayRequest.from': 'Events that occurred at or after this time.',
  'WebhookReplayRequest.to': 'Events that occurred at or before this time.',
  eventTypes: 'Only these event types.',
  'WebhookReplayRequest.eventTypes':
    'Only these event types, regardless of subscriptions. payment.* covers all payment events.',
  eventsSent: 'Events for which deliveries were created so far.',
  reachedAt: 'The time of the last of these events. Null before the first one.',
  success: 'Whether the endpoint answered with a 2xx status.',
  statusCode: 'The status that the endpoint returned; null if no response arrived.',
  durationMs: 'Milliseconds.',
  sizeBytes: 'SHA-256 of the PDF, in hex.',
  sha256: 'SHA-256 of the PDF, in hex.',
  timestamp: 'When the response was created.',
  limit: 'Items in a page.',
  nextCursor: 'Pass it as cursor for the next page. Null on the last page.',
  'ListMeta.pagination': 'Present only if the request had limit or cursor.',
  code: 'Branch on this.',
  'error.message': 'A text for people. The wording may change.',
  details: 'All problems of the request. Only a VALIDATION_ERROR has it.',
  'Problem.field':
    'Dotted path in the body, or the name of the parameter. Empty for the body as a whole.',
  issue: 'A stable validation_* code, or a description if the rule has no code.',
  'Problem.message': 'A text for people. The wording may change.',
  'PaymentEvent.id': 'The same across retries: deduplicate on it.',
  'StatementEvent.id': 'The same across retries: deduplicate on it.',
  version: 'Version of the envelope’s schema. Currently 1.',
  'PaymentEvent.createdAt': 'When the transition happened. The same in every retry.',
  'StatementEvent.createdAt': 'When this attempt was signed.',
  synthetic: 'True for test deliveries, which refer to nothing in your account.',
};
