/** `pis erasures`: erasures of people that have not come to their end. */
import { listUnfinishedErasures } from '@pis/read-models';
import { Command } from 'commander';
import { withContext } from '../context.js';
import { type OutputOptions, printList, withJson } from '../output.js';

const listMax = 1_000;

export function erasureCommands(): Command {
  const command = new Command('erasures').description('erasures of people that are under way');
  withJson(
    command
      .command('list')
      .description(`the oldest ${listMax} that have not ended, with phase and time of the request`),
  ).action(async (options: OutputOptions) => {
    const data = await withContext(({ pool }) => listUnfinishedErasures(pool, listMax));
    printList(data, options);
  });
  return command;
}
