import { BankRefused } from '@pis/bank-rails';
import {
  correctionsIn,
  type EntryOfBatch,
  kindOfAchFile,
  parseAckFile,
  parseNachaFile,
  returnsIn,
  traceNumberOf,
  writeInquiryFile,
  writeNachaFile,
} from '@pis/bank-rails/ach';
import { bankBooks } from '@pis/bank-rails/sandbox';
import { fileOf } from '@pis/bank-rails/testing';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type pg from 'pg';
import { AchDesk } from './ach-desk.js';
import { BankCore } from './bank-core.js';
import { inProcessFiles } from './in-process-files.js';
import { ScenarioFile } from './scenario-file.js';

let pool: pg.Pool;
/** How many were sent to the database. */
let statements: number;
let database: TestDatabase;
let folder: string;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 8);
  statements = 0;
  pool.on('connect', (client) => {
    const query: (...args: unknown[]) => unknown = client.query.bind(client);
    const counted = (...args: unknown[]) => {
      statements += 1;
      return query(...args);
    };
    Object.assign(client, { query: counted });
  });
  folder = mkdtempSync(path.join(os.tmpdir(), 'pis-ach-desk-'));
});
afterEach(async () => {
  await pool.end();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const odfi = '09100001';
const accountOf = (ending: string) => `77665544${ending}`;

/** A debit of a person's account with this ending. */
function entry(sequence: number, ending: string): EntryOfBatch {
  return {
    batch: {
      standardEntryClass: 'PPD',
      companyName: 'ACME CORP',
      companyId: '1234567890',
      companyDiscretionaryData: '',
      entryDescription: 'COLLECTION',
      descriptiveDate: '',
      effectiveDate: '2026-11-24',
      settlementDay: null,
      odfi,
    },
    entry: {
      transactionCode: '27',
      receivingDfi: '011000138',
      accountNumber: accountOf(ending),
      amountMinor: 10_000 + sequence,
      individualId: `ID${sequence}`,
      individualName: 'Ada Lovelace',
      discretionaryData: '',
      addenda: null,
      traceNumber: traceNumberOf(odfi, sequence),
    },
  };
}

const bytesOf = (entries: readonly EntryOfBatch[]) => writeNachaFile(fileOf(entries));

function openDesk(options: { delayMs?: number; scenarios?: string } = {}) {
  const file = path.join(folder, 'scenarios.yaml');
  if (options.scenarios !== undefined) writeFileSync(file, options.scenarios);
  const scenarios = new ScenarioFile(options.scenarios === undefined ? {} : { path: file });
  return new AchDesk(new BankCore(pool, { delayMs: options.delayMs ?? 0, scenarios }));
}

/** Takes everything out of the mailbox. */
async function collect(desk: AchDesk) {
  const files = inProcessFiles(desk);
  const acks = [];
  const returns = [];
  const corrections = [];
  for (const file of await files.list(100)) {
    const { name, sizeBytes } = file;
    const bytes = await files.get(name);
    expect(bytes.byteLength).toBe(sizeBytes);
    await files.remove(file);
    await files.remove(file);
    if (kindOfAchFile(bytes) === 'ack') {
      const { file } = await parseAckFile(bytes);
      if (file !== null) acks.push(file);
    } else {
      const { file, problem } = await parseNachaFile(bytes);
      if (file === null) throw new Error(problem.message);
      returns.push(...returnsIn(file));
      corrections.push(...correctionsIn(file));
    }
  }
  return { acks, returns, corrections };
}

const trace = (sequence: number) => traceNumberOf(odfi, sequence);
const states = async () =>
  (await bankBooks(pool)).map(({ reference, state, executedAt }) => [
    reference,
    state,
    executedAt !== null,
  ]);

describe('the ACH desk of the simulated bank', () => {
  it('acknowledges a file, and does with each entry what its scenario says', async () => {
    const desk = openDesk();
    const endings = ['4321', '0101', '0199', '0204', '0401', '0502'];
    const bytes = await bytesOf(endings.map((ending, at) => entry(at + 1, ending)));
    await inProcessFiles(desk).put('PIS-1.ach', bytes);
    const { acks, returns } = await collect(desk);
    expect(acks).toMatchObject([
      {
        name: 'PIS-1.ach',
        status: 'accepted',
        entries: [
          { traceNumber: trace(4), status: 'rejected' },
          { traceNumber: trace(5), status: 'pending' },
          { traceNumber: trace(6), status: 'held' },
        ],
      },
    ]);
    expect(
      returns.map(({ addenda, entry: { amountMinor } }) => [
        addenda.originalTraceNumber,
        addenda.reason,
        amountMinor,
      ]),
    ).toEqual([
      [trace(2), 'R01', 10_002],
      [trace(3), null, 10_003],
    ]);
    expect(await states()).toEqual([
      [trace(1), 'executed', true],
      [trace(2), 'returned', true],
      [trace(3), 'returned', true],
      [trace(5), 'pending', false],
      [trace(6), 'pending', false],
    ]);
    expect(await desk.files(10)).toEqual([]);
    expect((await bankBooks(pool))[0]).toMatchObject({
      rail: 'ACH',
      direction: 'INBOUND',
      amount: 10_001,
      accountLastFour: '4321',
    });
  });

  it('accepts prenotes, returns or corrects those that a scenario names, and executes none', async () => {
    const desk = openDesk();
    const endings = ['4321', '0101', '0211', '0212'];
    const bytes = await bytesOf(
      endings.map((ending, at) => {
        const one = entry(at + 1, ending);
        return { ...one, entry: { ...one.entry, transactionCode: '28', amountMinor: 0 } };
      }),
    );
    await inProcessFiles(desk).put('PIS-1.ach', bytes);
    const { acks, returns, corrections } = await collect(desk);
    expect(acks).toMatchObject([{ status: 'accepted', entries: [] }]);
    expect(
      returns.map(({ addenda, entry: one }) => [
        ...[addenda.originalTraceNumber, addenda.reason, one.transactionCode, one.amountMinor],
      ]),
    ).toEqual([[trace(3), 'R03', '26', 0]]);
    expect(
      corrections.map(({ addenda }) => [addenda.originalTraceNumber, addenda.changeCode]),
    ).toEqual([[trace(4), 'C01']]);
    expect(await bankBooks(pool)).toEqual([]);
  });

  it('answers the same file as a duplicate, under any name, and executes nothing twice', async () => {
    const desk = openDesk();
    const bytes = await bytesOf([entry(1, '4321'), entry(2, '0204')]);
    const files = inProcessFiles(desk);
    await Promise.all(Array.from({ length: 5 }, () => files.put('PIS-1.ach', bytes)));
    await files.put('PIS-2.ach', bytes);
    const { acks } = await collect(desk);
    expect(acks.map(({ status }) => status).sort()).toEqual([
      'accepted',
      ...Array.from({ length: 5 }, () => 'duplicate'),
    ]);
    const accepted = { traceNumber: trace(1), status: 'accepted' };
    const rejected = { traceNumber: trace(2), status: 'rejected' };
    // A duplicate lists what the bank knows: the first answer may be lost.
    for (const { status, entries } of acks)
      expect(
        [...entries].sort((a, b) => Number(a.traceNumber) - Number(b.traceNumber)),
      ).toMatchObject(status === 'duplicate' ? [accepted, rejected] : [rejected]);
    expect(await states()).toEqual([[trace(1), 'executed', true]]);
  });

  it('rejects an entry whose trace number came in another file', async () => {
    const desk = openDesk();
    const files = inProcessFiles(desk);
    await files.put('PIS-1.ach', await bytesOf([entry(1, '4321')]));
    await collect(desk);
    await files.put('PIS-2.ach', await bytesOf([entry(1, '9999'), entry(2, '4321')]));
    const { acks } = await collect(desk);
    expect(acks).toMatchObject([
      { status: 'accepted', entries: [{ traceNumber: trace(1), code: 'DUPLICATE_ENTRY' }] },
    ]);
    expect((await states()).map(([reference]) => reference)).toEqual([trace(1), trace(2)]);
  });

  it('confirms a late entry after an inquiry, once', async () => {
    const desk = openDesk();
    const files = inProcessFiles(desk);
    await files.put('PIS-1.ach', await bytesOf([entry(1, '0402'), entry(2, '0401')]));
    await collect(desk);
    const ask = () =>
      files.put(
        'PIS-inquiry.jsonl',
        writeInquiryFile({
          at: new Date().toISOString(),
          traceNumbers: [trace(1), trace(2), trace(9)],
        }),
      );
    await ask();
    const { acks } = await collect(desk);
    const last = new Map(
      acks.flatMap(({ entries }) => entries.map((one) => [one.traceNumber, one.status])),
    );
    expect([...last]).toEqual([
      [trace(1), 'accepted'],
      [trace(2), 'pending'],
    ]);
    expect(acks.every(({ status, name }) => status === 'update' && name === 'PIS-1.ach')).toBe(
      true,
    );
    await ask();
    expect((await collect(desk)).acks).toHaveLength(1);
  });

  it('answers an inquiry about many entries with as many statements as one about few', async () => {
    const desk = openDesk();
    const files = inProcessFiles(desk);
    const sequences = Array.from({ length: 1_000 }, (_, index) => index + 1);
    await files.put('PIS-1.ach', await bytesOf(sequences.map((one) => entry(one, '0401'))));
    await collect(desk);
    const statementsFor = async (traceNumbers: readonly string[]) => {
      const at = new Date().toISOString();
      const before = statements;
      await files.put('PIS-inquiry.jsonl', writeInquiryFile({ at, traceNumbers }));
      const count = statements - before;
      const [ack, ...others] = (await collect(desk)).acks;
      expect(others).toEqual([]);
      expect(ack?.entries.map(({ traceNumber }) => traceNumber)).toEqual(traceNumbers);
      return count;
    };
    const forOne = await statementsFor([trace(1)]);
    expect(await statementsFor(sequences.map(trace))).toBe(forOne);
    expect(forOne).toBeLessThan(10);
  });

  it('takes its time at each step when it is told to', async () => {
    const desk = openDesk({ delayMs: 30 });
    await inProcessFiles(desk).put(
      'PIS-1.ach',
      await bytesOf([entry(1, '0101'), entry(2, '0204')]),
    );
    const seen: string[] = [];
    await until(
      async () => {
        const { acks, returns } = await collect(desk);
        for (const { entries } of acks)
          seen.push(...entries.map(({ traceNumber, status }) => `${traceNumber.at(-1)} ${status}`));
        seen.push(...returns.map(({ addenda }) => `returned ${addenda.reason}`));
        return seen.length >= 5;
      },
      { timeoutMs: 20_000 },
    );
    expect(seen.slice(0, 2)).toEqual(['1 pending', '2 pending']);
    expect(seen.slice(2, 4).sort()).toEqual(['1 accepted', '2 rejected']);
    expect(seen.slice(4)).toEqual(['returned R01']);
    expect(await states()).toEqual([[trace(1), 'returned', true]]);
  });

  it('refuses a torn file and says where, and takes the whole one afterwards', async () => {
    const desk = openDesk();
    const files = inProcessFiles(desk);
    const bytes = await bytesOf([entry(1, '4321'), entry(2, '4321')]);
    await files.put('PIS-1.part', bytes.subarray(0, 300));
    const { acks } = await collect(desk);
    expect(acks).toMatchObject([{ status: 'rejected', code: 'FILE_FORMAT', entries: [] }]);
    expect(acks[0]?.message).toMatch(/^Line \d+, column \d+: /);
    await files.put('PIS-1.ach', bytes);
    expect((await collect(desk)).acks).toMatchObject([{ status: 'accepted' }]);
    expect(await states()).toHaveLength(2);
  });

  it('refuses other bytes under a name that it knows', async () => {
    const files = inProcessFiles(openDesk());
    await files.put('PIS-1.ach', await bytesOf([entry(1, '4321')]));
    const other = files.put('PIS-1.ach', await bytesOf([entry(2, '4321')]));
    await expect(other).rejects.toBeInstanceOf(BankRefused);
  });

  it('delivers its files as often as the scenario says, and sends notifications of change', async () => {
    const scenarios = `scenarios:
      - name: corrected
        match: { accountEndsWith: '1111' }
        outcome: accept
        correction: { code: C01, corrected: '1918171614' }
      - { name: twice, outcome: return, code: R29, duplicate: 2 }`;
    const desk = openDesk({ scenarios });
    await inProcessFiles(desk).put(
      'PIS-1.ach',
      await bytesOf([entry(1, '1111'), entry(2, '4321')]),
    );
    const { acks, returns, corrections } = await collect(desk);
    expect(acks.map(({ status }) => status)).toEqual(['accepted', 'accepted']);
    expect(returns.map(({ addenda }) => addenda.reason)).toEqual(['R29', 'R29']);
    expect(corrections).toMatchObject([
      {
        addenda: {
          changeCode: 'C01',
          originalTraceNumber: trace(1),
          corrected: { accountNumber: '1918171614' },
        },
      },
    ]);
    expect(await states()).toHaveLength(2);
  });

  it('says when its next report is due, after a restart and however late the report is', async () => {
    const returnAfterMs = 7_200_000;
    const first = openDesk({
      scenarios: `scenarios: [{ name: late, outcome: return, code: R01, returnAfterMs: ${returnAfterMs} }]`,
    });
    await inProcessFiles(first).put('PIS-1.ach', await bytesOf([entry(1, '4321')]));
    first.close();
    await pool.query(
      "UPDATE bank_notifications SET due_at = now() + interval '200 milliseconds' WHERE sequence IS NULL",
    );
    const restarted = openDesk();
    const hinted = new Promise<void>((resolve) => restarted.onFile(resolve));
    expect((await collect(restarted)).returns).toEqual([]);
    await hinted;
    expect((await collect(restarted)).returns).toHaveLength(1);
    restarted.close();
  });

  it('keeps no account number and no name', async () => {
    const desk = openDesk();
    await inProcessFiles(desk).put(
      'PIS-1.ach',
      await bytesOf([entry(1, '0101'), entry(2, '0502')]),
    );
    await desk.files(10);
    const tables = await pool.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'bank%'`,
    );
    const rows = await Promise.all(
      tables.rows.map(({ name }) => pool.query(`SELECT t::text AS row FROM "${name}" t`)),
    );
    const { rows: stored } = await pool.query<{ bytes: Buffer }>('SELECT bytes FROM bank_files');
    const everything = [
      JSON.stringify(rows.flatMap((result) => result.rows as unknown[])),
      ...stored.map(({ bytes }) => bytes.toString('latin1')),
    ].join('\n');
    expect(everything).toContain(trace(1));
    for (const hidden of [
      accountOf('0101'),
      accountOf('0502'),
      '011000138',
      'Lovelace',
      'ACME CORP',
    ])
      expect(everything).not.toContain(hidden);
  });
});
