/** `pis payments`: what staff need to know of payments, beyond what the API shows. */
import { Command } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, printItems, withJson } from '../output.js';
import { paymentsInDoubt } from '../rails/in-doubt.js';
import { paymentForStaff } from '../rails/payment-for-staff.js';

export function paymentCommands(): Command {
  const payments = new Command('payments').description('payments, as staff see them');
  withJson(
    payments
      .command('in-doubt')
      .description(
        'all payments that are FAILED_IN_FLIGHT or held by the bank for longer than a day, the newest first, with all that is known',
      ),
  ).action(listInDoubt);
  withOperator(
    withJson(
      payments
        .command('show')
        .description(
          'one payment with its events, why the review blocked it, and what the bank corrected; recorded',
        )
        .requiredOption('--id <paymentId>', 'ID of the payment'),
    ),
  ).action(async (options: OutputOptions & ActionOptions & { id: string }) => {
    const paymentId = idGiven('--id', options.id);
    const action = { name: 'payments show', subject: { paymentId } } as const;
    const shown = await act(options, action, async ({ store, pool, keyring }) =>
      paymentForStaff({ store, pool, keyring: await keyring() }, paymentId),
    );
    print(shown, options);
  });
  return payments;
}

/** @throws CommandFailed after the whole list, when some could not be read */
async function listInDoubt(options: OutputOptions): Promise<void> {
  let unreadable = 0;
  await withContext(({ store, pool }) =>
    printItems(counted(paymentsInDoubt(store, pool)), options),
  );
  if (unreadable > 0)
    throw new CommandFailed(
      `${unreadable} of these payments cannot be read, each with its reason: see PisStreamsQuarantined in docs/runbooks/log.md, and ask the bank by the reference`,
    );

  async function* counted(items: ReturnType<typeof paymentsInDoubt>): typeof items {
    for await (const item of items) {
      if ('unreadable' in item) unreadable += 1;
      yield item;
    }
  }
}
