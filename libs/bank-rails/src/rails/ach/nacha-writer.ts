/**
 * NACHA files as bytes. The same file always gives the same bytes. Lines end with a line feed, and the last block is
 * filled with nines.
 */
import { setImmediate } from 'node:timers/promises';
import { sixDigitsOf } from './nacha-dates.js';
import {
  batchRecordsMax,
  fileAmountMaxMinor,
  fileBatchesMax,
  type NachaAddenda,
  type NachaBatch,
  type NachaEntry,
  type NachaFile,
  type NachaFileHeader,
} from './nacha-file.js';
import * as records from './nacha-records.js';
import {
  batchProblem,
  entryProblem,
  headerProblem,
  type NachaFieldProblem,
  serviceClassOf,
  traceProblem,
} from './nacha-rules.js';
import { type NachaTotals, noTotals, plus, plusEntry, recordsOf } from './nacha-totals.js';

/** After so many parts the writer lets others run. */
const partsPerTurn = 1_000;
const lineLength = records.recordLength + 1;

/** A part of a file. The segments in order are the file. */
export interface NachaSegment {
  readonly bytes: Uint8Array;
  /** Null for headers, controls and fill. An entry's segment includes its addenda. */
  readonly entry: NachaEntry | null;
}

/** Records that belong together. */
interface Part {
  readonly lines: readonly string[];
  readonly entry: NachaEntry | null;
}

/**
 * The whole file.
 * @throws RangeError when something does not fit: check entries with entryProblem and group them with groupIntoFiles
 */
export async function writeNachaFile(file: NachaFile): Promise<Uint8Array> {
  const whole = Buffer.alloc(blocksOf(file) * records.blockingFactor * lineLength);
  let end = 0;
  let parts = 0;
  for (const { lines } of partsOf(file)) {
    end += whole.write(textOf(lines), end, 'latin1');
    parts += 1;
    if (parts % partsPerTurn === 0) await setImmediate();
  }
  return whole;
}

/** The file in segments. @throws RangeError as writeNachaFile does */
export function* nachaSegments(file: NachaFile): Generator<NachaSegment> {
  for (const { lines, entry } of partsOf(file))
    yield { bytes: Buffer.from(textOf(lines), 'latin1'), entry };
}

function* partsOf(file: NachaFile): Generator<Part> {
  yield part([headerRecord(file.header)]);
  let totals = noTotals;
  for (const [index, batch] of file.batches.entries())
    totals = plus(totals, yield* partsOfBatch(batch, index + 1));
  if (file.batches.length > fileBatchesMax) throw new RangeError('the file has too many batches');
  if (Math.max(totals.debitMinor, totals.creditMinor) > fileAmountMaxMinor)
    throw new RangeError('the total amounts of the file do not fit twelve digits');
  const blocks = blocksOf(file);
  const control = records.writeRecord(records.fileControl, {
    batchCount: String(file.batches.length),
    blockCount: String(blocks),
    entryAddendaCount: String(totals.records),
    ...controlSums(totals),
  });
  const fill = blocks * records.blockingFactor - linesOf(file);
  yield part([control, ...Array.from({ length: fill }, () => records.fillRecord)]);
}

function* partsOfBatch(batch: NachaBatch, number: number): Generator<Part, NachaTotals> {
  if (batch.entries.length === 0) throw new RangeError('a batch needs an entry');
  demand(batchProblem(batch));
  yield part([batchHeaderRecord(batch, number)]);
  let totals = noTotals;
  let previous: NachaEntry | null = null;
  for (const entry of batch.entries) {
    demand(entryProblem(batch, entry) ?? traceProblem(batch, entry, previous));
    totals = plusEntry(totals, entry);
    previous = entry;
    const addenda = entry.addenda === null ? [] : [addendaRecord(entry.addenda, entry.traceNumber)];
    yield part([entryRecord(entry), ...addenda], entry);
  }
  if (totals.records > batchRecordsMax) throw new RangeError('the batch has too many entries');
  yield part([
    records.writeRecord(records.batchControl, {
      serviceClassCode: serviceClassOf(batch),
      entryAddendaCount: String(totals.records),
      ...controlSums(totals),
      companyId: batch.companyId,
      odfi: batch.odfi,
      batchNumber: String(number),
    }),
  ]);
  return totals;
}

function headerRecord(header: NachaFileHeader): string {
  demand(headerProblem(header));
  return records.writeRecord(records.fileHeader, {
    priorityCode: '01',
    immediateDestination: header.immediateDestination,
    immediateOrigin: header.immediateOrigin,
    creationDate: sixDigitsOf(header.createdOn),
    creationTime: header.createdAt?.replace(':', '') ?? '',
    fileIdModifier: header.fileIdModifier,
    recordSize: String(records.recordLength),
    blockingFactor: String(records.blockingFactor),
    formatCode: '1',
    destinationName: header.destinationName,
    originName: header.originName,
    referenceCode: header.referenceCode,
  });
}

function batchHeaderRecord(batch: NachaBatch, number: number): string {
  return records.writeRecord(records.batchHeader, {
    serviceClassCode: serviceClassOf(batch),
    companyName: batch.companyName,
    companyDiscretionaryData: batch.companyDiscretionaryData,
    companyId: batch.companyId,
    standardEntryClass: batch.standardEntryClass,
    entryDescription: batch.entryDescription,
    descriptiveDate: batch.descriptiveDate,
    effectiveDate: sixDigits(batch.effectiveDate),
    settlementDay: dayOfYear(batch.settlementDay),
    // A depository financial institution that follows the Nacha rules.
    originatorStatusCode: '1',
    odfi: batch.odfi,
    batchNumber: String(number),
  });
}

function entryRecord(entry: NachaEntry): string {
  return records.writeRecord(records.entryDetail, {
    transactionCode: entry.transactionCode,
    receivingDfi: entry.receivingDfi.slice(0, 8),
    checkDigit: entry.receivingDfi.slice(8),
    accountNumber: entry.accountNumber,
    amount: String(entry.amountMinor),
    individualId: entry.individualId,
    individualName: entry.individualName,
    discretionaryData: entry.discretionaryData,
    addendaIndicator: entry.addenda === null ? '0' : '1',
    traceNumber: entry.traceNumber,
  });
}

function addendaRecord(addenda: NachaAddenda, traceNumber: string): string {
  switch (addenda.kind) {
    case 'payment':
      return records.writeRecord(records.paymentAddenda, {
        typeCode: '05',
        information: addenda.information,
        addendaSequence: '1',
        entrySequence: traceNumber.slice(8),
      });
    case 'return':
      return records.writeRecord(records.returnAddenda, {
        typeCode: '99',
        reason: addenda.reason ?? '',
        originalTraceNumber: addenda.originalTraceNumber,
        dateOfDeath: sixDigits(addenda.dateOfDeath),
        originalRdfi: addenda.originalRdfi,
        information: addenda.information,
        traceNumber,
      });
    case 'dishonored':
      return records.writeRecord(records.dishonoredAddenda, {
        typeCode: '99',
        reason: addenda.reason,
        originalTraceNumber: addenda.originalTraceNumber,
        originalRdfi: addenda.originalRdfi,
        returnTraceNumber: addenda.returnTraceNumber,
        returnSettlementDay: dayOfYear(addenda.returnSettlementDay),
        returnReason: shortReason(addenda.returnReason),
        information: addenda.information,
        traceNumber,
      });
    case 'contested':
      return records.writeRecord(records.contestedAddenda, {
        typeCode: '99',
        reason: addenda.reason,
        originalTraceNumber: addenda.originalTraceNumber,
        originalReturnedOn: sixDigits(addenda.originalReturnedOn),
        originalRdfi: addenda.originalRdfi,
        originalSettlementDay: dayOfYear(addenda.originalSettlementDay),
        returnTraceNumber: addenda.returnTraceNumber,
        returnSettlementDay: dayOfYear(addenda.returnSettlementDay),
        returnReason: shortReason(addenda.returnReason),
        dishonoredTraceNumber: addenda.dishonoredTraceNumber,
        dishonoredSettlementDay: dayOfYear(addenda.dishonoredSettlementDay),
        dishonoredReason: shortReason(addenda.dishonoredReason),
        traceNumber,
      });
    case 'correction':
      return records.writeRecord(records.correctionAddenda, {
        typeCode: '98',
        changeCode: addenda.changeCode,
        originalTraceNumber: addenda.originalTraceNumber,
        originalRdfi: addenda.originalRdfi,
        correctedData: addenda.corrected.text,
        traceNumber,
      });
  }
}

function controlSums(totals: NachaTotals) {
  return {
    entryHash: String(totals.entryHash),
    totalDebit: String(totals.debitMinor),
    totalCredit: String(totals.creditMinor),
  };
}

function part(lines: readonly string[], entry: NachaEntry | null = null): Part {
  return { lines, entry };
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** The records of a file without its fill. */
function linesOf({ batches }: NachaFile): number {
  const controls = 2;
  return batches.reduce(
    (lines, { entries }) =>
      entries.reduce((sum, entry) => sum + recordsOf(entry), lines + controls),
    controls,
  );
}

function blocksOf(file: NachaFile): number {
  return Math.ceil(linesOf(file) / records.blockingFactor);
}

function sixDigits(isoDate: string | null): string {
  return isoDate === null ? '' : sixDigitsOf(isoDate);
}

function dayOfYear(day: number | null): string {
  return day === null ? '' : String(day);
}

/** The reason of an earlier return has two characters: R01 is 01. */
function shortReason(reason: string | null): string {
  return reason === null ? '' : reason.slice(1);
}

function demand(problem: NachaFieldProblem | null): void {
  if (problem !== null) throw new RangeError(problem.message);
}
