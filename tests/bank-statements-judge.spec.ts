/**
 * Our statement files before independent judges: camt.053 before ISO's own schema, BAI2 before moov-io/bai2, which
 * reads each file without a complaint and finds in it what we put there.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { writeBai2, writeCamt053 } from '@pis/bank-statements';
import { accountsOf, sampleFile, type SampleFile } from '@pis/bank-statements/testing';
import { schemaProblems } from '@pis/bank-rails/testing';
import { generator } from '@pis/local-servers/testing';
import { goProgram } from './support/go.js';
import { statementSchema } from './support/iso-judges.js';

const startLimitMs = 360_000;
const runLimitMs = 120_000;
const outputMaxBytes = 256 * 1024 * 1024;
const seeds = Array.from({ length: 40 }, (_, index) => index + 1);

const schema = statementSchema();

if (schema.path === null)
  describe(`camt.053 before ISO's schema (not here: ${schema.missing})`, () => {
    it.skip('every statement is valid', () => undefined);
    it.skip('a statement without its balances is refused, so the validator does look', () =>
      undefined);
  });
else
  describe("camt.053 before ISO's schema", () => {
    const xsd = readFileSync(schema.path, 'utf8');

    it(
      'every statement is valid',
      async () => {
        const shape = { accountsMax: 5, entriesMax: 30, pending: true };
        const documents: string[] = [];
        for (const seed of seeds)
          documents.push(await camt053(await sampleFile(generator(seed), shape)));
        expect(await schemaProblems(xsd, documents)).toEqual([]);
      },
      runLimitMs,
    );

    it('a statement without its balances is refused, so the validator does look', async () => {
      const shape = { accountsMax: 1, entriesMax: 1, pending: false };
      const document = await camt053(await sampleFile(generator(1), shape));
      const problems = await schemaProblems(xsd, [document.replaceAll(/<Bal>.*<\/Bal>\n/g, '')]);
      expect(problems.join()).toMatch(/Bal/);
    });
  });

const judge = await goProgram('bai2');

if (judge.path === null)
  describe(`BAI2 before moov-io/bai2 (not here: ${judge.missing})`, () => {
    it.skip('statements are read as they were written, with right control totals', () => undefined);
    it.skip('a file with a broken amount is refused, so the judge does look', () => undefined);
  });
else
  describe('BAI2 before moov-io/bai2', () => {
    const program = judge.path;
    let folder: string;

    beforeAll(() => {
      folder = mkdtempSync(path.join(os.tmpdir(), 'pis-bai2-judge-'));
    }, startLimitMs);
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    it(
      'statements are read as they were written, with right control totals',
      async () => {
        const shape = { accountsMax: 5, entriesMax: 30, pending: false };
        for (const seed of seeds) {
          const sample = await sampleFile(generator(seed), shape);
          const verdict = verdictOf(await bai2(sample));
          expect(verdict.problem).toBe('');
          expectSums(verdict);
          expect(found(verdict)).toEqual(expected(sample));
        }
      },
      runLimitMs,
    );

    it('a file with a broken amount is refused, so the judge does look', async () => {
      const shape = { accountsMax: 1, entriesMax: 1, pending: false };
      const text = await bai2(await sampleFile(generator(3), shape));
      expect(verdictOf(text.replace(/^49,-?\d/m, '49,x')).problem).toMatch(
        /AccountTrailer: invalid Amount/,
      );
    });

    function verdictOf(text: string): Verdict {
      const file = path.join(folder, 'statement.bai2');
      writeFileSync(file, text);
      const { status, stdout, stderr } = spawnSync(program, [], {
        input: `${file}\n`,
        encoding: 'utf8',
        maxBuffer: outputMaxBytes,
      });
      if (status !== 0) throw new Error(`the judge ended with ${String(status)}: ${stderr}`);
      return JSON.parse(stdout) as Verdict;
    }
  });

interface Control {
  readonly total: string;
  readonly records: number;
}
interface Sums extends Control {
  readonly count: number;
  readonly sumTotal: string;
  readonly sumCount: number;
  readonly sumRecords: number;
}
interface Account extends Control {
  readonly number: string;
  readonly currency: string;
  readonly summaries: readonly { typeCode: string; amount: string; count: number }[];
  readonly details: readonly {
    typeCode: string;
    amount: string;
    date: string;
    bankReference: string;
    reference: string;
    text: string;
  }[];
}
interface Verdict extends Sums {
  readonly problem: string;
  readonly sender: string;
  readonly receiver: string;
  readonly groups: readonly (Sums & { asOf: string; accounts: readonly Account[] })[];
}

/**
 * What the judge adds up itself equals what the trailers say. It subtracts debits in accounts, which the specification
 * does not, so an account's total is added here from the judge's amounts.
 */
function expectSums(verdict: Verdict): void {
  for (const sums of [verdict, ...verdict.groups]) {
    expect(sums.total).toBe(sums.sumTotal);
    expect(sums.count).toBe(sums.sumCount);
    expect(sums.records).toBe(sums.sumRecords);
  }
  for (const { total, records, summaries, details } of verdict.groups.flatMap(
    ({ accounts }) => accounts,
  )) {
    const amounts = [...summaries, ...details].map(({ amount }) => BigInt(amount));
    expect(BigInt(total)).toBe(amounts.reduce((sum, amount) => sum + amount, 0n));
    // The account, its trailer, and two lines for each entry.
    expect(records).toBe(2 + 2 * details.length);
  }
}

function found({ sender, receiver, groups }: Verdict) {
  const accounts = groups.flatMap(({ asOf, accounts: held }) =>
    held.map(({ number, currency, summaries, details }) => ({
      ...{ asOf, number, currency, summaries },
      details: details.map(({ amount, date, bankReference, reference, text, typeCode }) => ({
        ...{ amount, date, bankReference, reference },
        side: typeCode < '400' ? 'credit' : 'debit',
        trace: /TRACE (\d+)/.exec(text)?.[1] ?? null,
      })),
    })),
  );
  return { sender, receiver, accounts };
}

function expected({ file, accounts }: SampleFile) {
  const short = (date: string) => date.slice(2).replaceAll('-', '');
  return {
    sender: file.sender,
    receiver: file.receiver,
    accounts: accounts.map(({ account, entries }) => ({
      asOf: short(account.to),
      number: account.accountId,
      currency: 'USD',
      summaries: [
        { typeCode: '010', amount: String(account.openingMinor), count: 0 },
        {
          typeCode: '015',
          amount: String(account.openingMinor + account.credits.sumMinor - account.debits.sumMinor),
          count: 0,
        },
        {
          typeCode: '100',
          amount: String(account.credits.sumMinor),
          count: account.credits.count,
        },
        { typeCode: '400', amount: String(account.debits.sumMinor), count: account.debits.count },
      ],
      details: entries.map(
        ({ amountMinor, bookedOn, bankReference, reference, side, traceNumber }) => ({
          amount: String(amountMinor),
          date: short(bookedOn),
          bankReference: bankReference ?? '',
          reference: reference ?? '',
          side,
          trace: traceNumber,
        }),
      ),
    })),
  };
}

async function camt053(sample: SampleFile): Promise<string> {
  return textOf(writeCamt053(sample.file, accountsOf(sample)));
}

async function bai2(sample: SampleFile): Promise<string> {
  return textOf(writeBai2(sample.file, accountsOf(sample)));
}

async function textOf(chunks: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) text += chunk;
  return text;
}
