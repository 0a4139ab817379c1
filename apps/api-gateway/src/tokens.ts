/** What the gateway's module provides by interface. */
export const PAYMENTS_QUERY = Symbol('PaymentsQuery');
export const DIRECTORY_QUERY = Symbol('DirectoryQuery');
export const EVENTS_QUERY = Symbol('EventsQuery');
export const DELIVERY_LOG = Symbol('DeliveryLog');
export const REPLAY_REQUESTS = Symbol('ReplayRequests');
/** For how long a delivery that is sent again is retried. */
export const RETRY_WINDOWS = Symbol('RetryWindows');
/** Where the API reference says the API is. */
export const OPENAPI_OPTIONS = Symbol('OpenApiOptions');
