/** `pis payments`: what staff need to know of payments, beyond what the API shows. */
import { Command } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { type OutputOptions, print, printItems, withJson } from '../output.js';
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
  ).action((options: OutputOptions) =>
    withContext(({ store, pool }) => printItems(paymentsInDoubt(store, pool), options)),
  );
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
