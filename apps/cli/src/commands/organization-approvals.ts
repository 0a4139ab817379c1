/** `pis organization approvals`: above which amount a payment of the dashboard needs a second person. */
import { organizationApprovals, setOrganizationApprovals } from '@pis/commands';
import { isApprovalAmount, maxAmountMinor } from '@pis/domain';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, withJson } from '../output.js';
import { granted } from '../refusals.js';

interface SetOptions extends OutputOptions, ActionOptions {
  readonly id: string;
  readonly amountAbove?: number;
  readonly none?: true;
}

export function addApprovals(organization: Command): void {
  const approvals = organization
    .command('approvals')
    .description('payments of the dashboard that a second person must approve');
  withOperator(
    withJson(
      approvals
        .command('set')
        .description('set the amount; approvals that exist stay as they are')
        .requiredOption('--id <id>', 'organization ID')
        .option(
          '--amount-above <cents>',
          `a payment of more than this needs an approval, 0 to ${maxAmountMinor} cents`,
          cents,
        )
        .addOption(new Option('--none', 'no payment needs an approval').conflicts('amountAbove')),
    ),
  ).action(setApprovals);
  withJson(
    approvals
      .command('show')
      .description('the amount in force, in cents')
      .requiredOption('--id <id>', 'organization ID'),
  ).action(async (options: OutputOptions & { id: string }) => {
    const id = idGiven('--id', options.id);
    print(granted(await withContext(({ store }) => organizationApprovals(store, id))), options);
  });
}

async function setApprovals(options: SetOptions): Promise<void> {
  const organizationId = idGiven('--id', options.id);
  if (options.amountAbove === undefined && options.none !== true)
    throw new CommandFailed('give either --amount-above or --none');
  const setting = { organizationId, amountAbove: options.amountAbove ?? null };
  const action = { name: 'organization approvals set', subject: setting } as const;
  const set = await act(options, action, async (context) =>
    granted(await setOrganizationApprovals(context, setting)),
  );
  print(set, options);
}

function cents(text: string): number {
  const given = /^\d{1,11}$/.test(text) ? Number(text) : NaN;
  if (!isApprovalAmount(given))
    throw new InvalidArgumentError(`Whole cents, 0 to ${maxAmountMinor}.`);
  return given;
}
