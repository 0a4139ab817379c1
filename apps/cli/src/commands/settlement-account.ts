/** `pis settlement-account`: the operator's bank account that collected fees go to. */
import { openRoutingDirectory } from '@pis/bank-rails/directory';
import { setSettlementAccount, showSettlementAccount } from '@pis/commands';
import { Command } from 'commander';
import { withContext } from '../context.js';
import { readJson } from '../json-file.js';
import { act, type ActionOptions, recordedCommand } from '../operator-action.js';
import { type OutputOptions, print, withJson } from '../output.js';
import { granted } from '../refusals.js';

export function settlementAccountCommands(): Command {
  const account = new Command('settlement-account').description('where collected fees go');
  recordedCommand(account, 'set', 'set the account; collections that exist keep theirs')
    .requiredOption(
      '--file <file>',
      'JSON: {"name","companyId","bankAccount":{"subType","achRoutingNumber","achAccountNumber"}}',
    )
    .action(setAccount);
  withJson(account.command('show').description('the account in force, masked')).action(
    async (options: OutputOptions) => {
      print(granted(await withContext(({ store }) => showSettlementAccount(store))), options);
    },
  );
  return account;
}

async function setAccount(
  options: OutputOptions & ActionOptions & { readonly file: string },
): Promise<void> {
  const input = readJson(options.file);
  const action = { name: 'settlement-account set', subject: {} } as const;
  const set = await act(options, action, async (context) =>
    granted(
      await setSettlementAccount(context, input, {
        keyring: await context.keyring(),
        banks: openRoutingDirectory(context.pool, context.config.PIS_ENVIRONMENT),
      }),
    ),
  );
  print(set, options);
}
