/** `pis organization rails`: which rails the payments of an organization may take. */
import { organizationRails, setOrganizationRails } from '@pis/commands';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { withContext } from '../context.js';
import { readJson } from '../json-file.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';
import { granted } from '../refusals.js';

interface SetOptions extends OutputOptions, ActionOptions {
  readonly organization: string;
  readonly file?: string;
  readonly allow?: readonly string[];
  readonly prefer?: string;
  readonly limit?: Readonly<Record<string, number>>;
}

export function addRails(organization: Command): void {
  const rails = organization
    .command('rails')
    .description('which rails the payments of an organization may take');
  withOperator(
    withJson(
      rails
        .command('set')
        .description('set all rail settings; what is not given is as before any setting')
        .requiredOption('--organization <id>', 'organization ID')
        .option('--file <file>', 'JSON: allowedRails, preference, limits; instead of the options')
        .option(
          '--allow <rails>',
          'allowed rails, separated by commas; default: all',
          commaSeparated,
        )
        .addOption(new Option('--prefer <preference>', 'fastest or cheapest; default: fastest'))
        .option('--limit <RAIL=CENTS>', 'the most a payment may move; repeatable', addLimit),
    ),
  ).action(setRails);
  withJson(
    rails
      .command('show')
      .description('the settings in force')
      .requiredOption('--organization <id>', 'organization ID'),
  ).action(async (options: OutputOptions & { organization: string }) => {
    const id = idGiven('--organization', options.organization);
    print(granted(await withContext(({ store }) => organizationRails(store, id))), options);
  });
}

async function setRails(options: SetOptions): Promise<void> {
  const organizationId = idGiven('--organization', options.organization);
  const settings = settingsGiven(options);
  const action = { name: 'organization rails set', subject: { organizationId } } as const;
  const set = await act(options, action, async (context) =>
    granted(await setOrganizationRails(context, organizationId, settings)),
  );
  print(set, options);
}

function settingsGiven({ file, allow, prefer, limit }: SetOptions): unknown {
  const given = {
    ...(allow === undefined ? {} : { allowedRails: allow }),
    ...(prefer === undefined ? {} : { preference: prefer }),
    ...(limit === undefined ? {} : { limits: limit }),
  };
  const hasOptions = Object.keys(given).length > 0;
  if (hasOptions === (file !== undefined))
    throw new CommandFailed('give either --file or some of --allow, --prefer and --limit');
  return file === undefined ? given : readJson(file);
}

function commaSeparated(text: string): readonly string[] {
  return text.split(',').map((rail) => rail.trim());
}

function addLimit(
  text: string,
  former: Readonly<Record<string, number>> = {},
): Readonly<Record<string, number>> {
  const [, rail, cents] = /^(\w+)=(\d{1,15})$/.exec(text) ?? [];
  if (rail === undefined || cents === undefined)
    throw new InvalidArgumentError('For example RTP=5000000.');
  if (Object.hasOwn(former, rail)) throw new InvalidArgumentError(`${rail} is given twice.`);
  return { ...former, [rail]: Number(cents) };
}
