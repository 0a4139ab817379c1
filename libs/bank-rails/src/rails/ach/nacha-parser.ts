/**
 * Reads NACHA files. A file is read as a whole or refused as a whole: every record has its layout, every control record
 * agrees with the entries before it, and the file control is there. So a torn or altered file is refused, with the line
 * and the column at which that was noticed.
 */
import { setImmediate } from 'node:timers/promises';
import type { NachaBatch, NachaFile, SkippedBatch } from './nacha-file.js';
import { linesOf, type NachaProblem, NachaRefusal } from './nacha-lines.js';
import { type OpenBatch, Reading } from './nacha-reading.js';
import { blockingFactor, fillRecord } from './nacha-records.js';
import { otherClassOf, SkippedReading } from './nacha-skipped.js';
import { noTotals, plus } from './nacha-totals.js';

/** After so many records the parser lets others run. */
const recordsPerTurn = 2_000;

export interface ParseOptions {
  /** Memory grows with it: about 600 bytes an entry. */
  readonly bytesMax?: number;
  /** Batches of a class that is not supported are counted and left out. Otherwise they refuse the file. */
  readonly skipsUnsupported?: boolean;
}

/** 356,000 records. */
const bytesDefaultMax = 32 * 1024 * 1024;

export type ParsedNacha =
  | {
      readonly file: NachaFile;
      readonly skipped: readonly SkippedBatch[];
      readonly problem: null;
    }
  | { readonly file: null; readonly skipped: readonly []; readonly problem: NachaProblem };

/** Never rejects because of the bytes: a file that cannot be read gives its first problem. */
export async function parseNachaFile(
  bytes: Uint8Array,
  options: ParseOptions = {},
): Promise<ParsedNacha> {
  try {
    return { ...(await readFile(bytes, options)), problem: null };
  } catch (error) {
    if (error instanceof NachaRefusal) return { file: null, skipped: [], problem: error.problem };
    throw error;
  }
}

/** A problem as a sentence. */
export function nachaProblemText({ line, column, message }: NachaProblem): string {
  return `Line ${String(line)}, column ${String(column)}: ${message}.`;
}

async function readFile(
  bytes: Uint8Array,
  { bytesMax = bytesDefaultMax, skipsUnsupported = false }: ParseOptions,
): Promise<{ readonly file: NachaFile; readonly skipped: readonly SkippedBatch[] }> {
  const reading: Reading = new Reading();
  if (bytes.byteLength > bytesMax)
    reading.refuse(1, `the file has more than ${String(bytesMax)} bytes`, 1);
  const batches: NachaBatch[] = [];
  const skipped: SkippedBatch[] = [];
  let skipping: SkippedReading | null = null;
  let header: NachaFile['header'] | null = null;
  let open: OpenBatch | null = null;
  let totals = noTotals;
  let controlLine = 0;

  for (const record of linesOf(bytes)) {
    reading.next(record);
    if (reading.line % recordsPerTurn === 0) await setImmediate();
    const type = record.charAt(0);
    if (controlLine > 0) {
      if (record !== fillRecord) reading.refuse(1, 'after the file control only nines may follow');
      if (reading.line > Math.ceil(controlLine / blockingFactor) * blockingFactor)
        reading.refuse(1, 'the last block is full');
    } else if (header === null) {
      header = reading.fileHeader();
    } else if (skipping !== null && type === '6') {
      skipping.entry();
    } else if (skipping !== null && type === '7') {
      skipping.addenda();
    } else if (skipping !== null && type === '8') {
      skipped.push(skipping.control());
      totals = plus(totals, skipping.totals);
      skipping = null;
    } else if (type === '5' && open === null && skipping === null) {
      const otherClass = skipsUnsupported ? otherClassOf(record) : null;
      if (otherClass === null) open = reading.batchHeader();
      else skipping = new SkippedReading(reading, otherClass);
    } else if (type === '6' && open !== null) {
      reading.entry(open);
    } else if (type === '7' && open !== null) {
      reading.addenda(open, header);
    } else if (type === '8' && open !== null) {
      const closed = reading.batchControl(open);
      batches.push(closed);
      totals = plus(totals, open.totals);
      open = null;
    } else if (type === '9' && open === null && skipping === null) {
      reading.fileControl(batches.length + skipped.length, totals);
      controlLine = reading.line;
    } else {
      reading.refuse(1, `a record of type ${type} may not stand here`);
    }
  }
  if (header === null || controlLine === 0) {
    reading.pastEnd();
    reading.refuse(1, header === null ? 'the file is empty' : 'the file control is missing');
  }
  return { file: { header, batches }, skipped };
}
