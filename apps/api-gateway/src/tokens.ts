/** What the gateway's module provides by interface. */
export const PAYMENTS_QUERY = Symbol('PaymentsQuery');
export const DIRECTORY_QUERY = Symbol('DirectoryQuery');
/** What checkWebhookUrl needs beside the URL. */
export const WEBHOOK_URL_OPTIONS = Symbol('WebhookUrlOptions');
