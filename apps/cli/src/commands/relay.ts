/** `pis relay`: publishes events of the log to Kafka again. */
import { allTopicSpecs, type Topic, topicSettings } from '@pis/contracts';
import {
  ensureEmptyTopic,
  kafkaPublisher,
  productionReplication,
  TopicNotEmpty,
} from '@pis/messaging/clients';
import {
  anchorNamed,
  filledTopics,
  moveReaders,
  relayGroup,
  type ReplayProgress,
  replayRange,
  type ReplayReport,
} from '@pis/integration';
import { kafkaSettings } from '@pis/service-kit/stores';
import { Command, Option } from 'commander';
import type { Context } from '../context.js';
import { act, type ActionOptions, withOperator } from '../operator-action.js';
import { CommandFailed, describe, type OutputOptions, print, withJson } from '../output.js';
import { outcome, printMoved, refusing, type To } from './consumers.js';

const place = 'a position, an ISO 8601 time, beginning, or end';

interface Range {
  readonly from: string;
  readonly to: string;
  readonly topic: string;
  readonly of: readonly Topic[];
  readonly append?: boolean;
}

export function relayCommands(): Command {
  const command = new Command('relay').description('what is published to Kafka');
  withOperator(
    withJson(
      command
        .command('rewind')
        .description('make the relay publish everything after a place in the log again')
        .requiredOption('--to <place>', place),
    ),
  ).action(async (options: OutputOptions & ActionOptions & To) => {
    const action = { name: 'relay rewind', subject: { to: options.to }, outcome } as const;
    const moved = await act(options, action, (context) =>
      refusing(async () => {
        const anchor = await anchorNamed(context.store, options.to);
        return moveReaders(context, [relayGroup], anchor);
      }),
    );
    printMoved(moved, options);
  });
  withOperator(
    withJson(
      command
        .command('replay')
        .description(
          'publish a part of the log again, or into a new topic; the relay keeps its place',
        )
        .requiredOption('--from <place>', place)
        .requiredOption('--to <place>', place)
        .requiredOption('--topic <topic>', 'a topic of the relay, or the name of a new topic')
        .addOption(
          new Option('--of <topic...>', 'which events go into a new topic').choices(filledTopics),
        )
        .option('--append', 'go on in a new topic that has messages already: after a failure'),
    ),
  ).action(async ({ of = filledTopics, ...given }: Given) => {
    const { from, to, topic, append = false } = given;
    const options = { ...given, of };
    const isNew = !isFilled(topic);
    const action = {
      name: 'relay replay',
      subject: { from, to, topic, ...(isNew ? { of: of.join(' '), append } : {}) },
      outcome: (result: ReplayReport) => ({ ...result }),
    } as const;
    if (isNew) assertNewTopic(topic);
    const report = await act(options, action, (context) =>
      isNew ? replayIntoNew(context, options) : replay(context, { ...options, of: [topic] }),
    );
    print(report, options);
  });
  return command;
}

type Given = OutputOptions & ActionOptions & Omit<Range, 'of'> & Partial<Pick<Range, 'of'>>;

function isFilled(topic: string): topic is Topic {
  return filledTopics.some((one) => one === topic);
}

/** @throws CommandFailed for what is no name of a new topic */
function assertNewTopic(topic: string): void {
  if (!/^[A-Za-z0-9._-]{1,200}$/.test(topic) || topic.startsWith('.'))
    throw new CommandFailed(
      '--topic has 1 to 200 letters, digits, points, hyphens and underscores',
    );
  const specs = allTopicSpecs();
  if (specs.some((spec) => spec.topic === topic))
    throw new CommandFailed(`${topic} is a topic of dead letters`);
  // With another prefix it may be a live topic of another system on the same brokers.
  if (specs.some((spec) => topic.endsWith(spec.topic)))
    throw new CommandFailed(`${topic} ends like a topic of a relay: choose another name`);
}

/** Consumers of the relay's topics see nothing of it. */
async function replayIntoNew(context: Context, range: Range): Promise<ReplayReport> {
  const { config } = context;
  const settings = kafkaSettings(config, 'pis-cli');
  const sources = range.of.map((topic) => topicSettings[topic]);
  const spec = {
    topic: range.topic,
    // As many as the largest source has: a stream is in the partition of the same number.
    partitions: Math.max(...sources.map(({ partitions }) => partitions)),
    retentionMs: Math.max(...sources.map(({ retentionMs }) => retentionMs)),
  };
  const isProduction = config.PIS_ENVIRONMENT === 'production';
  const replication = isProduction ? { replication: productionReplication } : {};
  if (range.append !== true)
    await ensureEmptyTopic(settings, { prefix: config.KAFKA_PREFIX, ...replication }, spec).catch(
      (error: unknown) => {
        if (!(error instanceof TopicNotEmpty)) throw error;
        throw new CommandFailed(`${error.message}: choose another name, or go on with --append`);
      },
    );
  return replay(context, range);
}

/** At least once, in the order of the log. After a failure everything up to the position on stderr is published. */
async function replay(
  { config, store, pool }: Context,
  { from, to, topic, of }: Range,
): Promise<ReplayReport> {
  const [first, last] = await refusing(() =>
    Promise.all([anchorNamed(store, from), anchorNamed(store, to)]),
  );
  const into = isFilled(topic) ? {} : { into: topic };
  const { told, onPage } = progressLine();
  const bounds = { after: first?.position ?? '', to: last?.position ?? '' };
  if (bounds.after >= bounds.to)
    throw new CommandFailed('the log has no event after --from and up to --to');
  const publisher = kafkaPublisher(kafkaSettings(config, 'pis-cli'), {
    prefix: config.KAFKA_PREFIX,
  });
  try {
    const range = { ...bounds, ...into, topics: of, onPage };
    return await replayRange({ store, pool }, range, (messages) => publisher.publish(messages));
  } catch (error) {
    throw new CommandFailed(`${describe(error)}; ${whereToGoOn(told.last)}`);
  } finally {
    await publisher.close();
  }
}

const progressEveryMs = 5_000;

/** Prints what is published on stderr, every few seconds. */
function progressLine() {
  let toldAtMs = performance.now();
  const told: { last: ReplayProgress | null } = { last: null };
  const onPage = (progress: ReplayProgress) => {
    told.last = progress;
    if (performance.now() - toldAtMs < progressEveryMs) return;
    toldAtMs = performance.now();
    process.stderr.write(`pis: ${progress.published} published, up to ${progress.position}\n`);
  };
  return { told, onPage };
}

function whereToGoOn(last: ReplayProgress | null): string {
  return last === null
    ? 'nothing is known to be published'
    : `everything up to position ${last.position} is published: go on with --from ${last.position}`;
}
