/** Random statements, for tests. */
import { paymentRails } from '@pis/domain';
import {
  type AccountStatement,
  type AccountWithEntries,
  amountMaxMinor,
  type BankEntry,
  CountedEntries,
  type StatementFile,
} from './statement.js';

type Random = (limit: number) => number;

/** A statement with its entries in memory. */
export interface SampleAccount {
  readonly account: AccountStatement;
  readonly entries: readonly BankEntry[];
}

export interface SampleFile {
  readonly file: StatementFile;
  readonly accounts: readonly SampleAccount[];
}

export interface SampleShape {
  readonly accountsMax: number;
  readonly entriesMax: number;
  /** BAI2 has none. */
  readonly pending: boolean;
}

export async function sampleFile(random: Random, shape: SampleShape): Promise<SampleFile> {
  const accounts: SampleAccount[] = [];
  const count = 1 + random(shape.accountsMax);
  for (let at = 0; at < count; at += 1) accounts.push(await sampleAccount(random, shape));
  return {
    file: {
      fileId: text(random, 35),
      createdAt: new Date(Date.UTC(2026, random(12), 1 + random(28), random(24), random(60))),
      sender: text(random, 35),
      receiver: text(random, 35),
    },
    accounts,
  };
}

/** As the writers take it. */
export async function* accountsOf({ accounts }: SampleFile): AsyncGenerator<AccountWithEntries> {
  for (const { account, entries } of accounts)
    yield await Promise.resolve({ ...account, entries: streamOf(entries) });
}

/** The totals of an account with these entries. */
export async function totalsOf(
  entries: AsyncIterable<BankEntry>,
): Promise<Pick<AccountStatement, 'credits' | 'debits'>> {
  const counted = new CountedEntries();
  for await (const entry of entries) counted.add(entry);
  return counted.totals;
}

export async function* streamOf<Value>(values: Iterable<Value>): AsyncGenerator<Value> {
  for (const value of values) yield await Promise.resolve(value);
}

async function sampleAccount(random: Random, shape: SampleShape): Promise<SampleAccount> {
  const from = 1 + random(28);
  const to = from + random(29 - from);
  const entries = Array.from({ length: random(shape.entriesMax + 1) }, () =>
    sampleEntry(random, { from, to, pending: shape.pending }),
  );
  const account = {
    accountId: text(random, 34),
    accountName: random(3) === 0 ? null : `${text(random, 30)} & "<é漢>'`,
    statementId: text(random, 35),
    from: day(from),
    to: day(to),
    openingMinor: BigInt(random(2_000_000_000) - 1_000_000_000),
    ...(await totalsOf(streamOf(entries))),
  };
  return { account, entries };
}

function sampleEntry(
  random: Random,
  { from, to, pending }: { readonly from: number; readonly to: number; readonly pending: boolean },
): BankEntry {
  const rail = random(6) === 0 ? null : (paymentRails[random(paymentRails.length)] ?? null);
  const isReturn = random(4) === 0;
  const reason = rail === 'ACH' ? `R${String(1 + random(85)).padStart(2, '0')}` : 'AC04';
  return {
    bankReference: random(5) === 0 ? null : text(random, 35),
    reference: random(5) === 0 ? null : text(random, 35),
    traceNumber: rail === 'ACH' ? String(random(1e9)).padStart(15, '0') : null,
    side: random(2) === 0 ? 'credit' : 'debit',
    amountMinor: random(20) === 0 ? amountMaxMinor : 1 + random(100_000_000),
    status: pending && random(8) === 0 ? 'pending' : 'booked',
    bookedOn: day(from + random(to - from + 1)),
    rail,
    isReturn,
    returnReasonCode: isReturn && random(3) > 0 ? reason : null,
  };
}

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function text(random: Random, max: number): string {
  return Array.from({ length: 1 + random(max) }, () => letters.charAt(random(62))).join('');
}

function day(number: number): string {
  return `2026-11-${String(number).padStart(2, '0')}`;
}
