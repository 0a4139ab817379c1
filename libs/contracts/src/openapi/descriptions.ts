/** What the records and fields mean, for people. A field's name means the same wherever it occurs. */

export const describedSchemas: Readonly<Record<string, string>> = {
  ContactCreateRequest: 'An INDIVIDUAL needs firstName and lastName, a BUSINESS companyName.',
  ContactPatchRequest: 'An absent field stays as it is; null clears it.',
  OriginatorPatchRequest:
    'An absent field stays as it is; null clears it. An originator is never without a bank account.',
  BankAccountRequest: 'A bank account as it is sent: the only place where full numbers occur.',
  BankAccount: 'A bank account as it is shown: numbers masked, the last four characters visible.',
  LegalAddress: 'All five fields or none. In the US a two-letter state and a five-digit ZIP code.',
  Payment:
    'One transfer between an originator and a contact. It keeps both as they were at creation.',
  PaymentListItem:
    'A payment without bank accounts, failureReason and returnReasonCode, which the single read has.',
  Party: 'An originator or contact as it was when the payment was created.',
  PartyWithAccount: 'An originator or contact as it was when the payment was created.',
  WebhookEndpoint: 'Where notifications are delivered, and which.',
  CreatedWebhookEndpoint: 'The only answer that ever shows the secret.',
  WebhookTestRequest: 'Without an event type a TEST event is sent.',
  Statement: 'A monthly statement of an originator, a PDF.',
  Problem: 'One thing wrong with a request. All are reported at once; a field can appear twice.',
  PaymentEvent:
    'The envelope of a payment event. Ignore fields, and event types, that you do not know.',
  PaymentEventData:
    'The payment as the single read showed it at the moment of the transition, and the status before it. Frozen: a retry carries the same.',
};

/** By field, or by `Schema.field` where a schema has more to say. */
export const describedFields: Readonly<Record<string, string>> = {
  originatorId: 'Your own party of the transfer.',
  contactId: 'The party on the other side.',
  entityType: 'A person or a company.',
  firstName: 'Of an INDIVIDUAL; optional for a BUSINESS.',
  lastName: 'Of an INDIVIDUAL; optional for a BUSINESS.',
  companyName: 'Of a BUSINESS; null for an INDIVIDUAL.',
  phoneNumber: 'International format (E.164).',
  state: 'Two letters in the US.',
  postalCode: 'Five digits in the US.',
  countryCode: 'Two letters (ISO 3166-1).',
  achRoutingNumber: 'ABA routing number.',
  'BankAccountRequest.achRoutingNumber': 'ABA routing number: nine digits with a valid checksum.',
  swiftCode: 'BIC (ISO 9362).',
  bankName: 'From the routing directory.',
  paymentAmount: 'Minor units (cents for USD); never signed.',
  discountFee: 'Minor units. Fees are not deducted from the payment but collected apart.',
  flatFee: 'Minor units. Fees are not deducted from the payment but collected apart.',
  returnFee: 'Minor units. Charged when the payment is returned.',
  currencyCode: 'ISO 4217; at present USD.',
  paymentRail: 'The rail that was chosen at creation.',
  direction:
    'From the originator’s point of view: OUTBOUND pays the contact, INBOUND collects from it.',
  paymentNote: 'Free text attached to the payment.',
  externalPaymentId: 'A label of your own; neither unique nor used for idempotency.',
  completedAt: 'When it was handed off to the payment network.',
  returnedAt: 'When the receiving bank returned it.',
  failureCode: 'Branch on this, not on the texts. Set when status is FAILED.',
  failureMessage: 'What to do about it; for data failures it names the rejected field.',
  failureReason:
    'For people; set when status is FAILED or FAILED_IN_FLIGHT. The wording may change.',
  returnReasonCode: 'The bank’s return code when status is RETURNED; null too when it gave none.',
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
  subscribedEvents:
    'payment.* takes in all payment events, future ones too. At most five endpoints per event type.',
  'WebhookPatchRequest.subscribedEvents':
    'Replaces the whole subscription; empty unsubscribes from everything.',
  label: 'For you; it has no effect on delivery.',
  enabled: 'Whether events are delivered. What occurs while it is false is never delivered.',
  secret: 'The key of the signature, as it is shown: its 64 characters. Shown this once.',
  success: 'Whether the endpoint answered with a 2xx status.',
  statusCode: 'What the endpoint answered; null when no answer arrived.',
  durationMs: 'Milliseconds.',
  sizeBytes: 'Of the PDF.',
  sha256: 'Of the PDF.',
  timestamp: 'When the answer was made.',
  limit: 'Items a page.',
  nextCursor: 'Pass it as cursor for the next page; null on the last.',
  'ListMeta.pagination': 'There only when the list was asked for with limit or cursor.',
  code: 'Branch on this.',
  'error.message': 'For people; the wording may change.',
  details: 'What is wrong with the request, or differs from the first one.',
  'Problem.field':
    'Dotted path in the body, or the name of the parameter; empty for the body as a whole.',
  issue: 'A stable validation_* code, or a description where the rule has none.',
  'Problem.message': 'For people; the wording may change.',
  'PaymentEvent.id': 'The same across retries: deduplicate on it.',
  'StatementEvent.id': 'The same across retries: deduplicate on it.',
  version: 'Of the envelope’s schema, at present 1.',
  'PaymentEvent.createdAt': 'When the transition happened; fixed across retries.',
  'StatementEvent.createdAt': 'When this attempt was signed.',
  synthetic: 'True for test deliveries, which refer to nothing in your account.',
};
