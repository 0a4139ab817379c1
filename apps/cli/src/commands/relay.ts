/** `pis relay`: publishes events of the log to Kafka again. */
import { kafkaPublisher } from '@pis/messaging/clients';
import {
  anchorNamed,
  filledTopics,
  moveReaders,
  relayGroup,
  replayRange,
  type ReplayReport,
} from '@pis/integration';
import { kafkaSettings } from '@pis/service-kit/stores';
import { Command, Option } from 'commander';
import type { Context } from '../context.js';
import { act, type ActionOptions, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';
import { outcome, refusing, type To } from './consumers.js';

const place = 'a position, an ISO 8601 time, beginning, or end';

interface Range {
  readonly from: string;
  readonly to: string;
  readonly topic: string;
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
    print({ moved }, options);
  });
  withOperator(
    withJson(
      command
        .command('replay')
        .description('publish a part of the log again; the relay keeps its place')
        .requiredOption('--from <place>', place)
        .requiredOption('--to <place>', place)
        .addOption(
          new Option('--topic <topic>', 'which').choices(filledTopics).makeOptionMandatory(),
        ),
    ),
  ).action(async (options: OutputOptions & ActionOptions & Range) => {
    const { from, to, topic } = options;
    const action = {
      name: 'relay replay',
      subject: { from, to, topic },
      outcome: (result: ReplayReport) => ({ ...result }),
    } as const;
    const report = await act(options, action, (context) => replay(context, options));
    print(report, options);
  });
  return command;
}

/** At least once, in the order of the log. After a failure a part may be published. */
async function replay(
  { config, store, pool }: Context,
  { from, to, topic }: Range,
): Promise<ReplayReport> {
  const [first, last] = await refusing(() =>
    Promise.all([anchorNamed(store, from), anchorNamed(store, to)]),
  );
  const range = { after: first?.position ?? '', to: last?.position ?? '', topic };
  if (range.after >= range.to) throw new CommandFailed('--to must be after --from');
  const publisher = kafkaPublisher(kafkaSettings(config, 'pis-cli'), {
    prefix: config.KAFKA_PREFIX,
  });
  try {
    return await replayRange({ store, pool }, range, (messages) => publisher.publish(messages));
  } finally {
    await publisher.close();
  }
}
