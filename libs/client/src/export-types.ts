/** Exports as the API takes and shows them. */

export type ExportKind = 'payments' | 'fees' | 'deliveries' | 'movements';
/** `bai2` and `camt053` are for movements only. */
export type ExportFormat = 'csv' | 'jsonl' | 'bai2' | 'camt053';
export type ExportStatus = 'queued' | 'running' | 'completed' | 'failed' | 'canceled' | 'expired';

export interface ExportCreateRequest {
  readonly kind: ExportKind;
  readonly format: ExportFormat;
  /** ISO 8601, inclusive. A date alone is the start of that UTC day in `from`, its end in `to`. */
  readonly from?: string | null | undefined;
  readonly to?: string | null | undefined;
  readonly originatorId?: string | null | undefined;
}

export interface ExportCreated {
  readonly exportId: string;
  readonly status: ExportStatus;
}

export interface Export extends ExportCreated {
  readonly kind: ExportKind;
  readonly format: ExportFormat;
  readonly from: string | null;
  readonly to: string | null;
  readonly originatorId: string | null;
  /** Records written so far. */
  readonly rows: number;
  /** Written so far. */
  readonly sizeBytes: number;
  /** Of the whole file, 64 hexadecimal characters. Null until it is complete. */
  readonly sha256: string | null;
  /** From 0 to 1. Estimated until the export is complete. */
  readonly progress: number;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** When the file is deleted. Null without a file. */
  readonly expiresAt: string | null;
  /** Why it failed or expired. */
  readonly reason: string | null;
}
