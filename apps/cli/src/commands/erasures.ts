/** `pis erasures`: erasures of people that have not come to their end. */
import { unfinishedErasures } from '@pis/read-models';
import { Command } from 'commander';
import { withContext } from '../context.js';
import { type OutputOptions, printItems, withJson } from '../output.js';

export function erasureCommands(): Command {
  const command = new Command('erasures').description('erasures of people that are under way');
  withJson(
    command
      .command('list')
      .description('all that have not ended, the oldest first, with phase and time of the request'),
  ).action((options: OutputOptions) =>
    withContext(({ pool }) => printItems(unfinishedErasures(pool), options)),
  );
  return command;
}
