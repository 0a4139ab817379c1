/** `pis rails files`: every file and message to and from a bank. */
import type { ArchivedFile } from '@pis/bank-rails/connections';
import type { Owner } from '@pis/keyring';
import { erasureEnv, loadConfig } from '@pis/service-kit/stores';
import { Command } from 'commander';
import { type Context, withContext } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';

const listMax = 1_000;
/** Files that one statement deletes. */
const forgottenAtOnce = 1_000;

export function fileCommands(): Command {
  const files = new Command('files').description('files and messages to and from banks');
  withJson(
    files
      .command('list')
      .description(`the newest ${listMax}; only a payment's with --payment`)
      .option('--payment <id>', 'only files that hold this payment, and the answers to them')
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
        .description(
          'delete files for good that are older than PIS_RETENTION_YEARS, or with --id the parts of one file that may speak of anybody',
        )
        .option('--before <date>', 'files that were kept before this day, YYYY-MM-DD')
        .option('--id <id>', 'the ID of one file, from the list'),
    ),
  ).action((options: ForgetOptions) =>
    options.id === undefined ? forgetBefore(options) : forgetOne(options, options.id),
  );
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

type ForgetOptions = OutputOptions & ActionOptions & { before?: string; id?: string };

async function forgetBefore(options: ForgetOptions): Promise<void> {
  const { PIS_RETENTION_YEARS: years } = loadConfig(erasureEnv, process.env);
  const day = options.before ?? '';
  const before = new Date(`${day}T00:00:00.000Z`);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || Number.isNaN(before.getTime()))
    throw new CommandFailed('--before is not a day, YYYY-MM-DD');
  const retained = new Date();
  retained.setUTCFullYear(retained.getUTCFullYear() - years);
  if (before > retained)
    throw new CommandFailed(
      `--before is within the ${years} years of PIS_RETENTION_YEARS: it must not be after ${retained.toISOString().slice(0, 10)}`,
    );
  const { forgetArchived, neededArchived } = await archive();
  const action = {
    name: 'rails files forget',
    subject: { before: day },
    outcome: (result: { readonly forgotten: number; readonly needed: number }) => result,
  } as const;
  const result = await act(options, action, async ({ pool, keyring }) => {
    const ends = { pool, destroyKeys: destroyWith(keyring) };
    let forgotten = 0;
    for (;;) {
      const count = await forgetArchived(ends, before, forgottenAtOnce);
      forgotten += count;
      if (count === 0) return { forgotten, needed: await neededArchived(pool, before) };
    }
  });
  if (result.needed > 0)
    process.stderr.write(
      `pis: ${result.needed} files are kept: they may still be sent, or the bank still has to say what became of the transfer\n`,
    );
  print({ forgotten: result.forgotten }, options);
}

/** What belongs to a party ends with the party: see Erasing people in docs/operations.md. */
async function forgetOne(options: ForgetOptions, given: string): Promise<void> {
  if (options.before !== undefined) throw new CommandFailed('give --before or --id, not both');
  const fileId = idGiven('--id', given);
  const { blankUnmatchedFile } = await archive();
  const action = { name: 'rails files forget', subject: { fileId } } as const;
  const isBlanked = await act(options, action, ({ pool, keyring }) =>
    blankUnmatchedFile({ pool, destroyKeys: destroyWith(keyring) }, fileId),
  );
  if (!isBlanked)
    throw new CommandFailed(
      'no file of this ID has parts that may speak of anybody, or it must still be sent',
    );
  print({ fileId }, options);
}

/** Only files with a key of their own need the master key. */
function destroyWith(keyring: Context['keyring']) {
  return async (owners: readonly Owner[]): Promise<void> => (await keyring()).destroy(owners);
}

/** Loaded on use: no other command needs what comes with it. */
function archive() {
  return import('@pis/bank-rails/connections');
}
