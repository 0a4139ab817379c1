/** NACHA files for tests: any content that the format allows, from a source of random numbers. */
import { returnReasons } from '@pis/domain';
import { changeCodes, type ChangeCode, type Correction } from '../rails/ach/corrected-data.js';
import { type EntryOfBatch, groupIntoFiles } from '../rails/ach/nacha-batches.js';
import {
  type BatchTerms,
  entryAmountMaxMinor,
  type NachaEntry,
  type NachaFile,
  type NachaFileHeader,
  traceNumberOf,
  transactionCodeOf,
} from '../rails/ach/nacha-file.js';
import { correctionEntry, returnedEntry, withCheckDigit } from '../rails/ach/returned-entries.js';

/** A whole number from 0 up to, but without, the limit. */
export type RandomNumber = (limit: number) => number;

const nameCharacters =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 .,-'&/()#*+:;=?@!%_";
const simpleCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const testOdfi = '09100001';

export const testFileHeader: NachaFileHeader = {
  immediateDestination: '091000019',
  immediateOrigin: '1234567890',
  createdOn: '2026-11-23',
  createdAt: '14:30',
  fileIdModifier: 'A',
  destinationName: 'SIMULATED BANK',
  originName: 'PAYMENT INITIATION',
  referenceCode: '',
};

/** Payments and prenotes in batches of every class, grouped as groupIntoFiles does. */
export function randomEntries(random: RandomNumber, count: number): EntryOfBatch[] {
  const batches = Array.from({ length: 1 + random(5) }, () => randomBatch(random));
  const first = random(1_000_000);
  return Array.from({ length: count }, (_, index) => {
    const batch = pick(random, batches);
    return { batch, entry: randomEntry(random, batch, traceNumberOf(testOdfi, first + index)) };
  });
}

export function randomForwardFile(random: RandomNumber, count: number): NachaFile {
  return fileOf(randomEntries(random, count));
}

/** The returns of some entries and the notifications of change about others, in one file. */
export function randomReturnFile(random: RandomNumber, count: number): NachaFile {
  const sequences = new Map<string, number>();
  return fileOf(
    randomEntries(random, count).map((original) => {
      // Few banks, so that batches have several entries.
      const rdfi = pick(random, ['02100002', '12100024', '32227162']);
      const sequence = (sequences.get(rdfi) ?? random(1_000)) + 1 + random(3);
      sequences.set(rdfi, sequence);
      const traceNumber = traceNumberOf(rdfi, sequence);
      return random(3) === 0
        ? randomCorrection(random, original, traceNumber)
        : randomReturn(random, original, traceNumber);
    }),
  );
}

/** @throws RangeError when the entries need more than one file */
export function fileOf(items: readonly EntryOfBatch[], header = testFileHeader): NachaFile {
  const [batches = [], ...others] = groupIntoFiles(items);
  if (others.length > 0) throw new RangeError('that is more than one file');
  return { header, batches };
}

export function randomRoutingNumber(random: RandomNumber): string {
  return withCheckDigit(`0${String(1 + random(9))}${numeric(random, 6)}`);
}

function randomBatch(random: RandomNumber): BatchTerms {
  const month = String(1 + random(12)).padStart(2, '0');
  return {
    standardEntryClass: pick(random, ['PPD', 'CCD', 'WEB'] as const),
    companyName: text(random, nameCharacters, 16),
    companyId: text(random, simpleCharacters, 10),
    companyDiscretionaryData: random(2) === 0 ? '' : text(random, nameCharacters, 20),
    entryDescription: pick(random, ['PAYMENT', 'INVOICE', 'RENT']),
    descriptiveDate: pick(random, ['', 'SD1300', 'NOV 26', '261123']),
    effectiveDate: `2026-${month}-${String(1 + random(28)).padStart(2, '0')}`,
    settlementDay: null,
    odfi: testOdfi,
  };
}

function randomEntry(random: RandomNumber, batch: BatchTerms, traceNumber: string): NachaEntry {
  const purpose = random(5) === 0 ? 'prenote' : 'payment';
  const hasAddenda = random(3) === 0;
  return {
    transactionCode: transactionCodeOf({
      account: pick(random, ['CHECKING', 'SAVINGS'] as const),
      side: pick(random, ['credit', 'debit'] as const),
      purpose,
    }),
    receivingDfi: randomRoutingNumber(random),
    accountNumber: numeric(random, 4 + random(14)),
    // Mostly ordinary amounts. Some go up to the limit, but a hundred of them still fit a file.
    amountMinor:
      purpose === 'prenote' ? 0 : 1 + random(random(10) === 0 ? entryAmountMaxMinor : 1_000_000),
    individualId: text(random, simpleCharacters, 15),
    individualName: text(random, nameCharacters, 22),
    discretionaryData:
      batch.standardEntryClass === 'WEB' ? pick(random, ['R', 'S']) : pick(random, ['', 'A1']),
    addenda: hasAddenda ? { kind: 'payment', information: text(random, nameCharacters, 80) } : null,
    traceNumber,
  };
}

function randomReturn(
  random: RandomNumber,
  original: EntryOfBatch,
  traceNumber: string,
): EntryOfBatch {
  const reason = pick(random, Object.keys(returnReasons));
  const isDeath = reason === 'R14' || reason === 'R15';
  return returnedEntry(original, {
    reason,
    traceNumber,
    settlementDay: random(2) === 0 ? null : 1 + random(366),
    dateOfDeath: isDeath ? pick(random, ['1999-12-31', '2026-11-01']) : null,
    information: random(2) === 0 ? '' : text(random, nameCharacters, 21),
  });
}

function randomCorrection(
  random: RandomNumber,
  original: EntryOfBatch,
  traceNumber: string,
): EntryOfBatch {
  const codes = ['C01', 'C02', 'C03', 'C04', 'C05', 'C06', 'C07', 'C09'] as const;
  const changeCode: ChangeCode = pick(
    random,
    codes satisfies readonly (keyof typeof changeCodes)[],
  );
  const correction: Correction = {
    routingNumber: randomRoutingNumber(random),
    accountNumber: numeric(random, 4 + random(13)),
    transactionCode: pick(random, ['22', '32']),
    individualName: text(random, nameCharacters, 22),
    individualId: text(random, simpleCharacters, 22),
  };
  return correctionEntry(original, { changeCode, correction, traceNumber });
}

/** Without spaces at its ends, and with a letter. */
function text(random: RandomNumber, characters: string, max: number): string {
  const length = 1 + random(max);
  const all = Array.from({ length }, () => characters.charAt(random(characters.length))).join('');
  return `X${all.slice(1)}`.replace(/ $/, 'X');
}

function numeric(random: RandomNumber, length: number): string {
  const digits = Array.from({ length: length - 1 }, () => String(random(10))).join('');
  return digits + String(1 + random(9));
}

function pick<Value>(random: RandomNumber, values: readonly Value[]): Value {
  const value = values[random(values.length)];
  if (value === undefined) throw new RangeError('there is nothing to pick from');
  return value;
}
