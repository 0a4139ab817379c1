/** `pis quarantine`: streams that readers of the log hold back, because this release cannot read an event. */
import { idSchema, validate } from '@pis/contracts';
import { quarantinedStreams, requestRetry, skipEvent } from '@pis/read-models';
import { Command, InvalidArgumentError } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, printItems, withJson } from '../output.js';

export function quarantineCommands(): Command {
  const command = new Command('quarantine').description('streams that a reader holds back');
  withJson(
    command.command('list').description('all streams, the oldest first, with reader and reason'),
  ).action((options: OutputOptions) =>
    withContext(({ pool }) => printItems(quarantinedStreams(pool), options)),
  );
  withOperator(
    withJson(
      command
        .command('retry')
        .description('retry a stream now, or all of them; readers also retry by themselves')
        .option('--stream <id>', 'stream ID; default: all'),
    ),
  ).action(async (options: OutputOptions & ActionOptions & { stream?: string }) => {
    const action = {
      name: 'quarantine retry',
      subject: { streamId: options.stream ?? null },
      outcome: (result: { readonly requested: number }) => result,
    } as const;
    const result = await act(options, action, async ({ pool }) => {
      const requested = await requestRetry(pool, options.stream ?? null);
      if (requested === 0)
        throw new CommandFailed(
          options.stream === undefined
            ? 'no stream is in quarantine'
            : 'this stream is not in quarantine',
        );
      return { requested };
    });
    print(result, options);
  });
  withOperator(
    withJson(
      command
        .command('skip')
        .description('make every reader skip one event permanently')
        .requiredOption('--event <id>', 'event ID, from pis quarantine list', eventId),
    ),
    { isReasonRequired: true },
  ).action(async (options: OutputOptions & ActionOptions & { event: string }) => {
    const action = {
      name: 'quarantine skip',
      subject: { eventId: options.event },
      outcome: (result: Skipped) => ({ ...result }),
    } as const;
    const skipped = await act(options, action, async ({ pool, by }) => {
      const found = await skipEvent(pool, options.event, by.actor);
      if (found === null) throw new CommandFailed('this event is not in quarantine');
      return { eventId: options.event, ...found };
    });
    print(skipped, options);
  });
  return command;
}

interface Skipped {
  readonly eventId: string;
  readonly streamId: string;
  readonly readers: readonly string[];
}

function eventId(given: string): string {
  const id = validate(idSchema, given);
  if (!id.ok) throw new InvalidArgumentError('not a UUID.');
  return id.value;
}
