/** Exports. Each operation is declared once: see operation.ts. */
import * as examples from '../openapi/examples.js';
import { exportCreateSchema, exportListSchema } from '../export-requests.js';
import { exportFiles } from '../export-view.js';
import * as responses from '../responses.js';
import {
  answered,
  first,
  type Link,
  onBody,
  onQuery,
  onRecord,
  operation,
  readers,
  writers,
} from './operation.js';

const onExport = { name: 'exportId', of: 'export', example: examples.exportId } as const;

const toExport = (exportId: string): readonly Link[] =>
  ['getExport', 'getExportFile', 'cancelExport'].map((to) => ({ to, parameters: { exportId } }));

export const createExport = operation({
  method: 'POST',
  path: '/v1/exports',
  access: writers,
  operationId: 'createExport',
  tag: 'Exports',
  summary: 'Create an export',
  description:
    'Begins writing a file of your records. It has what was created by the time of this request, newest first in csv and jsonl, each record as it was when it was written. Poll the export until its status is `completed`. At most 5 exports of an organization are queued or running at a time; more are a 409. A repeated request begins another export.',
  body: exportCreateSchema,
  examples: { payments: examples.exportRequest },
  answers: {
    202: {
      description: 'Accepted.',
      data: responses.exportCreatedSchema,
      examples: { queued: { exportId: examples.exportId, status: 'queued' } },
    },
  },
  links: toExport(answered('exportId')),
  errors: [...onBody, 'NOT_FOUND', 'CONFLICT'],
});

export const listExports = operation({
  method: 'GET',
  path: '/v1/exports',
  access: readers,
  operationId: 'listExports',
  tag: 'Exports',
  summary: 'List exports',
  query: exportListSchema,
  answers: {
    200: {
      description: 'A page of exports, newest first. Exports that ended are listed for 30 days.',
      data: responses.exportSchema,
      list: responses.pageMetaSchema,
      examples: { page: [examples.completedExport] },
    },
  },
  links: toExport(first('exportId')),
  errors: onQuery,
});

export const getExport = operation({
  method: 'GET',
  path: '/v1/exports/{exportId}',
  access: readers,
  operationId: 'getExport',
  tag: 'Exports',
  summary: 'Get an export',
  ids: [onExport],
  answers: {
    200: {
      description: 'The export and its progress.',
      data: responses.exportSchema,
      examples: { completed: examples.completedExport },
    },
  },
  errors: onRecord,
});

export const getExportFile = operation({
  method: 'GET',
  path: '/v1/exports/{exportId}/file',
  access: readers,
  operationId: 'getExportFile',
  tag: 'Exports',
  summary: 'Get the file of an export',
  description:
    'Available while the status is `completed`; otherwise a 409. The ETag is the SHA-256 of the file. `Range` takes one range of bytes, and `If-Range` and `If-None-Match` are supported, so a download that broke off can go on. The file is kept for 7 days. Of an organization, the 20 newest files are kept.',
  ids: [onExport],
  answers: {
    200: {
      description: 'The file.',
      mediaTypes: Object.values(exportFiles).map(({ mediaType }) => mediaType),
    },
  },
  errors: [...onRecord, 'CONFLICT', 'RANGE_NOT_SATISFIABLE'],
});

export const cancelExport = operation({
  method: 'POST',
  path: '/v1/exports/{exportId}/cancel',
  access: writers,
  operationId: 'cancelExport',
  tag: 'Exports',
  summary: 'Cancel an export',
  description: 'Ends an export and deletes its file, also a complete one. Safe to repeat.',
  ids: [onExport],
  answers: {
    200: {
      description: 'The export.',
      data: responses.exportSchema,
      examples: { canceled: examples.canceledExport },
    },
  },
  errors: [...onRecord, 'CONFLICT'],
});
