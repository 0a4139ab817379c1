import { rebindDatabase } from '@pis/service-kit/stores';
import { Command } from 'commander';
import { act, type ActionOptions, withOperator } from '../operator-action.js';
import { type OutputOptions, print, withJson } from '../output.js';

export function storeCommands(): Command {
  const store = new Command('store').description('what the stores belong to');
  withOperator(
    withJson(
      store
        .command('rebind')
        .description('bind the database to the event store that is configured now'),
    ),
  ).action(async (options: OutputOptions & ActionOptions) => {
    const action = {
      name: 'store rebind',
      subject: {},
      outcome: (result: Awaited<ReturnType<typeof rebindDatabase>>) => result,
      checkStores: false,
    } as const;
    print(await act(options, action, rebindDatabase), options);
  });
  return store;
}
