/**
 * What the parts of a NACHA file must satisfy, apart from counts and totals. The writer refuses to write anything
 * else, the parser refuses to read anything else, and a payment is checked before it goes into a file.
 */
import { isValidAbaRoutingNumber } from '../../routing-number.js';
import { correctedDataMax, isChangeCode } from './corrected-data.js';
import {
  type BatchTerms,
  type CorrectionAddenda,
  entryAmountMaxMinor,
  type NachaAddenda,
  type NachaBatch,
  type NachaEntry,
  type NachaFileHeader,
  type ReturnAddenda,
  transactionCodes,
} from './nacha-file.js';
import { isIsoDate } from './nacha-dates.js';
import { label } from './nacha-records.js';
import { textProblem } from './nacha-text.js';
import { returnKindOf } from './return-reasons.js';

export interface NachaFieldProblem {
  /** The field of the record: the names of nacha-records.ts. */
  readonly field: string;
  /** A sentence that names the field. */
  readonly message: string;
}

/** What does not fit the file header. Null if everything does. */
export function headerProblem(header: NachaFileHeader): NachaFieldProblem | null {
  return (
    required('immediateDestination', header.immediateDestination, 10) ??
    required('immediateOrigin', header.immediateOrigin, 10) ??
    isoDate('creationDate', header.createdOn) ??
    (header.createdAt === null || /^([01]\d|2[0-3]):[0-5]\d$/.test(header.createdAt)
      ? null
      : problem('creationTime', 'the creation time must be a time of day')) ??
    (/^[A-Z0-9]$/.test(header.fileIdModifier)
      ? null
      : problem('fileIdModifier', 'the file ID modifier must be a letter A to Z or a digit')) ??
    text('destinationName', header.destinationName, 23) ??
    text('originName', header.originName, 23) ??
    text('referenceCode', header.referenceCode, 8)
  );
}

/** What does not fit the batch header. Null if everything does. */
export function batchProblem(batch: BatchTerms): NachaFieldProblem | null {
  return (
    required('companyName', batch.companyName, 16) ??
    text('companyDiscretionaryData', batch.companyDiscretionaryData, 20) ??
    required('companyId', batch.companyId, 10) ??
    required('entryDescription', batch.entryDescription, 10) ??
    text('descriptiveDate', batch.descriptiveDate, 6) ??
    optionalDate('effectiveDate', batch.effectiveDate) ??
    day('settlementDay', batch.settlementDay) ??
    digits('odfi', batch.odfi, 8)
  );
}

/** What does not fit the entry, or the rules of its batch. Null if everything does. */
export function entryProblem(batch: BatchTerms, entry: NachaEntry): NachaFieldProblem | null {
  return entryFieldProblem(entry) ?? amountProblem(entry) ?? entryKindProblem(batch, entry);
}

/**
 * What is wrong with the order of trace numbers. Null if nothing is. Those of returns are other banks' numbers, and
 * not all banks keep the order.
 */
export function traceProblem(
  batch: BatchTerms,
  entry: NachaEntry,
  previous: NachaEntry | null,
): NachaFieldProblem | null {
  if (transactionCodes[entry.transactionCode].purpose === 'return') return null;
  if (!entry.traceNumber.startsWith(batch.odfi))
    return problem(
      'traceNumber',
      `the trace number must begin with the batch's ODFI ${batch.odfi}`,
    );
  if (previous !== null && entry.traceNumber <= previous.traceNumber)
    return problem('traceNumber', 'the trace number must be greater than the one before');
  return null;
}

/** Whether the entries of a batch are credits, debits or both. Nacha: service class code. */
export function serviceClassOf(batch: NachaBatch): '200' | '220' | '225' {
  const sides = new Set(batch.entries.map((entry) => transactionCodes[entry.transactionCode].side));
  if (sides.size === 2) return '200';
  return sides.has('debit') ? '225' : '220';
}

function entryFieldProblem(entry: NachaEntry): NachaFieldProblem | null {
  const isForward = transactionCodes[entry.transactionCode].purpose !== 'return';
  return (
    (isValidAbaRoutingNumber(entry.receivingDfi)
      ? null
      : problem(
          'receivingDfi',
          'the receiving DFI must be a routing number with its check digit',
        )) ??
    required('accountNumber', entry.accountNumber, 17) ??
    text('individualId', entry.individualId, 15) ??
    (isForward
      ? required('individualName', entry.individualName, 22)
      : text('individualName', entry.individualName, 22)) ??
    text('discretionaryData', entry.discretionaryData, 2) ??
    digits('traceNumber', entry.traceNumber, 15)
  );
}

function amountProblem({ transactionCode, amountMinor }: NachaEntry): NachaFieldProblem | null {
  const { purpose } = transactionCodes[transactionCode];
  if (!Number.isInteger(amountMinor) || amountMinor < 0 || amountMinor > entryAmountMaxMinor)
    return problem('amount', 'the amount must be from 0 to 99,999,999.99');
  if (purpose === 'payment' && amountMinor === 0)
    return problem('amount', 'the amount of a payment must be greater than zero');
  if (purpose === 'prenote' && amountMinor !== 0)
    return problem('amount', 'the amount of a prenote must be zero');
  return null;
}

/** The addenda that an entry needs or allows follow from its transaction code and its batch. */
function entryKindProblem(batch: BatchTerms, entry: NachaEntry): NachaFieldProblem | null {
  const { purpose } = transactionCodes[entry.transactionCode];
  const { addenda } = entry;
  const isNotification = batch.standardEntryClass === 'COR';
  if (purpose !== 'return') {
    if (isNotification)
      return problem('transactionCode', 'a COR batch has only notifications of change');
    if (addenda !== null && addenda.kind !== 'payment')
      return problem('transactionCode', 'a return needs the transaction code of a return');
    if (batch.standardEntryClass === 'WEB' && !/^[RS]$/.test(entry.discretionaryData))
      return problem('discretionaryData', 'the discretionary data of WEB must be R or S');
    return addenda === null ? null : addendaProblem(addenda);
  }
  if (addenda === null || addenda.kind === 'payment')
    return problem(
      'addendaIndicator',
      'a return needs an addenda record 99, a COR entry one of 98',
    );
  if ((addenda.kind === 'correction') !== isNotification)
    return problem(
      'addendaIndicator',
      'addenda 98 belong to COR batches, and addenda 99 to others',
    );
  if (isNotification && entry.amountMinor !== 0)
    return problem('amount', 'the amount of a notification of change must be zero');
  return addendaProblem(addenda);
}

function addendaProblem(addenda: NachaAddenda): NachaFieldProblem | null {
  if (addenda.kind === 'payment') return text('information', addenda.information, 80);
  return (
    digits('originalTraceNumber', addenda.originalTraceNumber, 15) ??
    digits('originalRdfi', addenda.originalRdfi, 8) ??
    (addenda.kind === 'correction' ? correctionProblem(addenda) : returnProblem(addenda))
  );
}

function returnProblem(addenda: ReturnAddenda): NachaFieldProblem | null {
  if (returnKindOf(addenda.reason) !== addenda.kind)
    return problem('reason', 'this return reason needs another form of the addenda record');
  switch (addenda.kind) {
    case 'return':
      return (
        reason('reason', addenda.reason) ??
        optionalDate('dateOfDeath', addenda.dateOfDeath) ??
        text('information', addenda.information, 44)
      );
    case 'dishonored':
      return (
        reason('reason', addenda.reason) ??
        digits('returnTraceNumber', addenda.returnTraceNumber, 15) ??
        day('returnSettlementDay', addenda.returnSettlementDay) ??
        reason('returnReason', addenda.returnReason) ??
        text('information', addenda.information, 21)
      );
    case 'contested':
      return (
        reason('reason', addenda.reason) ??
        optionalDate('originalReturnedOn', addenda.originalReturnedOn) ??
        day('originalSettlementDay', addenda.originalSettlementDay) ??
        digits('returnTraceNumber', addenda.returnTraceNumber, 15) ??
        day('returnSettlementDay', addenda.returnSettlementDay) ??
        reason('returnReason', addenda.returnReason) ??
        digits('dishonoredTraceNumber', addenda.dishonoredTraceNumber, 15) ??
        day('dishonoredSettlementDay', addenda.dishonoredSettlementDay) ??
        reason('dishonoredReason', addenda.dishonoredReason)
      );
  }
}

function correctionProblem({ changeCode, corrected }: CorrectionAddenda): NachaFieldProblem | null {
  if (!isChangeCode(changeCode))
    return problem('changeCode', 'the change code must be one of C01 to C14');
  // Positions count in this field, so that it may begin with spaces.
  const wrong = textProblem(corrected.text.trimStart(), correctedDataMax);
  if (corrected.text === '') return problem('correctedData', 'the corrected data is missing');
  if (wrong !== null) return problem('correctedData', `the corrected data ${wrong}`);
  return corrected.text.length <= correctedDataMax
    ? null
    : problem(
        'correctedData',
        `the corrected data has more than ${String(correctedDataMax)} characters`,
      );
}

function reason(field: string, value: string | null): NachaFieldProblem | null {
  return value === null || /^R\d\d$/.test(value)
    ? null
    : problem(field, `the ${label(field)} must be R and two digits`);
}

/**
 * A mandatory field may not consist of spaces and zeros alone (return reason R26), and must say something. In the
 * account number of a return, asterisks stand for digits that the bank does not show.
 */
function required(field: string, value: string, max: number): NachaFieldProblem | null {
  if (value === '') return problem(field, `the ${label(field)} is missing`);
  if (!/[1-9A-Za-z*]/.test(value))
    return problem(field, `the ${label(field)} has no letter and no digit from 1 to 9`);
  return text(field, value, max);
}

function text(field: string, value: string, max: number): NachaFieldProblem | null {
  const wrong = textProblem(value, max);
  return wrong === null ? null : problem(field, `the ${label(field)} ${wrong}`);
}

function digits(field: string, value: string, count: number): NachaFieldProblem | null {
  return value.length === count && /^\d+$/.test(value)
    ? null
    : problem(field, `the ${label(field)} must be ${String(count)} digits`);
}

function day(field: string, value: number | null): NachaFieldProblem | null {
  return value === null || (Number.isInteger(value) && value >= 1 && value <= 366)
    ? null
    : problem(field, `the ${label(field)} must be a day of the year`);
}

function isoDate(field: string, value: string): NachaFieldProblem | null {
  return isIsoDate(value) ? null : problem(field, `the ${label(field)} must be a date`);
}

function optionalDate(field: string, value: string | null): NachaFieldProblem | null {
  return value === null ? null : isoDate(field, value);
}

function problem(field: string, message: string): NachaFieldProblem {
  return { field, message };
}
