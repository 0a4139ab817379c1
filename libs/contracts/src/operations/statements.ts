/** Statements. Each operation is declared once: see operation.ts. */
import * as examples from '../openapi/examples.js';
import { statementListSchema } from '../statement-requests.js';
import * as responses from '../responses.js';
import { first, onQuery, onRecord, operation, readers } from './operation.js';

const onStatement = {
  name: 'statementId',
  of: 'statement',
  example: examples.statementId,
} as const;

export const listStatements = operation({
  method: 'GET',
  path: '/v1/statements',
  access: readers,
  operationId: 'listStatements',
  tag: 'Statements',
  summary: 'List statements',
  description:
    'Newest first. Without `limit` and `cursor` the list is complete. With one of them it has pages.',
  query: statementListSchema,
  answers: {
    200: {
      description: 'The statements of your organization, of an originator or of a year.',
      data: responses.statementSchema,
      list: responses.listMetaSchema,
      examples: { statements: [examples.statement] },
    },
  },
  links: ['getStatement', 'getStatementPdf'].map((to) => ({
    to,
    parameters: { statementId: first('statementId') },
  })),
  errors: onQuery,
});

export const getStatement = operation({
  method: 'GET',
  path: '/v1/statements/{statementId}',
  access: readers,
  operationId: 'getStatement',
  tag: 'Statements',
  summary: 'Get a statement',
  ids: [onStatement],
  answers: {
    200: {
      description: 'The statement.',
      data: responses.statementSchema,
      examples: { statement: examples.statement },
    },
  },
  errors: onRecord,
});

export const getStatementPdf = operation({
  method: 'GET',
  path: '/v1/statements/{statementId}/pdf',
  access: readers,
  operationId: 'getStatementPdf',
  tag: 'Statements',
  summary: 'Get the PDF of a statement',
  description:
    'Takes `Range` and `If-None-Match`; the ETag is the SHA-256 of the document. The PDF of an individual originator that was erased is not found any more.',
  ids: [onStatement],
  answers: { 200: { description: 'The document.', mediaTypes: ['application/pdf'] } },
  errors: [...onRecord, 'RANGE_NOT_SATISFIABLE'],
});
