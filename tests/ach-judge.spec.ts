/**
 * Our NACHA files before an independent judge: moov-io/ach reads each of them without a complaint, and finds in it what
 * we put there.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  type NachaBatch,
  type NachaEntry,
  type NachaFile,
  serviceClassOf,
  writeNachaFile,
} from '@pis/bank-rails/ach';
import { randomForwardFile, randomReturnFile } from '@pis/bank-rails/testing';
import { generator } from '@pis/local-servers/testing';
import { goProgram } from './support/go.js';

const startLimitMs = 360_000;
const runLimitMs = 120_000;
const outputMaxBytes = 256 * 1024 * 1024;
const seeds = Array.from({ length: 60 }, (_, index) => index + 1);

interface Verdict {
  readonly problem: string;
}

const judge = await goProgram('ach');

if (judge.path === null)
  describe(`before moov-io/ach (not here: ${judge.missing})`, () => {
    it.skip('payments and prenotes are read as they were written', () => undefined);
    it.skip('a file of prenotes alone is read, and its totals are zero', () => undefined);
    it.skip('returns and notifications of change are read as they were written', () => undefined);
    it.skip('a file of 20,000 entries is read as it was written', () => undefined);
    it.skip('a file with an altered digit is refused, so the judge does look', () => undefined);
  });
else
  describe('before moov-io/ach', () => {
    const program = judge.path;
    let folder: string;

    beforeAll(() => {
      folder = mkdtempSync(path.join(os.tmpdir(), 'pis-ach-judge-'));
    }, startLimitMs);
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    it(
      'payments and prenotes are read as they were written',
      async () => {
        const files = seeds.map((seed) => {
          const random = generator(seed);
          return randomForwardFile(random, 1 + random(80));
        });
        await expectToBeRead(files);
      },
      runLimitMs,
    );

    it(
      'a file of prenotes alone is read, and its totals are zero',
      async () => {
        const codes = ['23', '28', '33', '38'] as const;
        const files = seeds.slice(0, 10).map((seed): NachaFile => {
          const { header, batches } = randomForwardFile(generator(seed), 30);
          const asPrenotes = ({ entries, ...batch }: NachaBatch): NachaBatch => ({
            ...batch,
            entries: entries.map((entry, at) => ({
              ...{ ...entry, transactionCode: codes[at % codes.length] ?? '23' },
              amountMinor: 0,
            })),
          });
          return { header, batches: batches.map(asPrenotes) };
        });
        await expectToBeRead(files);
        expect(files.map(expected).every((one) => one.totalDebit + one.totalCredit === 0)).toBe(
          true,
        );
      },
      runLimitMs,
    );

    it(
      'returns and notifications of change are read as they were written',
      async () => {
        const files = seeds.map((seed) => {
          const random = generator(seed);
          return randomReturnFile(random, 1 + random(80));
        });
        await expectToBeRead(files);
      },
      runLimitMs,
    );

    it(
      'a file of 20,000 entries is read as it was written',
      async () => {
        // Ordinary amounts: the total of so many large ones would not fit one file.
        const random = generator(20_000);
        const { header, batches } = randomForwardFile(random, 80);
        const [batch] = batches;
        const [entry] = batch?.entries ?? [];
        if (batch === undefined || entry === undefined) throw new Error('there is no entry');
        const entries = Array.from({ length: 20_000 }, (_, index) => ({
          ...entry,
          transactionCode: '27' as const,
          amountMinor: 1 + random(1_000_000),
          traceNumber: `${batch.odfi}${String(index).padStart(7, '0')}`,
        }));
        const file = { header, batches: [{ ...batch, entries }] };
        await expectToBeRead([file]);
      },
      runLimitMs,
    );

    it('a file with an altered digit is refused, so the judge does look', async () => {
      const bytes = Buffer.from(await writeNachaFile(randomForwardFile(generator(1), 10)));
      const amountColumn = 38;
      const at = bytes.indexOf('\n6') + amountColumn;
      bytes[at] = bytes[at] === 0x31 ? 0x32 : 0x31;
      const [verdict] = verdictsOf([fileWith(bytes, 'altered')]);
      expect(verdict?.problem).toMatch(/TotalDebitEntryDollarAmount|TotalCreditEntryDollarAmount/);
    });

    async function expectToBeRead(files: readonly NachaFile[]): Promise<void> {
      const found = await verdicts(files);
      expect([...new Set(found.map(({ problem }) => problem))]).toEqual(['']);
      expect(found).toEqual(files.map(expected));
    }

    async function verdicts(files: readonly NachaFile[]): Promise<Verdict[]> {
      const paths: string[] = [];
      for (const [index, file] of files.entries())
        paths.push(fileWith(await writeNachaFile(file), String(index)));
      return verdictsOf(paths);
    }

    function fileWith(bytes: Uint8Array, name: string): string {
      const file = path.join(folder, `${name}.ach`);
      writeFileSync(file, bytes);
      return file;
    }

    function verdictsOf(paths: readonly string[]): Verdict[] {
      const { status, stdout, stderr } = spawnSync(program, [], {
        input: `${paths.join('\n')}\n`,
        encoding: 'utf8',
        maxBuffer: outputMaxBytes,
      });
      if (status !== 0) throw new Error(`the judge ended with ${String(status)}: ${stderr}`);
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => {
          const { path: _, ...verdict } = JSON.parse(line) as Verdict & { path: string };
          return verdict;
        });
    }
  });

/** What the judge should find. */
function expected(file: NachaFile) {
  const entries = file.batches.flatMap((batch) => batch.entries);
  const total = (digits: string) =>
    entries
      .filter(({ transactionCode }) => digits.includes(transactionCode.charAt(1)))
      .reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  return {
    problem: '',
    totalDebit: total('678'),
    totalCredit: total('123'),
    batches: file.batches.map(expectedBatch),
  };
}

function expectedBatch(batch: NachaBatch) {
  return {
    serviceClass: Number(serviceClassOf(batch)),
    class: batch.standardEntryClass,
    companyName: batch.companyName,
    companyId: batch.companyId,
    effectiveDate: batch.effectiveDate?.slice(2).replaceAll('-', '') ?? '',
    entries: batch.entries.map(expectedEntry),
  };
}

function expectedEntry(entry: NachaEntry) {
  return {
    transactionCode: Number(entry.transactionCode),
    receivingDfi: entry.receivingDfi,
    accountNumber: entry.accountNumber,
    amount: entry.amountMinor,
    individualId: entry.individualId,
    individualName: entry.individualName,
    traceNumber: entry.traceNumber,
    ...expectedAddenda(entry),
  };
}

function expectedAddenda({ addenda }: NachaEntry) {
  const nothing = {
    information: '',
    reason: '',
    originalTrace: '',
    dateOfDeath: '',
    changeCode: '',
    correctedData: '',
  };
  switch (addenda?.kind) {
    case undefined:
      return nothing;
    case 'payment':
      return { ...nothing, information: addenda.information };
    case 'return':
      return {
        ...nothing,
        reason: addenda.reason,
        originalTrace: addenda.originalTraceNumber,
        dateOfDeath: addenda.dateOfDeath?.slice(2).replaceAll('-', '') ?? '',
      };
    case 'dishonored':
    case 'contested':
      return {
        ...nothing,
        reason: addenda.reason,
        originalTrace: addenda.originalTraceNumber,
      };
    case 'correction':
      return {
        ...nothing,
        changeCode: addenda.changeCode,
        originalTrace: addenda.originalTraceNumber,
        correctedData: addenda.corrected.text,
      };
  }
}
