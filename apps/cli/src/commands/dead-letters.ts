import { type ConsumerGroup, consumerGroups, topicsOfGroup } from '@pis/integration';
import { pgConsumerState, replayDeadLetters } from '@pis/messaging/clients';
import { kafkaSettings } from '@pis/service-kit/stores';
import { Command, Option } from 'commander';
import { act, type ActionOptions, withOperator } from '../operator-action.js';
import { type OutputOptions, print, withJson } from '../output.js';

export function deadLetterCommands(): Command {
  const command = new Command('dead-letters').description('messages that no retry could handle');
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
        ? replayDeadLetters(kafkaSettings(config, 'pis-cli'), {
            prefix: config.KAFKA_PREFIX,
            group: options.group,
            topics: topicsOfGroup[options.group],
          })
        : { replayed: await pgConsumerState(pool).requestReplay(options.group) },
    );
    print(replayed, options);
  });
  return command;
}
