/** `pis sandbox`: the simulated bank. Not in production. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { bankBooks } from '@pis/bank-rails/sandbox';
import { isCalendarDate } from '@pis/bank-statements';
import {
  type BankStatementFormat,
  bankStatementFormats,
  bankToday,
  writeBankStatement,
} from '@pis/bank-statements/sandbox';
import { Command, Option } from 'commander';
import { type Context, withContext } from '../context.js';
import { CommandFailed, type OutputOptions, print, printList, withJson } from '../output.js';

export function sandboxCommands(): Command {
  const sandbox = new Command('sandbox').description('the simulated bank of the sandbox');
  withJson(
    sandbox
      .command('books')
      .description('what the simulated bank executed, one entry per execution; not in production'),
  ).action(async (options: OutputOptions) => {
    const data = await withContext((context) => bankBooks(sandboxPool(context)));
    printList(data, options);
  });
  withJson(
    sandbox
      .command('bank-statement')
      .description('write what the simulated bank booked on one day; not in production')
      .addOption(
        new Option('--format <format>', 'of the file')
          .choices(bankStatementFormats)
          .default('camt053'),
      )
      .option('--date <date>', 'YYYY-MM-DD, the bank keeps Eastern Time; default: today')
      .requiredOption('--file <file>', 'where to write it'),
  ).action(bankStatement);
  return sandbox;
}

interface BankStatementOptions extends OutputOptions {
  readonly format: BankStatementFormat;
  readonly date?: string;
  readonly file: string;
}

async function bankStatement(options: BankStatementOptions): Promise<void> {
  const { format, date = bankToday(), file } = options;
  if (!date.startsWith('20') || !isCalendarDate(date))
    throw new CommandFailed('--date must be a day: YYYY-MM-DD');
  await withContext(async (context) => {
    const pool = sandboxPool(context);
    const stream = createWriteStream(file);
    const written = finished(stream);
    // A failure to open or to write ends the command, also while the books are read.
    written.catch(() => undefined);
    await writeBankStatement(pool, { date, format }, async (text) => {
      if (stream.errored !== null) throw stream.errored;
      if (!stream.write(text)) await Promise.race([once(stream, 'drain'), written]);
    });
    stream.end();
    await written;
  });
  print({ file, format, date }, options);
}

function sandboxPool({ config, pool }: Context): Context['pool'] {
  if (config.PIS_ENVIRONMENT === 'production')
    throw new CommandFailed('there is no simulated bank in production');
  return pool;
}
