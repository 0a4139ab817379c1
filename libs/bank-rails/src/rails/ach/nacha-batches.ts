/** Puts entries into batches and batches into files, within what the control fields of both can hold. */
import {
  batchRecordsMax,
  type BatchTerms,
  fileAmountMaxMinor,
  type NachaEntry,
  type StandardEntryClass,
} from './nacha-file.js';
import { noTotals, type NachaTotals, plusEntry } from './nacha-totals.js';

export interface FileLimits {
  /** Entry and addenda records of a file. */
  readonly recordsMax: number;
  /** Debits, and likewise credits, of a file. At most fileAmountMaxMinor. */
  readonly amountMaxMinor: number;
}

/** A batch never has more records than its file: so a batch is never split within a file. */
const defaultFileLimits: FileLimits = {
  recordsMax: 200_000,
  amountMaxMinor: fileAmountMaxMinor,
};

export interface EntryOfBatch<Entry extends NachaEntry = NachaEntry> {
  readonly batch: BatchTerms;
  readonly entry: Entry;
}

/** A NachaBatch whose entries are the caller's own objects. */
export interface BatchOf<Entry extends NachaEntry> extends BatchTerms {
  readonly entries: readonly Entry[];
}

/**
 * The batches of as many files as are needed. Entries whose terms are all equal share a batch, but payments, returns,
 * dishonored and contested returns never share one. A file takes entries
 * in the given order until the next one would exceed a limit.
 * @throws RangeError if the limits exceed what the format can hold
 */
export function groupIntoFiles<Entry extends NachaEntry>(
  items: Iterable<EntryOfBatch<Entry>>,
  limits: FileLimits = defaultFileLimits,
): BatchOf<Entry>[][] {
  if (limits.recordsMax > batchRecordsMax || limits.amountMaxMinor > fileAmountMaxMinor)
    throw new RangeError('a NACHA file cannot hold that much');
  const files: Map<string, { terms: BatchTerms; entries: Entry[] }>[] = [];
  let totals = noTotals;
  for (const { batch, entry } of items) {
    const extended = plusEntry(totals, entry);
    const isFull = files.length === 0 || exceeds(extended, limits);
    totals = isFull ? plusEntry(noTotals, entry) : extended;
    if (isFull) files.push(new Map());
    const file = files.at(-1);
    const key = keyOf(batch, entry);
    const group = file?.get(key) ?? { terms: batch, entries: [] };
    group.entries.push(entry);
    file?.set(key, group);
  }
  return files.map((file) =>
    [...file.values()].map(({ terms, entries }) => ({ ...terms, entries: inOrder(entries) })),
  );
}

/** What decides about the standard entry class of a payment. */
export interface ClassQuestion {
  /** From the originator's point of view: an inbound payment is a debit. */
  readonly direction: 'INBOUND' | 'OUTBOUND';
  readonly originatorIsPerson: boolean;
  readonly contactIsPerson: boolean;
  /** PPD: authorized in writing. WEB: authorized online. */
  readonly consumerDebits: 'PPD' | 'WEB';
}

/**
 * CCD for accounts of businesses. For accounts of persons PPD, except that debits authorized online and credits
 * from person to person are WEB (Nacha Operating Rules, Subsections 2.5.3, 2.5.13 and 2.5.18).
 */
export function standardEntryClassOf(question: ClassQuestion): Exclude<StandardEntryClass, 'COR'> {
  if (!question.contactIsPerson) return 'CCD';
  if (question.direction === 'INBOUND') return question.consumerDebits;
  return question.originatorIsPerson ? 'WEB' : 'PPD';
}

function exceeds(totals: NachaTotals, { recordsMax, amountMaxMinor }: FileLimits): boolean {
  return (
    totals.records > recordsMax || Math.max(totals.debitMinor, totals.creditMinor) > amountMaxMinor
  );
}

function keyOf(terms: BatchTerms, { addenda }: NachaEntry): string {
  return JSON.stringify([
    terms.standardEntryClass,
    terms.companyName,
    terms.companyId,
    terms.companyDiscretionaryData,
    terms.entryDescription,
    terms.descriptiveDate,
    terms.effectiveDate,
    terms.settlementDay,
    terms.odfi,
    addenda === null || addenda.kind === 'payment' ? 'forward' : addenda.kind,
  ]);
}

/** Traces ascend within a batch. */
function inOrder<Entry extends NachaEntry>(entries: Entry[]): Entry[] {
  const isInOrder = entries.every(
    ({ traceNumber }, index) => traceNumber > (entries[index - 1]?.traceNumber ?? ''),
  );
  if (isInOrder) return entries;
  return entries.sort((one, other) => (one.traceNumber < other.traceNumber ? -1 : 1));
}
