export * from './topics.js';
export * from './broker-access.js';
export * from './payment-view.js';
export * from './fee-schedules.js';
export * from './rail-view.js';
export * from './settlement-account.js';
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
export {
  type BankAccountRequest,
  email as emailSchema,
  text as textSchema,
  uuid as idSchema,
} from './fields.js';
export * from './link-requests.js';
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
export * from './export-requests.js';
export * from './export-view.js';
export * from './audit-requests.js';
export * from './operations/audit.js';
export * from './operations/parties.js';
export * from './operations/payments.js';
export * from './operations/rails.js';
export * from './operations/webhooks.js';
export * from './operations/deliveries.js';
export * from './operations/statements.js';
export * from './operations/exports.js';
export {
  type BodyOf,
  type DataOf,
  type OperationDeclaration,
  type QueryOf,
} from './operations/operation.js';
export { operations } from './operations/operations.js';
export { openApiDocument, type OpenApiOptions } from './openapi/document.js';
export { asyncApiDocument } from './asyncapi/document.js';
export { jsonSchemaOf, publishedEvents, type PublishedEvent } from './asyncapi/published-events.js';
