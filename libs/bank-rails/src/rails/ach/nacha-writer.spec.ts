import { type BatchTerms, type NachaEntry, type NachaFile } from './nacha-file.js';
import { parseNachaFile } from './nacha-parser.js';
import { nachaSegments, writeNachaFile } from './nacha-writer.js';
import { generator } from '@pis/local-servers/testing';
import { randomForwardFile, randomReturnFile, testFileHeader } from '../../testing/nacha-files.js';

const batch: BatchTerms = {
  standardEntryClass: 'PPD',
  companyName: 'ACME CORP',
  companyId: '1234567890',
  companyDiscretionaryData: '',
  entryDescription: 'PAYMENT',
  descriptiveDate: 'SD1300',
  effectiveDate: '2026-11-23',
  settlementDay: null,
  odfi: '09100001',
};
const entry: NachaEntry = {
  transactionCode: '22',
  receivingDfi: '021000021',
  accountNumber: '123456789',
  amountMinor: 12_345,
  individualId: 'A00000000000001',
  individualName: "Jane O'Neil",
  discretionaryData: '',
  addenda: { kind: 'payment', information: 'Invoice 7' },
  traceNumber: '091000010000001',
};
const fileOf = (...entries: NachaEntry[]): NachaFile => ({
  header: testFileHeader,
  batches: [{ ...batch, entries }],
});
const written = async (file: NachaFile) =>
  Buffer.from(await writeNachaFile(file)).toString('latin1');

describe('A written NACHA file', () => {
  it('has every field where the format puts it', async () => {
    const second = { ...entry, transactionCode: '37', addenda: null } as const;
    const text = await written(
      fileOf(entry, { ...second, amountMinor: 1, traceNumber: '091000010000002' }),
    );
    expect(text.split('\n')).toEqual([
      '101 09100001912345678902611231430A094101SIMULATED BANK         PAYMENT INITIATION             ',
      '5200ACME CORP                           1234567890PPDPAYMENT   SD1300261123   1091000010000001',
      "622021000021123456789        0000012345A00000000000001Jane O'Neil             1091000010000001",
      `705${'Invoice 7'.padEnd(80)}00010000001`,
      "637021000021123456789        0000000001A00000000000001Jane O'Neil             0091000010000002",
      '820000000300042000040000000000010000000123451234567890                         091000010000001',
      `9000001000001000000030004200004000000000001000000012345${' '.repeat(39)}`,
      ...Array.from({ length: 3 }, () => '9'.repeat(94)),
      '',
    ]);
  });

  it('consists of whole blocks of ten records, whatever its length', async () => {
    const random = generator(20261122);
    for (let count = 1; count <= 25; count += 1) {
      const lines = (await written(randomForwardFile(random, count))).split('\n').slice(0, -1);
      expect(lines.length % 10).toBe(0);
      expect(new Set(lines.map((line) => line.length))).toEqual(new Set([94]));
    }
  });

  it('comes in segments, one for each entry with its addenda', () => {
    const file = fileOf(entry);
    const segments = [...nachaSegments(file)];
    expect(segments.map((segment) => segment.entry)).toEqual([null, null, entry, null, null]);
    expect(segments.map((segment) => segment.bytes.length / 95)).toEqual([1, 1, 2, 1, 5]);
  });

  it.each<[string, Partial<NachaEntry>]>([
    ['the amount', { amountMinor: 10_000_000_000 }],
    ['the amount', { amountMinor: 0.5 }],
    ['greater than zero', { amountMinor: 0 }],
    ['a prenote must be zero', { transactionCode: '23' }],
    ['receiving DFI', { receivingDfi: '021000022' }],
    ['account number is missing', { accountNumber: '' }],
    ['individual name has more than 22', { individualName: 'A'.repeat(23) }],
    ['outside printable ASCII', { individualName: 'Zoë' }],
    ['individual name is missing', { individualName: '' }],
    ['individual name has no letter', { individualName: '0 0' }],
    ['individual name has no letter', { individualName: '...' }],
    ['account number has no letter', { accountNumber: '0000' }],
    ['ODFI 09100001', { traceNumber: '021000020000001' }],
    ['information has more than 80', { addenda: { kind: 'payment', information: 'A'.repeat(81) } }],
  ])('is refused when %s does not fit', async (message, change) => {
    await expect(writeNachaFile(fileOf({ ...entry, ...change }))).rejects.toThrow(message);
  });

  it('is refused when its trace numbers do not ascend', async () => {
    await expect(writeNachaFile(fileOf(entry, entry))).rejects.toThrow(
      'greater than the one before',
    );
  });
});

describe('Any set of entries', () => {
  const seeds = Array.from({ length: 40 }, (_, index) => index + 1);

  it.each(seeds)(
    'comes back from the file that it was written to (payments, seed %i)',
    async (seed) => {
      const random = generator(seed);
      const file = randomForwardFile(random, 1 + random(60));
      expect(await parseNachaFile(await writeNachaFile(file))).toEqual({
        file,
        skipped: [],
        problem: null,
      });
    },
  );

  it.each(seeds)(
    'comes back from the file that it was written to (returns, seed %i)',
    async (seed) => {
      const random = generator(seed);
      const file = randomReturnFile(random, 1 + random(60));
      expect(await parseNachaFile(await writeNachaFile(file))).toEqual({
        file,
        skipped: [],
        problem: null,
      });
    },
  );
});
