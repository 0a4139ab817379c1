/**
 * A batch of a class that is not supported. Of its records only what the control records count is read, so that an altered
 * or torn file is refused all the same.
 */
import { otherEntryClasses, type SkippedBatch } from './nacha-file.js';
import { type Reading, sumsOf } from './nacha-reading.js';
import * as records from './nacha-records.js';
import { noTotals, plus } from './nacha-totals.js';

/** Transaction code, routing number and amount. The first digit of the code is the kind of account. */
const countedForm = /^6\d([1-9])(\d{8}).{18}(\d{10})/;
/** The second digit of a transaction code is up to this for credits, in every kind of account. */
const creditDigitMax = '4';

/** The class in the header of a batch, if it is known and not supported. */
export function otherClassOf(header: string): string | null {
  const entryClass = header.slice(50, 53);
  return otherEntryClasses.includes(entryClass) ? entryClass : null;
}

export class SkippedReading {
  totals = noTotals;
  private readonly line: number;
  private readonly serviceClassCode: string;
  private readonly batchNumber: string;
  private entries = 0;

  /** To be made at the header of the batch. */
  constructor(
    private readonly reading: Reading,
    private readonly entryClass: string,
  ) {
    this.line = reading.line;
    this.serviceClassCode = reading.record.slice(1, 4);
    this.batchNumber = reading.record.slice(87);
  }

  entry(): void {
    const { reading } = this;
    const [, digit = '', dfi, amount] =
      countedForm.exec(reading.record) ??
      reading.refuse(2, 'the entry has no transaction code, routing number and amount');
    const isCredit = digit <= creditDigitMax;
    this.entries += 1;
    this.totals = plus(this.totals, {
      ...{ records: 1, entryHash: Number(dfi) },
      creditMinor: isCredit ? Number(amount) : 0,
      debitMinor: isCredit ? 0 : Number(amount),
    });
  }

  addenda(): void {
    if (this.entries === 0) this.reading.refuse(1, 'no entry announced an addenda record here');
    this.totals = plus(this.totals, { ...noTotals, records: 1 });
  }

  control(): SkippedBatch {
    const { reading, entryClass, line, entries, totals, serviceClassCode, batchNumber } = this;
    reading.compare(records.batchControl, reading.read(records.batchControl), {
      ...{ serviceClassCode, batchNumber, entryAddendaCount: totals.records },
      ...sumsOf(totals),
    });
    return { entryClass, line, entries };
  }
}
