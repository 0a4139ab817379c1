/** `pis organization retention`: how long personal data and bank files of an organization's payments are kept. */
import {
  type OrganizationRetention,
  organizationRetention,
  setOrganizationRetention,
} from '@pis/commands';
import { isRetentionYears, retentionYearsMax } from '@pis/domain';
import { erasureEnv, loadConfig } from '@pis/service-kit/stores';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';
import { granted } from '../refusals.js';

interface SetOptions extends OutputOptions, ActionOptions {
  readonly id: string;
  readonly years?: number;
  readonly default?: true;
}

export function addRetention(organization: Command): void {
  const retention = organization
    .command('retention')
    .description('how long the personal data and bank files of an organization are kept');
  withOperator(
    withJson(
      retention
        .command('set')
        .description('set the retention period; it also holds for what is kept already')
        .requiredOption('--id <id>', 'organization ID')
        .option(
          '--years <years>',
          `whole years after the last payment became final, 0 to ${retentionYearsMax}`,
          years,
        )
        .addOption(
          new Option('--default', 'that of the installation, PIS_RETENTION_YEARS').conflicts(
            'years',
          ),
        ),
    ),
  ).action(setRetention);
  withJson(
    retention
      .command('show')
      .description('the period in force')
      .requiredOption('--id <id>', 'organization ID'),
  ).action(async (options: OutputOptions & { id: string }) => {
    const id = idGiven('--id', options.id);
    const found = await withContext(({ store }) => organizationRetention(store, id));
    print(inForce(granted(found)), options);
  });
}

async function setRetention(options: SetOptions): Promise<void> {
  const organizationId = idGiven('--id', options.id);
  if (options.years === undefined && options.default !== true)
    throw new CommandFailed('give either --years or --default');
  const setting = { organizationId, retentionYears: options.years ?? null };
  const action = { name: 'organization retention set', subject: setting } as const;
  const set = await act(options, action, async (context) =>
    granted(await setOrganizationRetention(context, setting)),
  );
  print(inForce(set), options);
}

function inForce({ organizationId, retentionYears }: OrganizationRetention) {
  const { PIS_RETENTION_YEARS: defaultYears } = loadConfig(erasureEnv, process.env);
  return {
    organizationId,
    retentionYears: retentionYears ?? defaultYears,
    isDefault: retentionYears === null,
  };
}

function years(text: string): number {
  const given = /^\d{1,3}$/.test(text) ? Number(text) : NaN;
  if (!isRetentionYears(given))
    throw new InvalidArgumentError(`Whole years, 0 to ${retentionYearsMax}.`);
  return given;
}
