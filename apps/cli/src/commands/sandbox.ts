/** `pis sandbox`: the simulated bank. Not in production. */
import { bankBooks } from '@pis/bank-rails/sandbox';
import { Command } from 'commander';
import { withContext } from '../context.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';

export function sandboxCommands(): Command {
  const sandbox = new Command('sandbox').description('the simulated bank of the sandbox');
  withJson(
    sandbox
      .command('books')
      .description('what the simulated bank executed, one entry per execution; not in production'),
  ).action(async (options: OutputOptions) => {
    const data = await withContext(({ config, pool }) => {
      if (config.PIS_ENVIRONMENT === 'production')
        throw new CommandFailed('there is no simulated bank in production');
      return bankBooks(pool);
    });
    print(options.json === true ? { data } : data, options);
  });
  return sandbox;
}
