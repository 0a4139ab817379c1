/**
 * The records of a file, one string each. Lines end with LF or CRLF. A file without any line end is a sequence of
 * 94-character records. The text is checked here: what comes out has 94 printable ASCII characters.
 */
import { recordLength } from './nacha-records.js';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** What is wrong with a file, and where: line and column count from 1. */
export interface NachaProblem {
  readonly line: number;
  readonly column: number;
  /** A clause without a period. */
  readonly message: string;
}

/** Thrown within the parser only: it becomes the parser's answer. */
export class NachaRefusal extends Error {
  override readonly name = 'NachaRefusal';
  constructor(readonly problem: NachaProblem) {
    super(problem.message);
  }
}

/** @throws NachaRefusal at the first line that is no record */
export function* linesOf(bytes: Uint8Array): Generator<string> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const hasLineEnds = buffer.subarray(0, recordLength + 2).includes(lineFeed);
  let number = 1;
  for (let start = 0; start < buffer.length; number += 1) {
    const [end, next] = hasLineEnds
      ? endOfLine(buffer, start)
      : [Math.min(start + recordLength, buffer.length), start + recordLength];
    yield recordIn(buffer, { start, end, number });
    start = next;
  }
}

/** Where the text of a line ends, and where the next line begins. */
function endOfLine(buffer: Buffer, start: number): [number, number] {
  const found = buffer.indexOf(lineFeed, start);
  if (found < 0) return [buffer.length, buffer.length];
  const hasReturn = found > start && buffer[found - 1] === carriageReturn;
  return [hasReturn ? found - 1 : found, found + 1];
}

function recordIn(buffer: Buffer, at: { start: number; end: number; number: number }): string {
  const { start, end, number } = at;
  const length = end - start;
  // A line of any length is looked at only as far as a record goes.
  const record = buffer.toString('latin1', start, Math.min(end, start + recordLength));
  const strange = record.search(/[^\x20-\x7e]/);
  if (strange >= 0)
    throw new NachaRefusal({
      line: number,
      column: strange + 1,
      message: `byte ${hex(buffer[start + strange])} is no printable ASCII character`,
    });
  if (length !== recordLength)
    throw new NachaRefusal({
      line: number,
      column: Math.min(length, recordLength) + 1,
      message: `the line has ${String(length)} characters instead of ${String(recordLength)}`,
    });
  return record;
}

function hex(byte: number | undefined): string {
  return `0x${(byte ?? 0).toString(16).padStart(2, '0')}`;
}
