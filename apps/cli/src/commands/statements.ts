/** `pis statements`: what the monthly job does, by hand (rule command-13), and lost documents made again. */
import { type DocumentStore, DocumentStoreRefused, openDocuments } from '@pis/documents';
import {
  isMonth,
  type Month,
  monthYearMax,
  monthYearMin,
  statement as statementStreams,
} from '@pis/domain';
import { repository } from '@pis/event-store';
import { earlierClock } from '@pis/postgres';
import { documentsEnv, loadConfig } from '@pis/service-kit/stores';
import {
  allOriginators,
  generateStatement,
  type GenerationContext,
  restoreDocument,
  type StatementGenerationRefusal,
} from '@pis/statements/generation';
import { Command, InvalidArgumentError } from 'commander';
import { type Context, withContext } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { CommandFailed, describe, type OutputOptions, print, withJson } from '../output.js';

interface GenerateOptions extends OutputOptions, Month {
  readonly originator?: string;
}

type Outcome =
  | { readonly originatorId: string; readonly statementId: string; readonly isNew: boolean }
  | { readonly originatorId: string; readonly skipped: StatementGenerationRefusal['refused'] }
  | { readonly originatorId: string; readonly failed: string };

export function statementCommands(): Command {
  const statements = new Command('statements').description('monthly statements of originators');
  withJson(
    statements
      .command('generate')
      .description('generate the statements of a month; those that exist stay as they are')
      .requiredOption('--year <year>', 'of the month', (text) =>
        wholeNumber(text, monthYearMin, monthYearMax),
      )
      .requiredOption('--month <month>', '1 to 12', (text) => wholeNumber(text, 1, 12))
      .option('--originator <id>', 'originator ID; default: all originators'),
  ).action(generate);
  withOperator(
    withJson(
      statements
        .command('restore')
        .description('make a lost PDF again; it is stored only if its bytes are the recorded ones')
        .requiredOption('--id <id>', 'the ID of the statement'),
    ),
  ).action(restore);
  return statements;
}

async function restore(options: OutputOptions & ActionOptions & { id: string }): Promise<void> {
  const statementId = idGiven('--id', options.id);
  const action = { name: 'statements restore', subject: { statementId } } as const;
  const { sha256, sizeBytes } = await act(options, action, async (context) => {
    const { state } = await repository(context.store, statementStreams).load(statementId);
    if (state === null) throw new CommandFailed('no statement has this ID');
    await restoreDocument(await generationOf(context), state);
    return state;
  });
  print({ statementId, sha256, sizeBytes }, options);
}

async function generate(options: GenerateOptions): Promise<void> {
  const { year, month, originator } = options;
  if (!isMonth({ year, month })) throw new CommandFailed('there is no such month');
  const only = originator === undefined ? null : idGiven('--originator', originator);
  const outcomes: Outcome[] = [];
  await withContext(async (context) => {
    const generation = await generationOf(context);
    for await (const originatorId of only === null ? allOriginators(context.pool) : [only])
      outcomes.push(await outcomeOf(generation, { originatorId, year, month }, only !== null));
  });
  const failed = outcomes.filter((outcome) => 'failed' in outcome);
  print({ statements: outcomes }, options);
  if (failed.length > 0)
    throw new CommandFailed(`${failed.length} of ${outcomes.length} statements failed`);
  // Months end at another time for each organization.
  const isEnded = (one: Outcome) => !('skipped' in one) || one.skipped !== 'MONTH_NOT_ENDED';
  if (outcomes.length > 0 && !outcomes.some(isEnded))
    throw new CommandFailed(refusals.MONTH_NOT_ENDED);
}

async function generationOf(context: Context): Promise<GenerationContext> {
  const { PIS_DOCUMENT_STORE: place } = loadConfig(documentsEnv, process.env);
  const { store, pool, by } = context;
  const documents = await documentsAt(place, { pool, keyring: await context.keyring() });
  return { store, pool, documents, by, now: await earlierClock(pool) };
}

/** @throws CommandFailed when the bucket or the credentials are wrong */
async function documentsAt(
  place: string,
  context: Parameters<typeof openDocuments>[1],
): Promise<DocumentStore> {
  try {
    return await openDocuments(place, context);
  } catch (error) {
    if (error instanceof DocumentStoreRefused) throw new CommandFailed(error.message);
    throw error;
  }
}

/** @throws CommandFailed for a refusal or failure of the only originator */
async function outcomeOf(
  context: GenerationContext,
  request: Month & { readonly originatorId: string },
  isOnly: boolean,
): Promise<Outcome> {
  const { originatorId } = request;
  try {
    const made = await generateStatement(context, request);
    if ('refused' in made) {
      if (isOnly) throw new CommandFailed(refusals[made.refused]);
      return { originatorId, skipped: made.refused };
    }
    return { originatorId, statementId: made.statement.statementId, isNew: made.isNew };
  } catch (error) {
    if (isOnly || error instanceof CommandFailed) throw error;
    return { originatorId, failed: describe(error) };
  }
}

const refusals = {
  ORIGINATOR_NOT_FOUND: 'there is no such originator',
  ORIGINATOR_ERASED: 'the originator was erased',
  MONTH_NOT_ENDED: 'the month has not ended, or ended less than ten minutes ago',
  MONTH_BEFORE_ORIGINATOR: 'the originator was created after that month',
} as const satisfies Record<StatementGenerationRefusal['refused'], string>;

function wholeNumber(text: string, min: number, max: number): number {
  const value = /^\d{1,4}$/.test(text) ? Number(text) : NaN;
  if (!(value >= min && value <= max))
    throw new InvalidArgumentError(`A whole number from ${min} to ${max}.`);
  return value;
}
