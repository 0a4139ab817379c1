import { Command } from 'commander';
import { createOrganization } from '@pis/commands';
import { withContext } from '../context.js';
import { type OutputOptions, print, withJson } from '../output.js';
import { granted } from '../refusals.js';
import { addApprovals } from './organization-approvals.js';
import { addBranding } from './organization-branding.js';
import { addRails } from './organization-rails.js';
import { addRetention } from './organization-retention.js';
import { addTimeZone } from './organization-time-zone.js';

export function organizationCommands(): Command {
  const organization = new Command('organization').description('the clients of this service');
  withJson(
    organization
      .command('create')
      .description('create an organization')
      .requiredOption('--name <name>', 'its name'),
  ).action(async (options: OutputOptions & { name: string }) => {
    const { name } = options;
    print(granted(await withContext((context) => createOrganization(context, { name }))), options);
  });
  addApprovals(organization);
  addBranding(organization);
  addRails(organization);
  addRetention(organization);
  addTimeZone(organization);
  return organization;
}
