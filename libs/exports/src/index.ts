/** Exports: requests, the worker that writes their files, and the files. */
export * from './csv.js';
export {
  type ExportRecord,
  exportRequestOf,
  exportRequests,
  type ExportRequests,
  exportView,
  openExportsMax,
} from './export-table.js';
export { type ExportDownload, ExportDownloads } from './export-downloads.js';
export { type ExportFigures, exportFigures } from './export-figures.js';
export { ExportFiles, type FileRange } from './export-files.js';
export { ExportWorker, type ExportWorkerOptions } from './export-worker.js';
export { pieceSources } from './pieces.js';
export { paymentHeader, paymentValues } from './kinds/payment-fields.js';
export { releasePersonalExports } from './export-erasure.js';
