/** `pis rails`: what goes to banks and comes from them, and what rail-executor could not record of it. */
import { Command } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, printItems, withJson } from '../output.js';
import {
  dismissNotification,
  retryNotifications,
  unmatchedNotifications,
} from '../rails/notifications.js';
import { addConnectionCommands } from './rail-connections.js';
import { fileCommands } from './rail-files.js';

export function railCommands(): Command {
  const rails = new Command('rails').description('what goes to the bank and comes from it');
  const notifications = rails
    .command('notifications')
    .description('notifications from the bank that match no payment');
  withJson(
    notifications
      .command('list')
      .description('all of them, the oldest first, with the reason and the time of the next try'),
  ).action((options: OutputOptions) =>
    withContext(({ pool }) => printItems(unmatchedNotifications(pool), options)),
  );
  withOperator(
    withJson(
      notifications
        .command('retry')
        .description('retry them now; rail-executor also retries by itself for three days')
        .option('--reference <reference>', 'only notifications with this reference, from the list')
        .option('--all', 'all of them'),
    ),
  ).action(retry);
  withOperator(
    withJson(
      notifications
        .command('dismiss')
        .description('take one off the list for good: staff has dealt with it')
        .requiredOption('--id <id>', 'the ID of the notification, from the list'),
    ),
    { isReasonRequired: true },
  ).action(dismiss);
  addConnectionCommands(rails);
  rails.addCommand(fileCommands());
  return rails;
}

async function retry(
  options: OutputOptions & ActionOptions & { reference?: string; all?: boolean },
): Promise<void> {
  const { reference = null, all = false } = options;
  if ((reference === null) !== all) throw new CommandFailed('give either --reference or --all');
  const action = {
    name: 'rails notifications retry',
    subject: { reference },
    outcome: (result: { readonly requested: number }) => result,
  } as const;
  const result = await act(options, action, async ({ pool }) => {
    const requested = await retryNotifications(pool, reference);
    if (requested === 0)
      throw new CommandFailed(
        all
          ? 'there are no unmatched notifications'
          : 'no unmatched notification has this reference',
      );
    return { requested };
  });
  print(result, options);
}

async function dismiss(options: OutputOptions & ActionOptions & { id: string }): Promise<void> {
  const { id } = options;
  if (!/^\d{1,18}$/.test(id)) throw new CommandFailed('--id is not an ID of the list');
  const action = {
    name: 'rails notifications dismiss',
    subject: { id },
    outcome: (result: object) => ({ ...result }),
  } as const;
  const dismissed = await act(options, action, async ({ pool }) => {
    const found = await dismissNotification(pool, id);
    if (found === null) throw new CommandFailed('no unmatched notification has this ID');
    return found;
  });
  print(dismissed, options);
}
