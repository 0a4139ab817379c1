/** Tokens for the providers of the gateway's module. */
export const PAYMENTS_QUERY = Symbol('PaymentsQuery');
export const DIRECTORY_QUERY = Symbol('DirectoryQuery');
export const EVENTS_QUERY = Symbol('EventsQuery');
/** The store of documents. */
export const DOCUMENTS = Symbol('DocumentStore');
export const DELIVERY_LOG = Symbol('DeliveryLog');
export const EXPORT_REQUESTS = Symbol('ExportRequests');
export const REPLAY_REQUESTS = Symbol('ReplayRequests');
/** The retry windows of deliveries that are sent again. */
export const RETRY_WINDOWS = Symbol('RetryWindows');
/** What PIS_BANKS_FILE says. */
export const CONFIGURED_BANKS = Symbol('ConfiguredBanks');
/** The addresses that webhooks may reach. */
export const WEBHOOK_EGRESS = Symbol('WebhookEgress');
/** The rails with a bank, and its cutoffs. */
export const OFFERED_RAILS = Symbol('OfferedRails');
export const ROUTING_DIRECTORY = Symbol('RoutingDirectory');
/** The address of the API in the reference. */
export const OPENAPI_OPTIONS = Symbol('OpenApiOptions');
