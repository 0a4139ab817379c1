/** `pis routing-directory`: which bank has a routing number, and which rails reach it. */
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { type DirectoryKind, directoryKinds } from '@pis/bank-rails';
import {
  DirectoryFileRefused,
  type DirectoryImport,
  importDirectory,
  placeOf,
} from '@pis/bank-rails/directory';
import { Command, Option } from 'commander';
import { act, type ActionOptions, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';

interface ImportOptions extends OutputOptions, ActionOptions {
  readonly file: string;
  readonly kind: DirectoryKind;
  readonly acceptRemovals?: boolean;
}

export function routingDirectoryCommands(): Command {
  const command = new Command('routing-directory').description(
    'banks by routing number, and the rails that reach them',
  );
  withOperator(
    withJson(
      command
        .command('import')
        .description("import an operator's complete list of participants, while the system runs")
        .requiredOption('--file <file>', 'the list; docs/rails.md describes the layouts')
        .addOption(
          new Option('--kind <kind>', 'whose list it is')
            .choices(directoryKinds)
            .makeOptionMandatory(),
        )
        .option('--accept-removals', 'also if more than a fifth of the participants are missing'),
    ),
  ).action(importList);
  return command;
}

async function importList(options: ImportOptions): Promise<void> {
  const { kind, file, acceptRemovals = false } = options;
  const action = {
    name: 'routing-directory import',
    subject: { kind, file: path.basename(file), acceptsRemovals: acceptRemovals },
    outcome: ({ problems: _, ...counts }: DirectoryImport) => counts,
  } as const;
  await using handle = await opened(file);
  const imported = await act(options, action, ({ pool }) =>
    importDirectory(pool, {
      kind,
      file: handle.createReadStream({ autoClose: false }),
      acceptsRemovals: acceptRemovals,
    }).catch((error: unknown) => {
      throw error instanceof DirectoryFileRefused
        ? new CommandFailed(`${file}: ${error.message}`)
        : error;
    }),
  );
  const { problems, ...counts } = imported;
  for (const problem of problems) process.stderr.write(`pis: ${file}: ${placeOf(problem)}\n`);
  if (imported.refused > 0)
    process.stderr.write(
      `pis: ${imported.refused} rows were refused, so no participant was removed\n`,
    );
  print(counts, options);
}

/** @throws CommandFailed, before the action is recorded */
async function opened(file: string): Promise<FileHandle> {
  try {
    const handle = await open(file);
    if (!(await handle.stat()).isDirectory()) return handle;
    await handle.close();
  } catch (error) {
    throw new CommandFailed(`cannot read ${file}: ${(error as Error).message}`);
  }
  throw new CommandFailed(`cannot read ${file}: it is a directory`);
}
