import { createOrganization } from '@pis/commands';
import { organization as organizations, streamPrefixOf } from '@pis/domain';
import { beginning, type EventStore, repository } from '@pis/event-store';
import { categoryEvents } from '@pis/read-models';
import { Command } from 'commander';
import { withContext } from '../context.js';
import {
  CommandFailed,
  describe,
  type OutputOptions,
  print,
  printItems,
  withJson,
} from '../output.js';
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
  withJson(
    organization
      .command('list')
      .description('all organizations with their names, the oldest first'),
  ).action(list);
  addApprovals(organization);
  addBranding(organization);
  addRails(organization);
  addRetention(organization);
  addTimeZone(organization);
  return organization;
}

/** @throws CommandFailed after the whole list, when some could not be read */
async function list(options: OutputOptions): Promise<void> {
  let unreadable = 0;
  await withContext(({ store }) => printItems(counted(organizationsIn(store)), options));
  if (unreadable > 0)
    throw new CommandFailed(
      `${unreadable} of these organizations cannot be read, each with its reason: see PisStreamsQuarantined in docs/runbooks/log.md`,
    );

  async function* counted(items: ReturnType<typeof organizationsIn>): typeof items {
    for await (const item of items) {
      if ('unreadable' in item) unreadable += 1;
      yield item;
    }
  }
}

interface ListedOrganization {
  readonly organizationId: string;
  readonly name: string;
  readonly createdAt: string;
}

interface UnreadableOrganization {
  readonly organizationId: string;
  readonly unreadable: string;
}

/** From the log, so that the list is right whether or not a projector runs. The first event has everything. */
async function* organizationsIn(
  store: EventStore,
): AsyncGenerator<ListedOrganization | UnreadableOrganization, void, undefined> {
  const { fold } = repository(store, organizations);
  for await (const event of categoryEvents(store, 'organization', beginning)) {
    if (event.revision !== 0) continue;
    try {
      const { state } = fold([event]);
      if (state === null) continue;
      const { organizationId, name, createdAt } = state;
      yield { organizationId, name, createdAt };
    } catch (error) {
      const organizationId = event.streamId.slice(streamPrefixOf('organization').length);
      yield { organizationId, unreadable: describe(error) };
    }
  }
}
