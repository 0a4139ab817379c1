/** What returns do to the entries, in the transaction that records their file. See ach-answers.ts. */
import type pg from 'pg';
import { type AchReport, unmatchedTrace } from './ach-feed.js';
import { entriesByTrace, hasIdOf, type KnownEntry } from './ach-known.js';
import type { ReturnAddenda } from './nacha-file.js';

/** One return of an inbound file. */
export interface ReturnedEntry {
  readonly addenda: ReturnAddenda;
  readonly amountMinor: number;
  /** Repeats the original's. Empty where the bank leaves it out. */
  readonly individualId: string;
  /** Of the return itself: the returning bank's. */
  readonly traceNumber: string;
}

/**
 * A return proves that the bank had accepted the entry, acknowledged or not. A second return with another reason
 * (a contested dishonored return, or a mistake) has no status: staff see it.
 */
export async function applyReturns(
  client: pg.ClientBase,
  bank: string,
  returns: readonly ReturnedEntry[],
): Promise<readonly AchReport[]> {
  const traces = returns.map(({ addenda }) => addenda.originalTraceNumber);
  const known = await entriesByTrace(client, bank, traces);
  const reports: AchReport[] = [];
  const reasons = new Map<string, string | null>();
  for (const returned of returns) {
    const trace = returned.addenda.originalTraceNumber;
    const returnReasonCode = returned.addenda.reason;
    const entry = known.get(trace);
    const isSecond = entry?.status === 'returned' || reasons.has(entry?.reference ?? '');
    if (entry === undefined || !isReturnOf(returned, entry)) {
      reports.push({ reference: unmatchedTrace(trace), type: 'returned', returnReasonCode });
    } else if (isSecond) {
      const first = reasons.get(entry.reference) ?? entry.returnReasonCode;
      if (first !== returnReasonCode)
        reports.push({ reference: unmatchedTrace(trace), type: 'returned', returnReasonCode });
    } else {
      reasons.set(entry.reference, returnReasonCode);
      const { traceNumber: returnReference } = returned;
      const { reference } = entry;
      reports.push({ reference, type: 'returned', returnReasonCode, returnReference });
    }
  }
  await client.query({
    name: 'ach-entries-return',
    text: `UPDATE ach_entries e SET status = 'returned', return_reason_code = r.reason
             FROM unnest($1::text[], $2::text[]) AS r (reference, reason)
            WHERE e.reference = r.reference AND e.status IN ('filed', 'accepted')`,
    values: [[...reasons.keys()], [...reasons.values()]],
  });
  return reports;
}

/** A trace number alone may be that of another entry: of an older one, or after the database was restored. */
function isReturnOf({ amountMinor, individualId }: ReturnedEntry, entry: KnownEntry): boolean {
  return hasIdOf(individualId, entry) && amountMinor === entry.amountMinor;
}
