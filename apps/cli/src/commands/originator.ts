import { Command } from 'commander';
import { openRoutingDirectory } from '@pis/bank-rails/directory';
import { createOriginator } from '@pis/commands';
import { erase, type EraseOptions, withErasure } from '../erasure.js';
import { withContext } from '../context.js';
import { readJson } from '../json-file.js';
import { type OutputOptions, print, withJson } from '../output.js';
import { granted } from '../refusals.js';

export function originatorCommands(): Command {
  const originator = new Command('originator').description("clients' own parties and accounts");
  withJson(
    originator
      .command('create')
      .description('create an originator')
      .requiredOption('--organization <id>', 'organization ID')
      .requiredOption(
        '--file <originator.json>',
        'JSON: the contact-create fields without originatorId; bankAccount required',
      ),
  ).action(async (options: OutputOptions & { organization: string; file: string }) => {
    const input = readJson(options.file);
    const created = await withContext(async (context) =>
      createOriginator(context, {
        organizationId: options.organization,
        input,
        keyring: await context.keyring(),
        banks: openRoutingDirectory(context.pool, context.config.PIS_ENVIRONMENT),
      }),
    );
    print(granted(created), options);
  });
  withErasure(
    originator
      .command('erase')
      .description('erase the personal data of an individual originator for good'),
  ).action((options: EraseOptions) => erase('originator', options));
  return originator;
}
