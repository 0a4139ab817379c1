import { generator } from '@pis/local-servers/testing';
import { randomEntries } from '../../testing/nacha-files.js';
import { groupIntoFiles, standardEntryClassOf } from './nacha-batches.js';
import { fileAmountMaxMinor, sameDayDescriptiveDate, traceNumberOf } from './nacha-file.js';
import { writeNachaFile } from './nacha-writer.js';
import { testFileHeader } from '../../testing/nacha-files.js';

describe('Entries of several companies, classes and dates', () => {
  it('share a batch exactly when all terms of the batch are equal', () => {
    const items = randomEntries(generator(1), 200);
    const [batches = []] = groupIntoFiles(items);
    expect(batches.length).toBe(new Set(items.map(({ batch }) => JSON.stringify(batch))).size);
    for (const { entries, ...terms } of batches)
      for (const entry of entries)
        expect(items.find((item) => item.entry === entry)?.batch).toEqual(terms);
    expect(batches.flatMap(({ entries }) => entries)).toHaveLength(200);
  });

  it('have ascending trace numbers in each batch, in whatever order they are given', () => {
    const items = randomEntries(generator(2), 100).reverse();
    for (const { entries } of groupIntoFiles(items).flat()) {
      const traces = entries.map((entry) => entry.traceNumber);
      expect(traces).toEqual(traces.toSorted());
    }
  });

  it('are divided among files before a count or a total no longer fits', async () => {
    const largest = randomEntries(generator(3), 250).map(({ batch, entry }) => ({
      batch,
      entry: { ...entry, transactionCode: '22' as const, amountMinor: 9_999_999_999 },
    }));
    const files = groupIntoFiles(largest);
    expect(files.map((batches) => batches.flatMap(({ entries }) => entries).length)).toEqual([
      100, 100, 50,
    ]);
    for (const batches of files) {
      const total = batches
        .flatMap(({ entries }) => entries)
        .reduce((sum, { amountMinor }) => sum + amountMinor, 0);
      expect(total).toBeLessThanOrEqual(fileAmountMaxMinor);
      await writeNachaFile({ header: testFileHeader, batches });
    }
    const small = groupIntoFiles(randomEntries(generator(4), 50), {
      recordsMax: 10,
      amountMaxMinor: fileAmountMaxMinor,
    });
    for (const batches of small) {
      const records = batches
        .flatMap(({ entries }) => entries)
        .reduce((sum, { addenda }) => sum + (addenda === null ? 1 : 2), 0);
      expect(records).toBeLessThanOrEqual(10);
    }
  });

  it('make no file when there are none', () => {
    expect(groupIntoFiles([])).toEqual([]);
  });
});

it.each([
  ['CCD', 'OUTBOUND', true, false],
  ['CCD', 'INBOUND', false, false],
  ['WEB', 'INBOUND', false, true],
  ['PPD', 'OUTBOUND', false, true],
  ['WEB', 'OUTBOUND', true, true],
] as const)(
  'the class is %s for %s payments when the originator is a person: %s, and the contact: %s',
  (expected, direction, originatorIsPerson, contactIsPerson) => {
    expect(
      standardEntryClassOf({
        ...{ direction, originatorIsPerson, contactIsPerson },
        consumerDebits: 'WEB',
      }),
    ).toBe(expected);
  },
);

it('a same-day batch says so in its descriptive date', () => {
  expect(sameDayDescriptiveDate('13:00')).toBe('SD1300');
  expect(() => sameDayDescriptiveDate('1300')).toThrow(RangeError);
});

it('a trace number has the bank and seven digits', () => {
  expect(traceNumberOf('09100001', 42)).toBe('091000010000042');
  expect(() => traceNumberOf('09100001', 10_000_000)).toThrow(RangeError);
  expect(() => traceNumberOf('091000019', 1)).toThrow(RangeError);
});
