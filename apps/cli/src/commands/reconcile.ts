/** `pis reconcile`: the bank's statement files beside our books. The exit code is 1 when they do not agree. */
import { isCalendarDate } from '@pis/bank-statements';
import { hasReached } from '@pis/read-models';
import { Command, InvalidArgumentError } from 'commander';
import { type Context, withContext } from '../context.js';
import { idGiven } from '../operator-action.js';
import { CommandFailed, type OutputOptions, say, withJson } from '../output.js';
import { reconcile } from '../reconcile/reconciliation.js';
import { type Output, JsonOutput, LineOutput } from '../reconcile/report.js';
import { assertBooksWhole } from '../reconcile/whole-books.js';

interface Options extends OutputOptions {
  readonly file: readonly string[];
  readonly organization?: string;
  readonly from?: string;
  readonly to?: string;
  readonly days: number;
  readonly timeZone: string;
}

/** A booking two banking days later, with a weekend and a holiday between. */
const daysDefault = 5;
const daysLimit = 60;
const zoneDefault = 'America/New_York';
const reachLimitMs = 10_000;
const reachEveryMs = 100;

export function reconcileCommand(): Command {
  return withJson(
    new Command('reconcile')
      .description(
        "compare the bank's statement files (camt.053 or BAI2) with what was sent and received",
      )
      .requiredOption('--file <file>', 'repeat it for several files', collect, [])
      .option('--organization <id>', 'only transfers of this organization')
      .option(
        '--from <date>',
        'first day of our movements that the files should have; default: of the files',
        day,
      )
      .option('--to <date>', 'last day, inclusive', day)
      .option(
        '--days <days>',
        'between our record and the booking that are no finding',
        days,
        daysDefault,
      )
      .option('--time-zone <zone>', 'in which the bank keeps its days', zone, zoneDefault),
  ).action(run);
}

function collect(file: string, files: readonly string[]): readonly string[] {
  return [...files, file];
}

function day(text: string): string {
  if (!isCalendarDate(text)) throw new InvalidArgumentError('It must be a day: YYYY-MM-DD.');
  return text;
}

function days(text: string): number {
  if (!/^\d{1,2}$/.test(text) || Number(text) > daysLimit)
    throw new InvalidArgumentError(`It must be a number of days, at most ${daysLimit}.`);
  return Number(text);
}

function zone(text: string): string {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    throw new InvalidArgumentError('It must be an IANA time zone, such as America/New_York.');
  }
}

async function run(options: Options): Promise<void> {
  const { organization, from = null, to = null } = options;
  if (options.file.length === 0) throw new CommandFailed('name a file with --file');
  const organizationId =
    organization === undefined ? null : idGiven('--organization', organization);
  const output: Output = options.json === true ? new JsonOutput(say) : new LineOutput(say);
  const outcome = await withContext(async (context) => {
    await movementsAreCurrent(context);
    await assertBooksWhole(context, organizationId);
    const asked = { organizationId, from, to, daysMax: options.days, timeZone: options.timeZone };
    return reconcile(context.pool, { files: options.file, ...asked }, output);
  });
  const agrees = await output.end(outcome);
  if (!agrees) process.exitCode = 1;
}

/** @throws CommandFailed */
async function movementsAreCurrent({ pool, store }: Context): Promise<void> {
  const position = await store.lastPosition();
  const endMs = performance.now() + reachLimitMs;
  while (!(await hasReached({ pool, store }, 'movements', position))) {
    if (performance.now() > endMs)
      throw new CommandFailed(
        'the movements lag behind the log: is the payments projector running?',
      );
    await new Promise((resolve) => setTimeout(resolve, reachEveryMs));
  }
}
