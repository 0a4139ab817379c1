/** Reads the records of a NACHA file one by one for nacha-parser.ts, which knows in what order they may come. */
import { correctedDataOf, isChangeCode } from './corrected-data.js';
import { dateOf, pastDateOf } from './nacha-dates.js';
import {
  type BatchTerms,
  isTransactionCode,
  type NachaAddenda,
  type NachaBatch,
  type NachaEntry,
  type NachaFileHeader,
  type StandardEntryClass,
  standardEntryClasses,
} from './nacha-file.js';
import { NachaRefusal } from './nacha-lines.js';
import * as records from './nacha-records.js';
import {
  batchProblem,
  entryProblem,
  headerProblem,
  type NachaFieldProblem,
  serviceClassOf,
  traceProblem,
} from './nacha-rules.js';
import { type NachaTotals, noTotals, plusEntry } from './nacha-totals.js';
import { returnKindOf } from './return-reasons.js';

/** The batch whose records are being read. */
export interface OpenBatch {
  readonly terms: BatchTerms;
  readonly serviceClassCode: string;
  readonly batchNumber: string;
  readonly entries: NachaEntry[];
  totals: NachaTotals;
  /** An entry whose addenda record must come next. */
  awaiting: { readonly entry: NachaEntry; readonly line: number } | null;
}

export class Reading {
  line = 0;
  record = '';

  next(record: string): void {
    this.line += 1;
    this.record = record;
  }

  pastEnd(): void {
    this.line += 1;
  }

  /** @throws NachaRefusal always */
  refuse(column: number, message: string, line = this.line): never {
    throw new NachaRefusal({ line, column, message });
  }

  fileHeader(): NachaFileHeader {
    if (!this.record.startsWith(records.fileHeader.recordType))
      this.refuse(1, 'the first record must be a file header of type 1');
    const values = this.read(records.fileHeader);
    const is = { recordSize: '094', blockingFactor: '10', formatCode: '1' } as const;
    for (const name of ['recordSize', 'blockingFactor', 'formatCode'] as const)
      if (values[name] !== is[name])
        this.refuseField(
          records.fileHeader,
          name,
          `the ${records.label(name)} must be ${is[name]}`,
        );
    const time = values.creationTime;
    const header: NachaFileHeader = {
      immediateDestination: values.immediateDestination,
      immediateOrigin: values.immediateOrigin,
      createdOn: this.date(records.fileHeader, 'creationDate', values.creationDate),
      createdAt: time === '' ? null : `${time.slice(0, 2)}:${time.slice(2)}`,
      fileIdModifier: values.fileIdModifier,
      destinationName: values.destinationName,
      originName: values.originName,
      referenceCode: values.referenceCode,
    };
    this.demand(records.fileHeader, headerProblem(header));
    return header;
  }

  batchHeader(): OpenBatch {
    const values = this.read(records.batchHeader);
    const standardEntryClass = values.standardEntryClass;
    if (!isStandardEntryClass(standardEntryClass))
      this.refuseField(
        records.batchHeader,
        'standardEntryClass',
        `batches of class ${standardEntryClass} are not supported`,
      );
    const terms: BatchTerms = {
      standardEntryClass,
      companyName: values.companyName,
      companyId: values.companyId,
      companyDiscretionaryData: values.companyDiscretionaryData,
      entryDescription: values.entryDescription,
      descriptiveDate: values.descriptiveDate,
      effectiveDate: isNothing(values.effectiveDate)
        ? null
        : this.date(records.batchHeader, 'effectiveDate', values.effectiveDate),
      settlementDay: dayOf(values.settlementDay),
      odfi: values.odfi,
    };
    this.demand(records.batchHeader, batchProblem(terms));
    const { serviceClassCode, batchNumber } = values;
    return {
      ...{ terms, serviceClassCode, batchNumber },
      ...{ entries: [], totals: noTotals, awaiting: null },
    };
  }

  entry(batch: OpenBatch): void {
    this.demandAddenda(batch);
    const values = this.read(records.entryDetail);
    const { transactionCode, addendaIndicator } = values;
    if (!isTransactionCode(transactionCode))
      this.refuseField(
        records.entryDetail,
        'transactionCode',
        `transaction code ${transactionCode} is not supported`,
      );
    const entry: NachaEntry = {
      transactionCode,
      receivingDfi: values.receivingDfi + values.checkDigit,
      accountNumber: values.accountNumber,
      amountMinor: Number(values.amount),
      individualId: values.individualId,
      individualName: values.individualName,
      discretionaryData: values.discretionaryData,
      addenda: null,
      traceNumber: values.traceNumber,
    };
    if (addendaIndicator === '1') batch.awaiting = { entry, line: this.line };
    else if (addendaIndicator === '0') this.add(batch, entry, this.line);
    else
      this.refuseField(
        records.entryDetail,
        'addendaIndicator',
        'the addenda indicator must be 0 or 1',
      );
  }

  addenda(batch: OpenBatch, header: NachaFileHeader): void {
    const { awaiting } = batch;
    if (awaiting === null) this.refuse(1, 'no entry announced an addenda record here');
    batch.awaiting = null;
    const type = this.record.slice(1, 3);
    const addenda = this.addendaOf(type, awaiting.entry, header);
    this.add(batch, { ...awaiting.entry, addenda }, awaiting.line);
  }

  batchControl(batch: OpenBatch): NachaBatch {
    this.demandAddenda(batch);
    const { terms, entries, totals } = batch;
    if (entries.length === 0) this.refuse(1, 'the batch has no entries');
    const whole: NachaBatch = { ...terms, entries };
    const values = this.read(records.batchControl);
    const { serviceClassCode } = batch;
    if (serviceClassCode !== '200' && serviceClassCode !== serviceClassOf(whole))
      this.refuseField(
        records.batchControl,
        'serviceClassCode',
        `the entries do not agree with service class ${serviceClassCode}`,
      );
    this.compare(records.batchControl, values, {
      serviceClassCode,
      entryAddendaCount: totals.records,
      ...sumsOf(totals),
      companyId: terms.companyId,
      odfi: terms.odfi,
      batchNumber: batch.batchNumber,
    });
    return whole;
  }

  fileControl(batchCount: number, totals: NachaTotals): void {
    this.compare(records.fileControl, this.read(records.fileControl), {
      batchCount,
      blockCount: Math.ceil(this.line / records.blockingFactor),
      entryAddendaCount: totals.records,
      ...sumsOf(totals),
    });
  }

  private add(batch: OpenBatch, entry: NachaEntry, line: number): void {
    const previous = batch.entries.at(-1) ?? null;
    const problem = entryProblem(batch.terms, entry) ?? traceProblem(batch.terms, entry, previous);
    if (problem !== null) {
      const isOfEntry = records.entryDetail.fields.some(({ name }) => name === problem.field);
      if (isOfEntry) this.demand(records.entryDetail, problem, line);
      this.demand(layoutOf(entry.addenda), problem);
    }
    batch.entries.push(entry);
    batch.totals = plusEntry(batch.totals, entry);
  }

  private addendaOf(type: string, entry: NachaEntry, header: NachaFileHeader): NachaAddenda {
    switch (type) {
      case '05':
        return this.paymentAddenda(entry);
      case '98':
        return this.correctionAddenda(entry);
      case '99':
        return this.returnAddenda(entry, header);
      default:
        this.refuse(2, `addenda records of type ${type} are not supported`);
    }
  }

  private paymentAddenda(entry: NachaEntry): NachaAddenda {
    const values = this.read(records.paymentAddenda);
    this.compare(records.paymentAddenda, values, {
      addendaSequence: '0001',
      entrySequence: entry.traceNumber.slice(8),
    });
    return { kind: 'payment', information: values.information };
  }

  private correctionAddenda(entry: NachaEntry): NachaAddenda {
    const values = this.read(records.correctionAddenda);
    this.compare(records.correctionAddenda, values, { traceNumber: entry.traceNumber });
    const { changeCode, originalTraceNumber, originalRdfi, correctedData } = values;
    if (!isChangeCode(changeCode))
      this.refuseField(
        records.correctionAddenda,
        'changeCode',
        'the change code must be one of C01 to C14',
      );
    const corrected = correctedDataOf(changeCode, correctedData);
    return { kind: 'correction', changeCode, originalTraceNumber, originalRdfi, corrected };
  }

  private returnAddenda(entry: NachaEntry, header: NachaFileHeader): NachaAddenda {
    const reason = this.record.slice(3, 6).trim() || null;
    const kind = returnKindOf(reason);
    if (reason === null || kind === 'return') {
      const values = this.read(records.returnAddenda);
      this.compare(records.returnAddenda, values, { traceNumber: entry.traceNumber });
      return {
        kind: 'return',
        reason,
        originalTraceNumber: values.originalTraceNumber,
        dateOfDeath: isNothing(values.dateOfDeath)
          ? null
          : this.date(records.returnAddenda, 'dateOfDeath', values.dateOfDeath, header.createdOn),
        originalRdfi: values.originalRdfi,
        information: values.information,
      };
    }
    if (kind === 'dishonored') {
      const values = this.read(records.dishonoredAddenda);
      this.compare(records.dishonoredAddenda, values, { traceNumber: entry.traceNumber });
      return {
        kind,
        reason,
        originalTraceNumber: values.originalTraceNumber,
        originalRdfi: values.originalRdfi,
        returnTraceNumber: values.returnTraceNumber,
        returnSettlementDay: dayOf(values.returnSettlementDay),
        returnReason: reasonOf(values.returnReason),
        information: values.information,
      };
    }
    const values = this.read(records.contestedAddenda);
    this.compare(records.contestedAddenda, values, { traceNumber: entry.traceNumber });
    return {
      kind,
      reason,
      originalTraceNumber: values.originalTraceNumber,
      originalReturnedOn: isNothing(values.originalReturnedOn)
        ? null
        : this.date(records.contestedAddenda, 'originalReturnedOn', values.originalReturnedOn),
      originalRdfi: values.originalRdfi,
      originalSettlementDay: dayOf(values.originalSettlementDay),
      returnTraceNumber: values.returnTraceNumber,
      returnSettlementDay: dayOf(values.returnSettlementDay),
      returnReason: reasonOf(values.returnReason),
      dishonoredTraceNumber: values.dishonoredTraceNumber,
      dishonoredSettlementDay: dayOf(values.dishonoredSettlementDay),
      dishonoredReason: reasonOf(values.dishonoredReason),
    };
  }

  read<Name extends string>(layout: records.Layout<Name>): records.Values<Name> {
    const found = records.readRecord(layout, this.record);
    if (records.isRecordProblem(found)) this.refuse(found.column, found.message);
    return found;
  }

  /** @param today dates after it belong to the last century */
  private date<Name extends string>(
    layout: records.Layout<Name>,
    name: NoInfer<Name>,
    sixDigits: string,
    today?: string,
  ): string {
    const date = today === undefined ? dateOf(sixDigits) : pastDateOf(sixDigits, today);
    return date ?? this.refuseField(layout, name, `the ${records.label(name)} must be a date`);
  }

  /** The record must say what was read or computed before. Numbers are compared as numbers. */
  compare<Name extends string>(
    layout: records.Layout<Name>,
    values: records.Values<NoInfer<Name>>,
    expected: Partial<Record<NoInfer<Name>, string | number>>,
  ): void {
    for (const { name } of layout.fields) {
      const wanted = (expected as Readonly<Record<string, string | number | undefined>>)[name];
      const said = (values as Readonly<Record<string, string>>)[name];
      if (wanted === undefined || said === undefined) continue;
      const isSame = typeof wanted === 'number' ? Number(said) === wanted : said === wanted;
      if (!isSame)
        this.refuse(
          records.columnOf<string>(layout, name),
          `the ${records.label(name)} is ${said} instead of ${String(wanted)}`,
        );
    }
  }

  private demandAddenda({ awaiting }: OpenBatch): void {
    if (awaiting !== null) this.refuse(1, 'the entry before announced an addenda record');
  }

  private demand(
    layout: records.Layout,
    problem: NachaFieldProblem | null,
    line = this.line,
  ): void {
    if (problem !== null)
      this.refuse(records.columnOf(layout, problem.field), problem.message, line);
  }

  private refuseField<Name extends string>(
    layout: records.Layout<Name>,
    name: NoInfer<Name>,
    message: string,
  ): never {
    this.refuse(records.columnOf(layout, name), message);
  }
}

function layoutOf(addenda: NachaAddenda | null): records.Layout {
  switch (addenda?.kind) {
    case undefined:
      return records.entryDetail;
    case 'payment':
      return records.paymentAddenda;
    case 'correction':
      return records.correctionAddenda;
    case 'return':
      return records.returnAddenda;
    case 'dishonored':
      return records.dishonoredAddenda;
    case 'contested':
      return records.contestedAddenda;
  }
}

export function sumsOf(totals: NachaTotals) {
  return {
    entryHash: totals.entryHash,
    totalDebit: totals.debitMinor,
    totalCredit: totals.creditMinor,
  };
}

function isStandardEntryClass(text: string): text is StandardEntryClass {
  return (standardEntryClasses as readonly string[]).includes(text);
}

/** Some banks write zeros where a field is empty. */
function isNothing(digits: string): boolean {
  return /^0*$/.test(digits);
}

function dayOf(digits: string): number | null {
  return isNothing(digits) ? null : Number(digits);
}

function reasonOf(digits: string): string | null {
  return isNothing(digits) ? null : `R${digits}`;
}
