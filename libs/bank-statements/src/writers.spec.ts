/** Writers of statement files. tests/bank-statements-judge.spec.ts has independent judges read what they write. */
import { generator } from '@pis/local-servers/testing';
import { writeBai2 } from './bai2-writer.js';
import { writeCamt053 } from './camt053-writer.js';
import type { BankEntry } from './statement.js';
import { accountsOf, sampleFile, type SampleFile } from './testing.js';

const writers = { BAI2: writeBai2, 'camt.053': writeCamt053 } as const;

describe.each(Object.entries(writers))('%s', (_, write) => {
  it('never finishes a file whose entries do not add up to its totals', async () => {
    const sample = await altered((entry) => ({ ...entry, amountMinor: 1 }));
    await expect(textOf(write(sample.file, accountsOf(sample)))).rejects.toThrow(/add up/);
  });

  it.each([
    ['a reference with a comma', { reference: 'A,B' }],
    ['a reference with a slash', { bankReference: 'A/B' }],
    ['a reference with a line break', { reference: 'A\n99,0' }],
    ['a reference that is too long', { reference: 'x'.repeat(36) }],
    ['a day that does not exist', { bookedOn: '2026-13-01' }],
    ['an amount of zero', { amountMinor: 0 }],
    ['a trace number of 14 digits', { traceNumber: '12345678901234' }],
    ['a reason in words', { returnReasonCode: 'no funds' }],
  ])('refuses %s', async (_case, wrong) => {
    const sample = await altered((entry) => ({ ...entry, ...wrong }));
    await expect(textOf(write(sample.file, accountsOf(sample)))).rejects.toThrow(RangeError);
  });
});

it('BAI2 refuses an entry that is not booked', async () => {
  const sample = await altered((entry) => ({ ...entry, status: 'pending' }));
  await expect(textOf(writeBai2(sample.file, accountsOf(sample)))).rejects.toThrow(/booked/);
});

it('camt.053 refuses a file without an account', async () => {
  const { file } = await altered((entry) => entry);
  const none = accountsOf({ file, accounts: [] });
  await expect(textOf(writeCamt053(file, none))).rejects.toThrow(/at least one account/);
});

it('a name keeps no character that XML does not take', async () => {
  const { file, accounts } = await altered((entry) => entry);
  const named = accounts.map(({ account, entries }) => ({
    account: { ...account, accountName: 'A\u0000B\uD800C<' },
    entries,
  }));
  const text = await textOf(writeCamt053(file, accountsOf({ file, accounts: named })));
  expect(text).toContain('<Nm>A B C&lt;</Nm>');
});

/** One account with entries, the first of which is changed. */
async function altered(change: (entry: BankEntry) => BankEntry): Promise<SampleFile> {
  const shape = { accountsMax: 1, entriesMax: 20, pending: false };
  const { file, accounts } = await sampleFile(generator(7), shape);
  const [{ account, entries } = { account: null, entries: [] }] = accounts;
  const [first, ...others] = entries;
  if (account === null || first === undefined) throw new Error('the sample has no entry');
  return { file, accounts: [{ account, entries: [change(first), ...others] }] };
}

async function textOf(chunks: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) text += chunk;
  return text;
}
