/** Exports that are written in the background: requests, and their files. */
import { exportCreateSchema, exportListSchema, type ExportView } from '@pis/contracts';
import { op } from '../operation.js';

export interface ExportItem extends ExportView {
  /** Null if nobody downloaded the file in the dashboard. */
  readonly lastDownload: {
    readonly at: string;
    /** Null for a user who was erased. */
    readonly email: string | null;
    /** Downloads so far. */
    readonly count: number;
  } | null;
}

export const exportFileOperations = {
  /** The newest first. */
  listExports: op<readonly ExportItem[]>()({
    method: 'GET',
    path: '/exports',
    role: 'viewer',
    query: exportListSchema,
  }),
  createExport: op<ExportView>()({
    method: 'POST',
    path: '/exports',
    role: 'operator',
    body: exportCreateSchema,
  }),
  /** Ends one that is not complete, and deletes the file of one that is. */
  cancelExport: op<ExportView>()({
    method: 'POST',
    path: '/exports/:exportId/cancel',
    role: 'operator',
  }),
  /** The file, or a range of it. Each download is recorded. */
  downloadExport: op<never>()({
    method: 'GET',
    path: '/exports/:exportId/file',
    role: 'viewer',
    isStream: true,
    isRecorded: true,
  }),
} as const;
