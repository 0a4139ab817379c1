export type { Audit, Checkpoint, PaymentProof } from './audit.js';
export { PisClient } from './client.js';
export type { Contacts, Originators } from './directory.js';
export {
  type ErrorCode,
  PisAbortError,
  PisApiError,
  PisError,
  PisNetworkError,
  PisRequestError,
  PisTimeoutError,
  PisWebhookError,
  type Problem,
} from './errors.js';
export type { Exports } from './exports.js';
export type * from './export-types.js';
export type { ListOptions } from './pages.js';
export type { PaymentCreateOptions, PaymentGetOptions, Payments, Sandbox } from './payments.js';
export type { Rails } from './rails.js';
export type { Statements } from './statements.js';
export type { PisClientOptions, RequestOptions } from './transport.js';
export type * from './types.js';
export { verifyWebhook, type VerifyWebhookOptions, type WebhookHeaders } from './verify-webhook.js';
export type * from './webhook-types.js';
export type { Events, Webhooks } from './webhooks.js';
