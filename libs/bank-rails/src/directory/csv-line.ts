/** One line of CSV (RFC 4180). A field cannot contain a line break: no list of participants needs one. */
import { RowRefused } from './row-refused.js';

export interface CsvField {
  readonly text: string;
  /** Where the field begins, from 1. */
  readonly column: number;
}

/** @throws RowRefused */
export function csvFieldsOf(line: string): readonly CsvField[] {
  const control = [...line].findIndex((character) => character < ' ' || character === '\u007f');
  if (control !== -1) throw new RowRefused(control + 1, 'a control character');
  const fields: CsvField[] = [];
  for (let at = 0; at <= line.length; ) {
    const field = line.charAt(at) === '"' ? quotedField(line, at) : plainField(line, at);
    fields.push({ text: field.text, column: at + 1 });
    at = field.end + 1;
  }
  return fields;
}

interface Scanned {
  readonly text: string;
  /** The place of the comma behind it, or the end of the line. */
  readonly end: number;
}

function plainField(line: string, from: number): Scanned {
  const comma = line.indexOf(',', from);
  const end = comma === -1 ? line.length : comma;
  const text = line.slice(from, end);
  const quote = text.indexOf('"');
  if (quote !== -1) throw new RowRefused(from + quote + 1, 'a quotation mark inside a field');
  return { text, end };
}

function quotedField(line: string, from: number): Scanned {
  const [whole] = /^"(?:[^"]|"")*"/.exec(line.slice(from)) ?? [];
  if (whole === undefined) throw new RowRefused(from + 1, 'the quotation mark is not closed');
  const end = from + whole.length;
  if (end < line.length && line.charAt(end) !== ',')
    throw new RowRefused(end + 1, 'a comma is missing behind the quotation mark');
  return { text: whole.slice(1, -1).replaceAll('""', '"'), end };
}
