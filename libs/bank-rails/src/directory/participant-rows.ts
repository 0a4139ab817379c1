/**
 * The layouts of the participant lists; docs/rails.md describes them.
 *
 * FedACH and Fedwire: the fixed-width files of the Federal Reserve's E-Payments Routing Directory. RTP and
 * FedNow: neither operator publishes a fixed layout, so they are CSV with a header (RFC 4180).
 */
import { isUtf8 } from 'node:buffer';
import { unreachable } from '@pis/domain';
import { type CsvField, csvFieldsOf } from './csv-line.js';
import { DirectoryFileRefused } from './participant-lines.js';
import type { DirectoryKind } from './routing-directory.js';
import { isValidAbaRoutingNumber } from '../routing-number.js';
import { RowRefused } from './row-refused.js';

export interface ParticipantRow {
  readonly routingNumber: string;
  readonly bankName: string;
  /** Whether the bank takes transfers over the rail. */
  readonly takesPart: boolean;
}

/** What is wrong with a row, and where: line and column count from 1. It repeats nothing of the file. */
export interface RowProblem {
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

/** Reads one line after the other. Null for the header. @throws RowRefused, DirectoryFileRefused */
export type RowReader = (bytes: Uint8Array) => ParticipantRow | null;

/** A new reader for each file. */
export function rowReaderOf(kind: DirectoryKind): RowReader {
  switch (kind) {
    case 'fedach':
      return fedAchRow;
    case 'fedwire':
      return fedwireRow;
    case 'rtp':
    case 'fednow':
      return csvReader();
    default:
      return unreachable(kind);
  }
}

/** Of the name, in both fixed-width files. */
const nameColumns = 36;
const nameLengthMax = 200;

/**
 * FedACH participant file, 155 columns: routing number 1-9, office code 10, servicing Reserve Bank 11-19,
 * record type 20, change date 21-26, new routing number 27-35, name 36-71, address, telephone, status 149,
 * view 150, filler 151-155. Spaces at the end may be missing.
 */
function fedAchRow(bytes: Uint8Array): ParticipantRow {
  const line = fixedWidth(bytes, { columnsMin: 150, columnsMax: 155 });
  const routingNumber = routingNumberIn(line.slice(0, 9), 1);
  oneOf(line, 10, 'OB', 'the office code');
  oneOf(line, 20, '012', 'the record type');
  return { routingNumber, bankName: nameIn(line, 36), takesPart: true };
}

/**
 * Fedwire participant file, 101 columns: routing number 1-9, telegraphic name 10-27, name 28-63, state 64-65,
 * city 66-90, funds transfer status 91 (Y or N), settlement-only status 92 (S or blank), securities status 93,
 * date of last revision 94-101. Spaces at the end may be missing.
 */
function fedwireRow(bytes: Uint8Array): ParticipantRow {
  const line = fixedWidth(bytes, { columnsMin: 93, columnsMax: 101 });
  const routingNumber = routingNumberIn(line.slice(0, 9), 1);
  const isEligible = oneOf(line, 91, 'YN', 'the funds transfer status') === 'Y';
  const settlesOnly = oneOf(line, 92, 'S ', 'the settlement-only status') === 'S';
  oneOf(line, 93, 'YN', 'the securities transfer status');
  return { routingNumber, bankName: nameIn(line, 28), takesPart: isEligible && !settlesOnly };
}

/** The first line names the columns. */
function csvReader(): RowReader {
  let columns: CsvColumns | null = null;
  return (bytes) => {
    const fields = csvFieldsOf(utf8(bytes));
    if (columns === null) {
      columns = columnsIn(fields);
      return null;
    }
    return csvRow(fields, columns, bytes.length + 1);
  };
}

/** The places of the columns; others are ignored. */
interface CsvColumns {
  readonly routing_number: number;
  readonly name: number;
  /** Y or N; -1 when absent: every bank of the list receives. */
  readonly receives: number;
}

/** @throws DirectoryFileRefused */
function columnsIn(header: readonly CsvField[]): CsvColumns {
  const names = header.map(({ text }) => text.trim().toLowerCase());
  const place = (name: keyof CsvColumns) => {
    if (names.indexOf(name) === names.lastIndexOf(name)) return names.indexOf(name);
    throw new DirectoryFileRefused(`line 1: the header names ${name} twice`);
  };
  const columns = {
    routing_number: place('routing_number'),
    name: place('name'),
    receives: place('receives'),
  };
  for (const name of ['routing_number', 'name'] as const)
    if (columns[name] === -1)
      throw new DirectoryFileRefused(`line 1: the header does not name ${name}`);
  return columns;
}

function csvRow(fields: readonly CsvField[], columns: CsvColumns, lineEnd: number): ParticipantRow {
  const field = (at: number) => fields[at] ?? { text: '', column: lineEnd };
  const number = field(columns.routing_number);
  const name = field(columns.name);
  const bankName = name.text.trim();
  const receives = columns.receives === -1 ? null : field(columns.receives);
  const routingNumber = routingNumberIn(number.text, number.column);
  if (bankName === '' || bankName.length > nameLengthMax)
    throw new RowRefused(name.column, `the name does not have 1 to ${nameLengthMax} characters`);
  if (receives !== null && receives.text !== 'Y' && receives.text !== 'N')
    throw new RowRefused(receives.column, 'receives is not Y or N');
  return { routingNumber, bankName, takesPart: receives?.text !== 'N' };
}

/** Printable ASCII of the right length. */
function fixedWidth(
  bytes: Uint8Array,
  { columnsMin, columnsMax }: { readonly columnsMin: number; readonly columnsMax: number },
): string {
  const foreign = bytes.findIndex((byte) => byte < 0x20 || byte > 0x7e);
  if (foreign !== -1) throw new RowRefused(foreign + 1, 'not a printable ASCII character');
  if (bytes.length < columnsMin || bytes.length > columnsMax)
    throw new RowRefused(
      Math.min(bytes.length, columnsMax) + 1,
      `the row has ${bytes.length} columns, not ${columnsMax}`,
    );
  return Buffer.from(bytes).toString('latin1').padEnd(columnsMax);
}

function utf8(bytes: Uint8Array): string {
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  // The first byte whose beginning is not UTF-8 any more.
  let [valid, end] = [0, bytes.length];
  while (end - valid > 1) {
    const middle = Math.floor((valid + end) / 2);
    if (beginsAsUtf8(bytes.subarray(0, middle))) valid = middle;
    else end = middle;
  }
  throw new RowRefused(end, 'not a UTF-8 character');
}

/** A character may be cut off at the end. */
function beginsAsUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function routingNumberIn(text: string, column: number): string {
  if (!isValidAbaRoutingNumber(text)) throw new RowRefused(column, 'not a valid routing number');
  return text;
}

function nameIn(line: string, column: number): string {
  const name = line.slice(column - 1, column - 1 + nameColumns).trim();
  if (name === '') throw new RowRefused(column, 'the name is blank');
  return name;
}

function oneOf(line: string, column: number, allowed: string, what: string): string {
  const found = line.charAt(column - 1);
  if (allowed.includes(found)) return found;
  throw new RowRefused(column, `${what} is not one of ${[...allowed].map(quoted).join(', ')}`);
}

function quoted(character: string): string {
  return character === ' ' ? 'blank' : character;
}
