/** The audit log. Each operation is declared once: see operation.ts. */
import { checkpointListSchema, consistencySchema } from '../audit-requests.js';
import * as examples from '../openapi/examples.js';
import * as responses from '../responses.js';
import { onAny, onQuery, onRecord, operation, readers } from './operation.js';

export const getAuditKey = operation({
  method: 'GET',
  path: '/v1/audit/key',
  access: readers,
  operationId: 'getAuditKey',
  tag: 'Audit',
  summary: 'Get the verifier key',
  description: 'The public key of the checkpoints, as C2SP signed-note writes it.',
  answers: {
    200: {
      description: 'The key that signs now.',
      data: responses.auditKeySchema,
      examples: { key: { verifierKey: examples.verifierKey } },
    },
  },
  errors: onAny,
});

export const listCheckpoints = operation({
  method: 'GET',
  path: '/v1/audit/checkpoints',
  access: readers,
  operationId: 'listCheckpoints',
  tag: 'Audit',
  summary: 'List checkpoints',
  description:
    'Newest first. A checkpoint signs the whole log, with the events of all organizations, and shows nothing but its size and a hash. Keep some of them: a log that was changed is not consistent with them.',
  query: checkpointListSchema,
  answers: {
    200: {
      description: 'A page of checkpoints.',
      data: responses.checkpointSchema,
      list: responses.pageMetaSchema,
      examples: { page: [examples.checkpoint] },
    },
  },
  errors: onQuery,
});

export const getConsistency = operation({
  method: 'GET',
  path: '/v1/audit/consistency',
  access: readers,
  operationId: 'getConsistency',
  tag: 'Audit',
  summary: 'Prove two checkpoints consistent',
  description:
    'The consistency proof of RFC 6962: the log of `to` events begins with the log of `from` events.',
  query: consistencySchema,
  answers: {
    200: {
      description: 'The proof. It is empty for equal sizes.',
      data: responses.consistencySchema,
      examples: { proof: { proof: [examples.checkpoint.rootHash] } },
    },
  },
  errors: onQuery,
});

export const getPaymentProof = operation({
  method: 'GET',
  path: '/v1/payments/{paymentId}/proof',
  access: readers,
  operationId: 'getPaymentProof',
  tag: 'Audit',
  summary: 'Prove the events of a payment',
  description:
    'Inclusion proofs (RFC 6962) of all events of the payment under one checkpoint. If no checkpoint covers the latest event yet, one is signed first, which takes a few seconds. Leaves hold no personal data: proofs stay valid when personal data is erased.',
  ids: [{ name: 'paymentId', of: 'payment', example: examples.paymentId }],
  answers: {
    200: {
      description: 'The checkpoint and the proofs.',
      data: responses.paymentProofSchema,
      examples: { proof: examples.paymentProof },
    },
  },
  errors: onRecord,
});
