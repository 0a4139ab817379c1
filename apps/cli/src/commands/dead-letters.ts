import { type ConsumerGroup, consumerGroups, topicsOfGroup } from '@pis/integration';
import {
  type DeadLetter,
  kafkaDeadLetters,
  pgConsumerState,
  replayDeadLetters,
} from '@pis/messaging/clients';
import { heldRows } from '@pis/postgres';
import { kafkaSettings, type PlatformConfig } from '@pis/service-kit/stores';
import { Command, Option } from 'commander';
import type pg from 'pg';
import { withContext } from '../context.js';
import { act, type ActionOptions, withOperator } from '../operator-action.js';
import { type OutputOptions, print, printItems, withJson } from '../output.js';

export function deadLetterCommands(): Command {
  const command = new Command('dead-letters').description('messages that no retry could handle');
  withJson(
    command
      .command('list')
      .description('all that were not replayed, with the error; of each group the oldest first')
      .addOption(
        new Option('--group <group>', 'consumer group; default: all').choices(consumerGroups),
      ),
  ).action((options: OutputOptions & { group?: ConsumerGroup }) =>
    withContext(({ config, pool }) => printItems(deadLetters(config, pool, options), options)),
  );
  withOperator(
    withJson(
      command
        .command('replay')
        .description('give a consumer group its parked messages again')
        .addOption(
          new Option('--group <group>', 'consumer group')
            .choices(consumerGroups)
            .makeOptionMandatory(),
        ),
    ),
  ).action(async (options: OutputOptions & ActionOptions & { group: ConsumerGroup }) => {
    const action = {
      name: 'dead-letters replay',
      subject: { group: options.group },
      outcome: ({ replayed }: { readonly replayed: number }) => ({ replayed }),
    } as const;
    const replayed = await act(options, action, async ({ config, pool }) =>
      config.PIS_BROKER === 'kafka'
        ? replayDeadLetters(kafkaSettings(config, 'pis-cli'), ofGroup(config, options.group))
        : { replayed: await pgConsumerState(pool).requestReplay(options.group) },
    );
    print(replayed, options);
  });
  return command;
}

const ofGroup = ({ KAFKA_PREFIX: prefix }: PlatformConfig, group: ConsumerGroup) => ({
  ...{ prefix, group },
  topics: topicsOfGroup[group],
});

async function* deadLetters(
  config: PlatformConfig,
  pool: pg.Pool,
  { group: only }: { readonly group?: ConsumerGroup },
): AsyncGenerator<DeadLetter & { readonly group: string }, void, undefined> {
  for (const group of only === undefined ? consumerGroups : [only]) {
    const letters =
      config.PIS_BROKER === 'kafka'
        ? await kafkaDeadLetters(kafkaSettings(config, 'pis-cli'), ofGroup(config, group))
        : storedDeadLetters(pool, group);
    for await (const letter of letters) yield { group, ...letter };
  }
}

async function* storedDeadLetters(
  pool: pg.Pool,
  group: ConsumerGroup,
): AsyncGenerator<DeadLetter, void, undefined> {
  const rows = heldRows<Omit<DeadLetter, 'parkedAt'> & { readonly parkedAt: Date }>(
    pool,
    `SELECT topic, key, "offset", attempts, error, parked_at AS "parkedAt"
       FROM dead_letters WHERE consumer_group = $1 ORDER BY id`,
    [group],
  );
  for await (const row of rows) yield { ...row, parkedAt: row.parkedAt.toISOString() };
}
