/** What the gateway's module provides by interface. */
export const PAYMENTS_QUERY = Symbol('PaymentsQuery');
export const DIRECTORY_QUERY = Symbol('DirectoryQuery');
/** What checkWebhookUrl needs beside the URL. */
export const WEBHOOK_URL_OPTIONS = Symbol('WebhookUrlOptions');
/** Where the API reference says the API is. */
export const OPENAPI_OPTIONS = Symbol('OpenApiOptions');
