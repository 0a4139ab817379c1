/**
 * The records of a NACHA file, field by field: the only place that knows positions. Every record has 94 characters.
 * Source: Nacha Operating Rules, Appendix Three and Four.
 */

/**
 * - `number`: digits, zero-filled.
 * - `optional`: digits, or blank.
 * - `text`: printable ASCII, left-justified. Read without spaces around it.
 * - `right`: printable ASCII, right-justified. Read without spaces around it.
 * - `raw`: printable ASCII, left-justified. Leading spaces count.
 * - `reserved`: written as spaces. What is read there means nothing.
 */
type FieldKind = 'number' | 'optional' | 'text' | 'right' | 'raw' | 'reserved';
type FieldSpec = readonly [name: string, length: number, kind: FieldKind];

interface Field {
  readonly name: string;
  readonly start: number;
  readonly length: number;
  readonly kind: FieldKind;
}

export interface Layout<Name extends string = string> {
  readonly recordType: string;
  readonly fields: readonly Field[];
  /** Never set: carries the names of the fields for the compiler. */
  readonly names?: Name;
}

/** The fields of a record as text. An `optional` field that is blank is ''. */
export type Values<Name extends string> = Readonly<Record<Name, string>>;

export const recordLength = 94;
export const blockingFactor = 10;
export const fillRecord = '9'.repeat(recordLength);
const printable = /^[\x20-\x7e]*$/;

export const fileHeader = layout('1', [
  ['priorityCode', 2, 'number'],
  ['immediateDestination', 10, 'right'],
  ['immediateOrigin', 10, 'right'],
  ['creationDate', 6, 'number'],
  ['creationTime', 4, 'optional'],
  ['fileIdModifier', 1, 'text'],
  ['recordSize', 3, 'number'],
  ['blockingFactor', 2, 'number'],
  ['formatCode', 1, 'number'],
  ['destinationName', 23, 'text'],
  ['originName', 23, 'text'],
  ['referenceCode', 8, 'text'],
]);

export const batchHeader = layout('5', [
  ['serviceClassCode', 3, 'number'],
  ['companyName', 16, 'text'],
  ['companyDiscretionaryData', 20, 'text'],
  ['companyId', 10, 'text'],
  ['standardEntryClass', 3, 'text'],
  ['entryDescription', 10, 'text'],
  ['descriptiveDate', 6, 'text'],
  ['effectiveDate', 6, 'optional'],
  ['settlementDay', 3, 'optional'],
  ['originatorStatusCode', 1, 'number'],
  ['odfi', 8, 'number'],
  ['batchNumber', 7, 'number'],
]);

export const entryDetail = layout('6', [
  ['transactionCode', 2, 'number'],
  ['receivingDfi', 8, 'number'],
  ['checkDigit', 1, 'number'],
  ['accountNumber', 17, 'text'],
  ['amount', 10, 'number'],
  ['individualId', 15, 'text'],
  ['individualName', 22, 'text'],
  ['discretionaryData', 2, 'text'],
  ['addendaIndicator', 1, 'number'],
  ['traceNumber', 15, 'number'],
]);

export const paymentAddenda = layout('7', [
  ['typeCode', 2, 'number'],
  ['information', 80, 'text'],
  ['addendaSequence', 4, 'number'],
  ['entrySequence', 7, 'number'],
]);

export const correctionAddenda = layout('7', [
  ['typeCode', 2, 'number'],
  ['changeCode', 3, 'text'],
  ['originalTraceNumber', 15, 'number'],
  ['reserved', 6, 'reserved'],
  ['originalRdfi', 8, 'number'],
  ['correctedData', 29, 'raw'],
  ['reserved', 15, 'reserved'],
  ['traceNumber', 15, 'number'],
]);

export const returnAddenda = layout('7', [
  ['typeCode', 2, 'number'],
  ['reason', 3, 'text'],
  ['originalTraceNumber', 15, 'number'],
  ['dateOfDeath', 6, 'optional'],
  ['originalRdfi', 8, 'number'],
  ['information', 44, 'text'],
  ['traceNumber', 15, 'number'],
]);

export const dishonoredAddenda = layout('7', [
  ['typeCode', 2, 'number'],
  ['reason', 3, 'text'],
  ['originalTraceNumber', 15, 'number'],
  ['reserved', 6, 'reserved'],
  ['originalRdfi', 8, 'number'],
  ['reserved', 3, 'reserved'],
  ['returnTraceNumber', 15, 'number'],
  ['returnSettlementDay', 3, 'optional'],
  ['returnReason', 2, 'optional'],
  ['information', 21, 'text'],
  ['traceNumber', 15, 'number'],
]);

export const contestedAddenda = layout('7', [
  ['typeCode', 2, 'number'],
  ['reason', 3, 'text'],
  ['originalTraceNumber', 15, 'number'],
  ['originalReturnedOn', 6, 'optional'],
  ['originalRdfi', 8, 'number'],
  ['originalSettlementDay', 3, 'optional'],
  ['returnTraceNumber', 15, 'number'],
  ['returnSettlementDay', 3, 'optional'],
  ['returnReason', 2, 'optional'],
  ['dishonoredTraceNumber', 15, 'number'],
  ['dishonoredSettlementDay', 3, 'optional'],
  ['dishonoredReason', 2, 'optional'],
  ['reserved', 1, 'reserved'],
  ['traceNumber', 15, 'number'],
]);

export const batchControl = layout('8', [
  ['serviceClassCode', 3, 'number'],
  ['entryAddendaCount', 6, 'number'],
  ['entryHash', 10, 'number'],
  ['totalDebit', 12, 'number'],
  ['totalCredit', 12, 'number'],
  ['companyId', 10, 'text'],
  ['messageAuthenticationCode', 19, 'reserved'],
  ['reserved', 6, 'reserved'],
  ['odfi', 8, 'number'],
  ['batchNumber', 7, 'number'],
]);

export const fileControl = layout('9', [
  ['batchCount', 6, 'number'],
  ['blockCount', 6, 'number'],
  ['entryAddendaCount', 8, 'number'],
  ['entryHash', 10, 'number'],
  ['totalDebit', 12, 'number'],
  ['totalCredit', 12, 'number'],
  ['reserved', 39, 'reserved'],
]);

/** What is wrong with a record, and where it begins: a column from 1 to 94. */
export interface RecordProblem {
  readonly column: number;
  readonly message: string;
}

/** @throws RangeError when a value does not fit its field */
export function writeRecord<Name extends string>(
  layout: Layout<Name>,
  values: Values<NoInfer<Name>>,
): string {
  const texts: Readonly<Record<string, string>> = values;
  let record = layout.recordType;
  for (const field of layout.fields) {
    const value = field.kind === 'reserved' ? '' : texts[field.name];
    if (value === undefined) throw new RangeError(`${label(field.name)} is missing`);
    record += padded(field, value);
  }
  return record;
}

/** @param record 94 printable characters of this layout's record type */
export function readRecord<Name extends string>(
  layout: Layout<Name>,
  record: string,
): Values<Name> | RecordProblem {
  const values: Record<string, string> = {};
  for (const { name, start, length, kind } of layout.fields) {
    if (kind === 'reserved') continue;
    const text = record.slice(start, start + length);
    const isBlank = kind === 'optional' && text.trim() === '';
    if ((kind === 'number' || kind === 'optional') && !isBlank && !/^\d+$/.test(text))
      return { column: start + 1, message: `the ${label(name)} must be ${digits(length)}` };
    values[name] = kind === 'raw' ? text.trimEnd() : text.trim();
  }
  return values as Values<Name>;
}

export function isRecordProblem(found: object): found is RecordProblem {
  return 'column' in found && 'message' in found;
}

/** The column, from 1, at which a field begins. */
export function columnOf<Name extends string>(layout: Layout<Name>, name: Name): number {
  const field = layout.fields.find((one) => one.name === name);
  if (field === undefined) throw new RangeError(`there is no field ${name}`);
  return field.start + 1;
}

/** A field's name as words. */
export function label(name: string): string {
  return name
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replaceAll(/\b(dfi|odfi|rdfi)\b/g, (name) => name.toUpperCase())
    .replaceAll(/\bid\b/g, 'ID');
}

function padded({ name, length, kind }: Field, value: string): string {
  if (value.length > length || !printable.test(value))
    throw new RangeError(`the ${label(name)} does not fit ${String(length)} ASCII characters`);
  switch (kind) {
    case 'number':
    case 'optional':
      if (!/^\d*$/.test(value) || (kind === 'number' && value === ''))
        throw new RangeError(`the ${label(name)} must be digits`);
      return value === '' ? ' '.repeat(length) : value.padStart(length, '0');
    case 'right':
      return value.padStart(length, ' ');
    case 'text':
    case 'raw':
    case 'reserved':
      return value.padEnd(length, ' ');
  }
}

function layout<const L extends readonly FieldSpec[]>(
  recordType: string,
  specs: L,
): Layout<Exclude<L[number], readonly [string, number, 'reserved']>[0]> {
  let start = recordType.length;
  const fields = specs.map(([name, length, kind]) => {
    const field = { name, start, length, kind };
    start += length;
    return field;
  });
  if (start !== recordLength)
    throw new Error(`record ${recordType} has ${String(start)} characters`);
  return { recordType, fields };
}

function digits(count: number): string {
  return count === 1 ? 'a digit' : `${String(count)} digits`;
}
