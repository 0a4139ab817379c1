export * from './topics.js';
export * from './payment-view.js';
export * from './directory-view.js';
export * from './integration-events.js';
export * from './error-codes.js';
export {
  problem,
  validate,
  type Validated,
  type ValidationCode,
  validationCodes,
} from './validation.js';
export { type BankAccountRequest, uuid as idSchema } from './fields.js';
export * from './party-requests.js';
export * from './payment-requests.js';
export {
  webhookCreateSchema,
  type WebhookCreateRequest,
  webhookPatchSchema,
  type WebhookPatchRequest,
  webhookTestSchema,
  type WebhookTestRequest,
} from './webhook-requests.js';
export * from './delivery-requests.js';
export * from './delivery-view.js';
export * from './sample-events.js';
export * from './statement-requests.js';
export { openApiDocument, type OpenApiOptions } from './openapi/document.js';
