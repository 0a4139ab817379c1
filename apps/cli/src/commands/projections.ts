import {
  projectionNames,
  type ProjectionName,
  projectionStatus,
  rebuildProjection,
} from '@pis/read-models';
import { Argument, Command } from 'commander';
import { withContext } from '../context.js';
import { type OutputOptions, print, withJson } from '../output.js';

export function projectionCommands(): Command {
  const command = new Command('projections').description('the read models');
  withJson(command.command('status').description('how far each projection is')).action(
    async (options: OutputOptions) => {
      print(await withContext(({ pool, store }) => projectionStatus(pool, store)), options);
    },
  );
  withJson(
    command
      .command('rebuild')
      .description(
        'rebuild from the event store, beside the running system; all when none is named',
      )
      .addArgument(new Argument('[name]', 'which').choices(projectionNames)),
  ).action(async (name: ProjectionName | undefined, options: OutputOptions) => {
    const reports = await withContext(async ({ pool, store }) => {
      const done = [];
      for (const projection of name === undefined ? projectionNames : [name])
        done.push(await rebuildProjection(projection, { pool, store }));
      return done;
    });
    print(reports, options);
  });
  return command;
}
