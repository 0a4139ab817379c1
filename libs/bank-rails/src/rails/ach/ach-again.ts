/** Applies an archived file of the bank again, for an operator: after a repair, or when a new release can read it. */
import type { Keyring } from '@pis/keyring';
import type pg from 'pg';
import type { ArchivedFile } from '../../connections/archive-table.js';
import { fileArchive } from '../../connections/file-archive.js';
import { AchInbound, contentOf } from './ach-inbound.js';
import type { AchLog } from './ach-tables.js';

export interface ApplyAgainOptions {
  readonly pool: pg.Pool;
  readonly keyring: Keyring;
  readonly log: AchLog;
}

/** Why nothing was applied. */
export type NotApplied = 'missing' | 'not inbound ACH' | 'erased' | 'unreadable';

export type AppliedAgain =
  | {
      readonly problem: null;
      readonly file: ArchivedFile;
      readonly kind: 'ack' | 'nacha';
      /** What the file reports beyond what the feed has. The executors record it. */
      readonly reports: number;
    }
  | { readonly problem: NotApplied; readonly message: string };

/**
 * Safe to repeat: what was applied and reported before is not again. The file keeps its place in the archive, unless
 * it was kept as unreadable: then it is kept anew as what it is.
 * @throws connection errors of PostgreSQL, StoreUnavailable: nothing has changed
 */
export async function applyAchFileAgain(
  fileId: string,
  { pool, keyring, log }: ApplyAgainOptions,
): Promise<AppliedAgain> {
  const archive = fileArchive({ pool, keyring });
  const found = await archive.read(fileId);
  if (found === null) return { problem: 'missing', message: 'no file has this ID' };
  const { file, bytes, erasedBytes } = found;
  if (file.way !== 'in' || file.rail !== 'ACH')
    return { problem: 'not inbound ACH', message: 'it is no ACH file of a bank' };
  if (erasedBytes > 0)
    return { problem: 'erased', message: `${erasedBytes} bytes of the file were erased` };
  const content = await contentOf(bytes);
  if (content.kind === 'unreadable')
    return { problem: 'unreadable', message: `the file cannot be read: ${content.problem}` };
  const { connection: bank, name } = file;
  const inbound = new AchInbound({ bank, pool, keyring, archive, log, onReports: () => undefined });
  const reports = await inbound.record(name, bytes, content, { isAgain: true });
  return { problem: null, file, kind: content.kind, reports: reports ?? 0 };
}
