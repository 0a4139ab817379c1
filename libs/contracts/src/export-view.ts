/** How exports are shown, and which there are. */

export const exportKinds = ['payments', 'fees', 'deliveries', 'movements'] as const;
export type ExportKind = (typeof exportKinds)[number];

export const exportFormats = ['csv', 'jsonl', 'bai2', 'camt053'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** The formats of banks have room for movements only (rule export-5). */
export const formatsOf: Readonly<Record<ExportKind, readonly ExportFormat[]>> = {
  payments: ['csv', 'jsonl'],
  fees: ['csv', 'jsonl'],
  deliveries: ['csv', 'jsonl'],
  movements: exportFormats,
};

/**
 * `expired`: the file was complete and is gone. Its time had ended, there were newer ones, or it held personal data
 * that was erased.
 */
export const exportStatuses = [
  'queued',
  'running',
  'completed',
  'failed',
  'canceled',
  'expired',
] as const;
export type ExportStatus = (typeof exportStatuses)[number];

export interface ExportCreatedView {
  readonly exportId: string;
  readonly status: ExportStatus;
}

export interface ExportView extends ExportCreatedView {
  readonly kind: ExportKind;
  readonly format: ExportFormat;
  /** ISO 8601, as all times here. As requested; null for no bound. */
  readonly from: string | null;
  readonly to: string | null;
  readonly originatorId: string | null;
  /** Records written so far. */
  readonly rows: number;
  /** Written so far. */
  readonly sizeBytes: number;
  /** Of the whole file, hex. Null until it is complete. */
  readonly sha256: string | null;
  /** From 0 to 1. Estimated until the export is complete. */
  readonly progress: number;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** When the file is deleted. Null without a file. */
  readonly expiresAt: string | null;
  /** Why it failed or expired. A text for people. */
  readonly reason: string | null;
}

/** The media type and the extension of the file. */
export const exportFiles = {
  csv: { mediaType: 'text/csv', extension: 'csv' },
  jsonl: { mediaType: 'application/jsonl', extension: 'jsonl' },
  bai2: { mediaType: 'text/plain', extension: 'bai' },
  camt053: { mediaType: 'application/xml', extension: 'xml' },
} as const satisfies Record<ExportFormat, { mediaType: string; extension: string }>;
