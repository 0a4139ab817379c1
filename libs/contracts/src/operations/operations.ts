/** Every operation of the API, in the order of the reference. */
import * as audit from './audit.js';
import * as deliveries from './deliveries.js';
import * as exports from './exports.js';
import type { OperationDeclaration } from './operation.js';
import * as parties from './parties.js';
import * as payments from './payments.js';
import * as rails from './rails.js';
import * as statements from './statements.js';
import * as webhooks from './webhooks.js';

export const operations: readonly OperationDeclaration[] = [
  parties.listOriginators,
  parties.updateOriginator,
  parties.createContact,
  parties.listContacts,
  parties.updateContact,
  payments.createPayment,
  payments.getPayment,
  payments.listPayments,
  rails.evaluateRails,
  payments.simulatePayment,
  webhooks.createWebhook,
  webhooks.listWebhooks,
  webhooks.getWebhook,
  webhooks.updateWebhook,
  webhooks.deleteWebhook,
  webhooks.testWebhook,
  webhooks.rotateWebhookSecret,
  deliveries.listWebhookDeliveries,
  deliveries.getWebhookDelivery,
  deliveries.redeliverWebhookDelivery,
  deliveries.replayWebhook,
  deliveries.getWebhookReplay,
  deliveries.listEvents,
  statements.listStatements,
  statements.getStatement,
  statements.getStatementPdf,
  exports.createExport,
  exports.listExports,
  exports.getExport,
  exports.getExportFile,
  exports.cancelExport,
  audit.getAuditKey,
  audit.listCheckpoints,
  audit.getConsistency,
  audit.getPaymentProof,
];
