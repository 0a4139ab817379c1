/** `pis sandbox`: what the simulated bank executed, and its statements. */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { jest } from '@jest/globals';
import { instructionEnding } from '@pis/bank-rails/testing';
import { type BankEntry, readStatement, type StatementPart } from '@pis/bank-statements';
import { BankSimulator } from '@pis/bank-simulator/module';
import { createTestDatabase } from '@pis/local-servers/testing';
import { type CliDatabase, cliDatabase } from './support/cli-database.js';
import { pis, pisJson } from './support/process.js';
import { expectRefusal } from './support/refusal.js';

// Each command is a process of its own.
jest.setTimeout(120_000);
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown;

let cli: CliDatabase;
beforeAll(async () => {
  cli = await cliDatabase();
});
afterAll(() => cli?.end());

it('lists one entry per execution', async () => {
  const bank = new BankSimulator(cli.pool, { delayMs: 0 });
  const executed = instructionEnding('4321', { rail: 'RTP' });
  for (const instruction of [executed, executed, instructionEnding('0204')])
    await bank.submit(instruction);
  expect(await pisJson(['sandbox', 'books'], cli.environment)).toEqual({
    data: [
      {
        reference: executed.reference,
        rail: 'RTP',
        direction: 'OUTBOUND',
        amount: 12_345,
        accountLastFour: '4321',
        receivedAt: isoTime,
        executedAt: isoTime,
        state: 'executed',
      },
    ],
  });
});

it.each(['camt053', 'bai2'])('writes the statement of a day as %s', async (format) => {
  const bank = new BankSimulator(cli.pool, { delayMs: 0 });
  const { amountMinor, ...instruction } = instructionEnding('0101', { rail: 'RTP' });
  const before = await statement(format);
  await bank.submit({ ...instruction, amountMinor });
  // The return is due at once, and booked when the bank publishes it.
  await bank.notifications({ after: '', max: 100 });
  const parts = await statement(format);
  const shared = { reference: instruction.reference, amountMinor, rail: 'RTP', status: 'booked' };
  expect(parts.filter(({ kind }) => kind === 'contradiction')).toEqual([]);
  expect(entriesOf(parts).slice(entriesOf(before).length)).toEqual([
    expect.objectContaining({ ...shared, side: 'debit', isReturn: false }),
    expect.objectContaining({ ...shared, side: 'credit', isReturn: true, returnReasonCode: 'R01' }),
  ]);
});

it('a day without entries has a statement, too', async () => {
  const parts = await statement('camt053', ['--date', '2020-02-29']);
  expect(parts.map(({ kind }) => kind)).toEqual(['file', 'account']);
});

async function statement(format: string, args: readonly string[] = []): Promise<StatementPart[]> {
  const file = path.join(cli.scratch, `${randomUUID()}.txt`);
  const command = ['sandbox', 'bank-statement', '--format', format, '--file', file, ...args];
  expect(await pisJson(command, cli.environment)).toMatchObject({ file, format });
  const parts: StatementPart[] = [];
  for await (const part of readStatement(createReadStream(file))) parts.push(part);
  return parts;
}

function entriesOf(parts: readonly StatementPart[]): BankEntry[] {
  return parts.flatMap((part) => (part.kind === 'entry' ? [part.entry] : []));
}

it('does not exist in production', async () => {
  // A store of its own: the other one belongs to the sandbox.
  const own = await createTestDatabase();
  try {
    const production = { ...cli.environment, DATABASE_URL: own.url, PIS_ENVIRONMENT: 'production' };
    expectRefusal(await pis(['sandbox', 'books'], production), 'no simulated bank in production');
  } finally {
    await own.drop();
  }
});
