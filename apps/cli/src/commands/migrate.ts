import { migrate } from '@pis/read-models';
import { Command } from 'commander';
import { databaseUrlOf, readConfigWithoutKeys } from '../context.js';
import { type OutputOptions, print, withJson } from '../output.js';

export function migrateCommand(): Command {
  return withJson(
    new Command('migrate').description('apply the SQL migrations that are missing'),
  ).action(async (options: OutputOptions) => {
    const { config, logger } = readConfigWithoutKeys();
    const applied = await migrate({
      connectionString: databaseUrlOf(config),
      log: (line) => logger.info(line),
    });
    print({ applied }, options);
  });
}
