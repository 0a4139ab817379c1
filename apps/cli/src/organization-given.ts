/** The organization that an option names. */
import { organization } from '@pis/domain';
import { type EventStore, repository } from '@pis/event-store';
import { CommandFailed } from './output.js';

/** An empty list of an organization that was mistyped would look as if it had nothing. @throws CommandFailed */
export async function requireOrganization(
  store: EventStore,
  organizationId: string,
): Promise<void> {
  const { state } = await repository(store, organization).load(organizationId);
  if (state === null) throw new CommandFailed(`there is no organization ${organizationId}`);
}
