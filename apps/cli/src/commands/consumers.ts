/** `pis consumers`: shows and moves the position of each reader of the event log. */
import { idSchema, validate } from '@pis/contracts';
import { readCheckpoints } from '@pis/read-models';
import {
  anchorNamed,
  consumerGroups,
  eventsToReadMax,
  exportCheckpoints,
  type ExportedCheckpoint,
  importCheckpoints,
  type MovedReader,
  moveReaders,
  NoSuchPlace,
  relayGroup,
} from '@pis/integration';
import { shortReaders } from '@pis/service-kit/stores';
import { Argument, Command } from 'commander';
import { type Context, withContext } from '../context.js';
import { readJson } from '../json-file.js';
import { act, type ActionOptions, withOperator } from '../operator-action.js';
import {
  CommandFailed,
  type OutputOptions,
  print,
  printList,
  tellCutCounts,
  withJson,
} from '../output.js';

const groups = [relayGroup, ...consumerGroups];

export function consumerCommands(): Command {
  const command = new Command('consumers').description('how far the readers of the log are');
  withJson(
    command.command('list').description('each checkpoint, and whether the log has its event'),
  ).action(async (options: OutputOptions) => {
    const data = await withContext(listed);
    printList(data, options);
  });
  withJson(
    command.command('export').description('the checkpoints of the consumer groups, for import'),
  ).action(async () => {
    const consumers = await withContext(({ pool }) => exportCheckpoints(pool));
    print({ consumers }, { json: true });
  });
  withOperator(
    withJson(
      command
        .command('import')
        .description('move the groups to their exported checkpoints; refuses another log')
        .requiredOption('--file <file>', 'output of pis consumers export'),
    ),
  ).action(async (options: OutputOptions & ActionOptions & { file: string }) => {
    const consumers = fileOf(options.file);
    const subject = { groups: consumers.map(({ group }) => group) };
    const action = { name: 'consumers import', subject, outcome } as const;
    const moved = await act(options, action, (context) =>
      refusing(() => importCheckpoints(context, consumers)),
    );
    printMoved(moved, options);
  });
  withOperator(
    withJson(
      command
        .command('reset')
        .description('move a consumer group to another place in the log; default: all groups')
        .addArgument(new Argument('[name]', 'which').choices(groups))
        .requiredOption('--to <place>', 'a position, an ISO 8601 time, beginning, or end'),
    ),
  ).action(async (name: string | undefined, options: OutputOptions & ActionOptions & To) => {
    const subject = { group: name ?? null, to: options.to };
    const action = { name: 'consumers reset', subject, outcome } as const;
    const moved = await act(options, action, (context) => reset(context, name, options.to));
    printMoved(moved, options);
  });
  return command;
}

/** The groups, and how much each reads again. */
export function printMoved(moved: readonly MovedReader[], options: OutputOptions): void {
  print({ moved }, options);
  const counts = moved.map(({ reader, eventsToRead }) => [reader, eventsToRead] as const);
  tellCutCounts(Object.fromEntries(counts), eventsToReadMax);
}

export interface To {
  readonly to: string;
}

export const outcome = (moved: readonly MovedReader[]) => ({ moved });

/** Turns an invalid position into a failure that the operator can read. */
export async function refusing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NoSuchPlace) throw new CommandFailed(error.message);
    throw error;
  }
}

async function listed({ pool, store }: Context) {
  const checkpoints = await readCheckpoints(pool);
  const short = new Set(await shortReaders(store, checkpoints));
  return checkpoints.map(({ reader, position, anchor }) => ({
    reader,
    position,
    eventId: anchor?.eventId ?? null,
    logHasIt: !short.has(reader),
  }));
}

/**
 * On Kafka the other groups read topics: they receive again what the relay publishes again. Their positions
 * in the log, which the relay has recorded, are moved along, because they may name events that were lost.
 */
async function reset(
  context: Context,
  name: string | undefined,
  to: string,
): Promise<readonly MovedReader[]> {
  const isOnKafka = context.config.PIS_BROKER === 'kafka';
  if (isOnKafka && name !== undefined && name !== relayGroup)
    throw new CommandFailed(`on Kafka only ${relayGroup} reads the log; reset this group`);
  const stored = await readCheckpoints(context.pool);
  const known = groups.filter((group) => stored.some(({ reader }) => reader === group));
  return refusing(async () =>
    moveReaders(
      context,
      name === undefined ? known : [name],
      await anchorNamed(context.store, to),
      isOnKafka ? 'kafka' : undefined,
    ),
  );
}

function fileOf(file: string): readonly ExportedCheckpoint[] {
  const consumers: unknown = Object(readJson(file)).consumers;
  if (!Array.isArray(consumers) || consumers.length === 0 || !consumers.every(isExported))
    throw new CommandFailed(`${file} is not an output of pis consumers export`);
  return consumers;
}

function isExported(given: unknown): given is ExportedCheckpoint {
  const { group, position, eventId, streamId, revision, kindsRead } = Object(given) as Partial<
    Record<keyof ExportedCheckpoint, unknown>
  >;
  const positionsRead: readonly unknown[] = Object.values(Object(kindsRead) as object);
  return (
    groups.some((known) => known === group) &&
    /^\d{1,40}$/.test(String(position)) &&
    (kindsRead === undefined || (typeof kindsRead === 'object' && !Array.isArray(kindsRead))) &&
    positionsRead.every((read) => typeof read === 'string' && /^\d{0,40}$/.test(read)) &&
    validate(idSchema, eventId).ok &&
    typeof streamId === 'string' &&
    Number.isSafeInteger(revision) &&
    Number(revision) >= 0
  );
}
