/**
 * Returns and notifications of change. Received: what a file of the bank says about our entries. Sent: the entries
 * with which a bank answers ours, for the simulator and for tests. groupIntoFiles and writeNachaFile make files of them.
 */
import {
  type ChangeCode,
  correctedDataOf,
  correctedTextOf,
  type Correction,
} from './corrected-data.js';
import {
  type BatchTerms,
  type CorrectionAddenda,
  type NachaEntry,
  type NachaFile,
  type ReturnAddenda,
  transactionCodeOf,
  transactionCodes,
} from './nacha-file.js';
import type { EntryOfBatch } from './nacha-batches.js';
import { returnKindOf } from './return-reasons.js';

export interface ReceivedReturn {
  readonly batch: BatchTerms;
  /** The returning entry. Its amount is the original's. */
  readonly entry: NachaEntry;
  readonly addenda: ReturnAddenda;
}

export interface ReceivedCorrection {
  readonly batch: BatchTerms;
  readonly entry: NachaEntry;
  readonly addenda: CorrectionAddenda;
}

/** All returns in the order of the file, dishonored and contested ones included. */
export function* returnsIn(file: NachaFile): Generator<ReceivedReturn> {
  for (const batch of file.batches)
    for (const entry of batch.entries) {
      const { addenda } = entry;
      if (addenda !== null && addenda.kind !== 'payment' && addenda.kind !== 'correction')
        yield { batch, entry, addenda };
    }
}

/** All notifications of change in the order of the file. */
export function* correctionsIn(file: NachaFile): Generator<ReceivedCorrection> {
  for (const batch of file.batches)
    for (const entry of batch.entries)
      if (entry.addenda?.kind === 'correction') yield { batch, entry, addenda: entry.addenda };
}

export interface ReturnTerms {
  /** Any reason, or null to leave the field blank. The form of the addenda follows from it. */
  readonly reason: string | null;
  /** Of the returning entry. Its first eight digits are the returning bank's. */
  readonly traceNumber: string;
  /** Day of the year on which the return settles. */
  readonly settlementDay?: number | null;
  /** YYYY-MM-DD, with R14 and R15. */
  readonly dateOfDeath?: string | null;
  readonly information?: string;
}

/**
 * The entry with which a bank returns one of ours. A dishonored or contested return refers to earlier returns,
 * which here are given the same trace number.
 */
export function returnedEntry(original: EntryOfBatch, terms: ReturnTerms): EntryOfBatch {
  return sentBack(original, terms, original.batch.standardEntryClass, {
    amountMinor: original.entry.amountMinor,
    addenda: returnAddendaOf(original, terms),
  });
}

export interface CorrectionTerms {
  readonly changeCode: ChangeCode;
  readonly correction: Correction;
  /** As in ReturnTerms. */
  readonly traceNumber: string;
  readonly settlementDay?: number | null;
}

/** The notification of change that a bank sends about one of our entries. */
export function correctionEntry(original: EntryOfBatch, terms: CorrectionTerms): EntryOfBatch {
  const { changeCode, correction } = terms;
  return sentBack(original, terms, 'COR', {
    amountMinor: 0,
    addenda: {
      kind: 'correction',
      changeCode,
      originalTraceNumber: original.entry.traceNumber,
      originalRdfi: original.entry.receivingDfi.slice(0, 8),
      corrected: correctedDataOf(changeCode, correctedTextOf(changeCode, correction)),
    },
  });
}

/** @param eight the first eight digits of a routing number */
export function withCheckDigit(eight: string): string {
  const sum = [3, 7, 1, 3, 7, 1, 3, 7].reduce(
    (total, weight, index) => total + weight * Number(eight[index]),
    0,
  );
  return eight + String((10 - (sum % 10)) % 10);
}

/** A return goes to the bank that originated the entry, and repeats the other fields. */
function sentBack(
  { batch, entry }: EntryOfBatch,
  { traceNumber, settlementDay = null }: { traceNumber: string; settlementDay?: number | null },
  standardEntryClass: BatchTerms['standardEntryClass'],
  changed: Pick<NachaEntry, 'amountMinor' | 'addenda'>,
): EntryOfBatch {
  const { account, side } = transactionCodes[entry.transactionCode];
  return {
    batch: { ...batch, standardEntryClass, settlementDay, odfi: traceNumber.slice(0, 8) },
    entry: {
      ...entry,
      ...changed,
      transactionCode: transactionCodeOf({ account, side, purpose: 'return' }),
      receivingDfi: withCheckDigit(batch.odfi),
      traceNumber,
    },
  };
}

function returnAddendaOf({ entry }: EntryOfBatch, terms: ReturnTerms): ReturnAddenda {
  const { reason, traceNumber, settlementDay = null, information = '' } = terms;
  const original = {
    originalTraceNumber: entry.traceNumber,
    originalRdfi: entry.receivingDfi.slice(0, 8),
  };
  const kind = returnKindOf(reason);
  if (reason === null || kind === 'return') {
    const { dateOfDeath = null } = terms;
    return { kind: 'return', reason, ...original, dateOfDeath, information };
  }
  const earlier = {
    returnTraceNumber: traceNumber,
    returnSettlementDay: settlementDay,
    returnReason: null,
  };
  if (kind === 'dishonored') return { kind, reason, ...original, ...earlier, information };
  return {
    ...{ kind, reason, ...original, ...earlier },
    originalReturnedOn: null,
    originalSettlementDay: null,
    dishonoredTraceNumber: traceNumber,
    dishonoredSettlementDay: settlementDay,
    dishonoredReason: null,
  };
}
