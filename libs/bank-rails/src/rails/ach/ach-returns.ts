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
 * A return proves that the bank had accepted the entry, acknowledged or not. The bank may repeat it. A second return of an
 * entry is another one by its trace number or its reason (a mistake of the bank, which may take the money twice, or a
 * contested dishonored return). It has no status: staff see it.
 */
export async function applyReturns(
  client: pg.ClientBase,
  bank: string,
  returns: readonly ReturnedEntry[],
): Promise<readonly AchReport[]> {
  const traces = returns.map(({ addenda }) => addenda.originalTraceNumber);
  const known = await entriesByTrace(client, bank, traces);
  const reports: AchReport[] = [];
  const told: Told[] = [];
  const toldOf = new Map<string, readonly string[]>();
  for (const returned of returns) {
    const trace = returned.addenda.originalTraceNumber;
    const { traceNumber: returnReference } = returned;
    const returnReasonCode = returned.addenda.reason;
    const report = { type: 'returned', returnReasonCode, returnReference } as const;
    const entry = known.get(trace);
    if (entry === undefined || !isReturnOf(returned, entry)) {
      reports.push({ ...report, reference: unmatchedTrace(trace) });
      continue;
    }
    const { reference } = entry;
    const as = toldAs(returned);
    const earlier = toldOf.get(reference) ?? entry.returnsTold;
    if (earlier.includes(as)) continue;
    const isFirst = entry.status !== 'returned' && earlier.length === 0;
    reports.push({ ...report, reference: isFirst ? reference : unmatchedTrace(trace) });
    told.push({ reference, as, reason: returnReasonCode });
    toldOf.set(reference, [...earlier, as]);
  }
  await noteTold(client, told);
  return reports;
}

/** A return that is in the feed. */
interface Told {
  /** Of the entry. */
  readonly reference: string;
  readonly as: string;
  readonly reason: string | null;
}

/** What tells the returns of an entry apart. */
function toldAs({ traceNumber, addenda }: ReturnedEntry): string {
  return `${traceNumber} ${addenda.reason ?? ''}`;
}

/** The first reason stays. */
async function noteTold(client: pg.ClientBase, told: readonly Told[]): Promise<void> {
  if (told.length === 0) return;
  await client.query({
    name: 'ach-entries-return',
    text: `UPDATE ach_entries e
              SET returns_told = e.returns_told || r.told,
                  return_reason_code = CASE WHEN e.status IN ('filed', 'accepted') THEN r.reasons[1]
                                            ELSE e.return_reason_code END,
                  status = CASE WHEN e.status IN ('filed', 'accepted') THEN 'returned' ELSE e.status END
             FROM (SELECT reference, array_agg(told ORDER BY place) AS told,
                          array_agg(reason ORDER BY place) AS reasons
                     FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY
                            AS r (reference, told, reason, place)
                    GROUP BY reference) r
            WHERE e.reference = r.reference`,
    values: [
      told.map(({ reference }) => reference),
      told.map(({ as }) => as),
      told.map(({ reason }) => reason),
    ],
  });
}

/** A trace number alone may be that of another entry: of an older one, or after the database was restored. */
function isReturnOf({ amountMinor, individualId }: ReturnedEntry, entry: KnownEntry): boolean {
  return hasIdOf(individualId, entry) && amountMinor === entry.amountMinor;
}
