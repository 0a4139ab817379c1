/** `pis rails connections`, `pause`, `resume` and `settle`: what staff do after a restore, or for a bank in doubt. */
import { Command, Option } from 'commander';
import { withContext } from '../context.js';
import { act, type ActionOptions, idGiven, withOperator } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, printList, withJson } from '../output.js';
import { termsFrom } from '../rails/arrival.js';
import { voidEntriesOfEndedPayments } from '../rails/ended-entries.js';
import { paymentNamed, type Settlement, settlements, settlePayment } from '../rails/settlement.js';

type Recorded = OutputOptions & ActionOptions;
const withReason = { isReasonRequired: true };

export function addConnectionCommands(rails: Command): void {
  withJson(
    rails
      .command('connections')
      .description('the connections to banks: whether they are paused, and what is under way'),
  ).action(async (options: OutputOptions) => {
    const { connectionStates } = await pauses();
    const data = await withContext(({ pool }) => connectionStates(pool));
    printList(data, options);
  });
  withOperator(
    withJson(
      rails
        .command('pause')
        .description('send nothing new over a connection; its payments wait, answers are recorded')
        .option('--connection <name>', 'the connection; all that were ever used when absent')
        .option('--restored', 'the database was restored: no number is used twice afterwards'),
    ),
    withReason,
  ).action(pause);
  withOperator(
    withJson(
      rails
        .command('resume')
        .description("go on after the payments were compared with the bank's books")
        .requiredOption('--connection <name>', 'the connection'),
    ),
    withReason,
  ).action(resume);
  addSettle(rails);
}

function addSettle(rails: Command): void {
  withOperator(
    withJson(
      rails
        .command('settle')
        .description("settle a payment by what staff found in the bank's books")
        .option('--payment <id>', 'the payment')
        .option(
          '--reference <text>',
          'or what the bank calls it: an end-to-end ID, or the individual ID of an ACH entry',
        )
        .option(
          '--trace <number>',
          'the trace number of the ACH entry; alone it names the payment, beside another option it is kept for returns',
        )
        .option(
          '--connection <name>',
          'of a payment that was never submitted here, or of the ACH entry that is named',
        )
        .addOption(
          new Option(
            '--as <finding>',
            'executed: the bank moved the money; never-sent: it never had it',
          )
            .choices(settlements)
            .makeOptionMandatory(),
        ),
    ),
    withReason,
  ).action(settle);
}

async function pause(
  options: Recorded & { connection?: string; restored?: boolean },
): Promise<void> {
  const { connection = null, restored: isRestored = false, reason = '' } = options;
  const { connectionStates, pauseConnections } = await pauses();
  const action = {
    name: 'rails pause',
    subject: { connection, isRestored },
    outcome: (result: { readonly paused: readonly string[] }) => result,
  } as const;
  const result = await act(options, action, async ({ pool }) => {
    const paused = await pauseConnections(pool, { connection, isRestored, reason });
    if (paused.length > 0) return { paused };
    const names = (await connectionStates(pool)).map((state) => state.connection);
    throw new CommandFailed(
      connection === null
        ? 'no executor has noted a connection yet: give --connection'
        : `no connection has this name: there are ${names.join(', ')}`,
    );
  });
  print(result, options);
}

async function resume(options: Recorded & { connection: string }): Promise<void> {
  const { connection } = options;
  const { isPaused, resumeConnection } = await pauses();
  const action = {
    name: 'rails resume',
    subject: { connection },
    outcome: (result: { readonly voidedEntries: number }) => ({ ...result }),
  } as const;
  const { voidedEntries } = await act(options, action, async ({ pool, store }) => {
    const notPaused = new CommandFailed('no connection of this name is paused');
    if (!(await isPaused(pool, connection))) throw notPaused;
    const voided = await voidEntriesOfEndedPayments({ pool, store }, connection);
    if (!(await resumeConnection(pool, connection))) throw notPaused;
    return { voidedEntries: voided };
  });
  print({ resumed: connection, voidedEntries }, options);
}

interface SettleOptions extends Recorded {
  readonly payment?: string;
  readonly reference?: string;
  readonly trace?: string;
  readonly connection?: string;
  readonly as: Settlement;
}

async function settle(options: SettleOptions): Promise<void> {
  const { payment, reference, trace: traceNumber, connection, as } = options;
  if (payment !== undefined && reference !== undefined)
    throw new CommandFailed('give either --payment or --reference');
  if (traceNumber !== undefined && !/^\d{15}$/.test(traceNumber))
    throw new CommandFailed('--trace is not a trace number of 15 digits');
  const named = reference ?? traceNumber;
  if (payment === undefined && named === undefined)
    throw new CommandFailed('give --payment, --reference or --trace');
  const paymentId =
    payment === undefined
      ? await withContext(({ pool }) => paymentNamed(pool, named ?? '', connection ?? null))
      : idGiven('--payment', payment);
  const action = {
    name: 'rails settle',
    subject: { paymentId, as },
    outcome: (result: object) => ({ ...result }),
  } as const;
  const settled = await act(options, action, (context) => {
    const termsOf = termsFrom(process.env['PIS_BANKS_FILE'], context.config.PIS_ENVIRONMENT);
    return settlePayment(
      { ...context, termsOf },
      {
        ...{ paymentId, as },
        ...(connection !== undefined && { connection }),
        ...(traceNumber !== undefined && { traceNumber }),
      },
    );
  });
  print(settled, options);
}

/** Loaded on use: no other command needs what comes with it. */
function pauses() {
  return import('@pis/bank-rails/connections');
}
