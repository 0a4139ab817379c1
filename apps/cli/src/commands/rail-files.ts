/** `pis rails files`: every file and message to and from a bank. */
import type { ArchivedFile, ArchivedLeft, FileCursor } from '@pis/bank-rails/connections';
import type { Owner } from '@pis/keyring';
import type { RetentionPeriods } from '@pis/read-models';
import { erasureEnv, loadConfig } from '@pis/service-kit/stores';
import { Command } from 'commander';
import { type Context, withContext } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, printList, withJson } from '../output.js';

const listMax = 1_000;
/** Files that one statement deletes. */
const forgottenAtOnce = 1_000;

export function fileCommands(): Command {
  const files = new Command('files').description('files and messages to and from banks');
  withJson(
    files
      .command('list')
      .description(
        `the newest ${listMax}, and whether there are older ones; only a payment's with --payment`,
      )
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
          'delete files for good whose retention period has ended, or with --id the parts of one file that may speak of anybody',
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
  const { findArchived, listArchive } = await archive();
  // One more than is listed tells whether there are others.
  const found = await withContext(async ({ pool }) => {
    const { after, max } = filter;
    // Nothing is older than a file that is not there: the list would seem to be at its end.
    if (after !== undefined && (await findArchived(pool, after)) === null)
      throw new CommandFailed('--after: no file has this ID');
    return listArchive(pool, { ...filter, max: max + 1 });
  });
  const data = found.slice(0, listMax).map(shown);
  const nextAfter = found.length > listMax ? data.at(-1)?.id : undefined;
  if (options.json === true) print({ data, nextAfter }, options);
  else printList(data, options);
  if (nextAfter !== undefined)
    process.stderr.write(`pis: there are older files: go on with --after ${nextAfter}\n`);
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
  const { before: day } = options;
  if (day === undefined) throw new CommandFailed('give either --before or --id');
  const { PIS_RETENTION_YEARS: defaultYears } = loadConfig(erasureEnv, process.env);
  const before = new Date(`${day}T00:00:00.000Z`);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || Number.isNaN(before.getTime()))
    throw new CommandFailed('--before is not a day, YYYY-MM-DD');
  const { archivedLeft, forgetArchived } = await archive();
  const { retentionPeriods } = await import('@pis/read-models');
  const action = {
    name: 'rails files forget',
    subject: { before: day, defaultRetentionYears: defaultYears },
    outcome: (result: ArchivedLeft & { readonly forgotten: number }) => ({ ...result }),
  } as const;
  const result = await act(options, action, async ({ pool, store, keyring }) => {
    const ends = { pool, destroyKeys: destroyWith(keyring) };
    let forgotten = 0;
    for (let after: FileCursor | null = null; ; ) {
      // Anew for each page: a period may have been set meanwhile.
      const periods = await retentionPeriods({ pool, store }, defaultYears);
      assertEnded(before, periods);
      const page = { after, max: forgottenAtOnce };
      const { forgotten: some, next } = await forgetArchived(ends, { ...periods, before }, page);
      forgotten += some;
      if (next === null) return { forgotten, ...(await archivedLeft(pool, before)) };
      after = next;
    }
  });
  const { forgotten, needed, retained } = result;
  if (needed > 0)
    process.stderr.write(
      `pis: ${needed} files are kept: they may still be sent, or the bank still has to say what became of the transfer\n`,
    );
  if (retained > 0)
    process.stderr.write(
      `pis: ${retained} files are kept: a longer retention period of an organization has not ended\n`,
    );
  print({ forgotten }, options);
}

/** @throws CommandFailed when no file of that time can have ended */
function assertEnded(before: Date, { shortestYears }: RetentionPeriods): void {
  const ended = new Date();
  ended.setUTCFullYear(ended.getUTCFullYear() - shortestYears);
  if (before > ended)
    throw new CommandFailed(
      `--before is within the ${shortestYears} years of the shortest retention period (PIS_RETENTION_YEARS, or one of an organization): it must not be after ${ended.toISOString().slice(0, 10)}`,
    );
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
