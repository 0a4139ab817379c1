import { rebindDatabase } from '@pis/service-kit/stores';
import { Command } from 'commander';
import { act, recordedCommand, type RecordedOptions } from '../operator-action.js';
import { print } from '../output.js';

export function storeCommands(): Command {
  const store = new Command('store').description('what the stores belong to');
  recordedCommand(
    store,
    'rebind',
    'bind the database to the event store that is configured now',
  ).action(async (options: RecordedOptions) => {
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
