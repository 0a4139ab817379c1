/** What the control records of a batch or a file say about the entries before them. */
import { type NachaEntry, transactionCodes } from './nacha-file.js';

const entryHashModulus = 10_000_000_000;

export interface NachaTotals {
  /** Entry and addenda records. */
  readonly records: number;
  /** The sum of the first eight digits of the receiving DFIs, mod 10^10. */
  readonly entryHash: number;
  readonly debitMinor: number;
  readonly creditMinor: number;
}

export const noTotals: NachaTotals = { records: 0, entryHash: 0, debitMinor: 0, creditMinor: 0 };

/** The records of an entry: itself and its addenda. */
export function recordsOf(entry: NachaEntry): number {
  return entry.addenda === null ? 1 : 2;
}

export function plusEntry(totals: NachaTotals, entry: NachaEntry): NachaTotals {
  const isDebit = transactionCodes[entry.transactionCode].side === 'debit';
  return plus(totals, {
    records: recordsOf(entry),
    entryHash: Number(entry.receivingDfi.slice(0, 8)),
    debitMinor: isDebit ? entry.amountMinor : 0,
    creditMinor: isDebit ? 0 : entry.amountMinor,
  });
}

export function plus(one: NachaTotals, other: NachaTotals): NachaTotals {
  return {
    records: one.records + other.records,
    entryHash: (one.entryHash + other.entryHash) % entryHashModulus,
    debitMinor: one.debitMinor + other.debitMinor,
    creditMinor: one.creditMinor + other.creditMinor,
  };
}
