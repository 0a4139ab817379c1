/** `pis rails files`: every file and message to and from a bank. */
import type { ArchivedFile } from '@pis/bank-rails/connections';
import { erasureEnv, loadConfig } from '@pis/service-kit/stores';
import { Command } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';

const listMax = 1_000;
const forgottenAtOnce = 50;

export function fileCommands(): Command {
  const files = new Command('files').description('files and messages to and from banks');
  withJson(
    files
      .command('list')
      .description(`the newest ${listMax}; only a payment's with --payment`)
      .option('--payment <id>', 'only files that hold this payment')
      .option('--after <id>', 'only files older than this one: the last one of the list before'),
  ).action(list);
  withOperator(
    withJson(
      files
        .command('show')
        .description(
          'write the exact bytes to stdout, with full account numbers; erased parts are blank',
        )
        .requiredOption('--id <id>', 'the ID of the file, from the list'),
    ),
  ).action(show);
  withOperator(
    withJson(
      files
        .command('apply')
        .description(
          "apply a bank's ACH file again, for example after an upgrade that can read it; repeats nothing that was reported",
        )
        .requiredOption('--id <id>', 'the ID of the file, from the list'),
    ),
  ).action(apply);
  withOperator(
    withJson(
      files
        .command('forget')
        .description('delete files for good that are older than PIS_RETENTION_YEARS')
        .requiredOption('--before <date>', 'files that were kept before this day, YYYY-MM-DD'),
    ),
  ).action(forget);
  return files;
}

async function list(options: OutputOptions & { payment?: string; after?: string }): Promise<void> {
  const filter = {
    ...(options.payment !== undefined && { paymentId: idGiven('--payment', options.payment) }),
    ...(options.after !== undefined && { after: idGiven('--after', options.after) }),
    max: listMax,
  };
  const { listArchive } = await archive();
  const files = await withContext(({ pool }) => listArchive(pool, filter));
  const data = files.map(shown);
  print(options.json === true ? { data } : data, options);
}

function shown({ id, rail, way, kind, name, sha256, sizeBytes, createdAt }: ArchivedFile) {
  return { id, rail, way, kind, name, sha256, sizeBytes, createdAt };
}

async function show(options: OutputOptions & ActionOptions & { id: string }): Promise<void> {
  const fileId = idGiven('--id', options.id);
  const { fileArchive } = await archive();
  const action = { name: 'rails files show', subject: { fileId } } as const;
  const { file, bytes, erasedBytes } = await act(options, action, async ({ pool, keyring }) => {
    const found = await fileArchive({ pool, keyring: await keyring() }).read(fileId);
    if (found === null) throw new CommandFailed('no file has this ID');
    return found;
  });
  if (options.json === true) {
    const base64 = Buffer.from(bytes).toString('base64');
    print({ ...shown(file), erasedBytes, bytes: base64 }, options);
    return;
  }
  await new Promise<void>((resolve, reject) => {
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
  if (erasedBytes > 0)
    process.stderr.write(`pis: ${erasedBytes} bytes were erased and are shown as spaces\n`);
}

async function apply(options: OutputOptions & ActionOptions & { id: string }): Promise<void> {
  const fileId = idGiven('--id', options.id);
  const { applyAchFileAgain } = await import('@pis/bank-rails/ach');
  const action = {
    name: 'rails files apply',
    subject: { fileId },
    outcome: ({ kind, reports }: { readonly kind: string; readonly reports: number }) => ({
      kind,
      reports,
    }),
  } as const;
  const applied = await act(options, action, async ({ pool, keyring, logger }) => {
    const result = await applyAchFileAgain(fileId, { pool, keyring: await keyring(), log: logger });
    if (result.problem !== null) throw new CommandFailed(result.message);
    return result;
  });
  const { name } = applied.file;
  print({ fileId, name, kind: applied.kind, reports: applied.reports }, options);
}

async function forget(options: OutputOptions & ActionOptions & { before: string }): Promise<void> {
  const { PIS_RETENTION_YEARS: years } = loadConfig(erasureEnv, process.env);
  const before = new Date(`${options.before}T00:00:00.000Z`);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(options.before) || Number.isNaN(before.getTime()))
    throw new CommandFailed('--before is not a day, YYYY-MM-DD');
  const retained = new Date();
  retained.setUTCFullYear(retained.getUTCFullYear() - years);
  if (before > retained)
    throw new CommandFailed(
      `--before is within the ${years} years of PIS_RETENTION_YEARS: it must not be after ${retained.toISOString().slice(0, 10)}`,
    );
  const { forgetArchived } = await archive();
  const action = {
    name: 'rails files forget',
    subject: { before: options.before },
    outcome: (result: { readonly forgotten: number }) => result,
  } as const;
  const result = await act(options, action, async ({ pool }) => {
    let forgotten = 0;
    for (;;) {
      const count = await forgetArchived(pool, before, forgottenAtOnce);
      forgotten += count;
      if (count < forgottenAtOnce) return { forgotten };
    }
  });
  print(result, options);
}

/** Loaded on use: no other command needs what comes with it. */
function archive() {
  return import('@pis/bank-rails/connections');
}
