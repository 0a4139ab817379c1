/** `pis contact erase` and `pis originator erase`: the use case, over the stores of the command. */
import { setTimeout as delay } from 'node:timers/promises';
import { type ErasedParty, type ErasureOrder, PartyErasure } from '@pis/commands';
import { keyAgeMaxMs } from '@pis/keyring';
import { earlierClock } from '@pis/postgres';
import {
  ApprovalsQuery,
  isRewritten,
  noteErasure,
  PartyTransfers,
  PaymentLinkTable,
  repeatErasures,
} from '@pis/read-models';
import { erasureEnv, loadConfig } from '@pis/service-kit/stores';
import { type Command, Option } from 'commander';
import type { Context } from './context.js';
import { act, type ActionOptions, idGiven, withOperator } from './operator-action.js';
import { type OutputOptions, print, withJson } from './output.js';
import { granted } from './refusals.js';

/**
 * The waits of an erasure. Together with its work they stay below ten seconds.
 *
 * Requests that have begun usually end within the first wait. The payment of one that takes longer is never
 * sent: the executor fails it (party-erasure.ts). The second wait is longer than any process uses a key that
 * was destroyed, because its clock may be a little slower.
 */
export const erasureWaits = { settleMs: 1_000, keysInUseMs: keyAgeMaxMs + 1_000 } as const;
/** How long the command waits for the tables. After that it leaves them to the projector. */
const rewriteWaitMaxMs = 10_000;
const rewritePollMs = 200;

export interface EraseOptions extends OutputOptions, ActionOptions {
  readonly id: string;
  readonly overrideRetention?: boolean;
}

/** Adds the options that both commands have. */
export function withErasure(command: Command): Command {
  return withOperator(withJson(command), { isReasonRequired: true })
    .requiredOption('--id <id>', 'ID of the one to erase')
    .addOption(
      new Option(
        '--override-retention',
        'erase although the retention period of the organization runs; recorded with the reason',
      ),
    );
}

/** Erases, records the action, waits for the tables, and prints the result. @throws CommandFailed for a refusal */
export async function erase(kind: ErasureOrder['kind'], options: EraseOptions): Promise<void> {
  const id = idGiven('--id', options.id);
  const overridesRetention = options.overrideRetention === true;
  const { PIS_RETENTION_YEARS: defaultRetentionYears } = loadConfig(erasureEnv, process.env);
  const action = {
    name: `${kind} erase`,
    subject: { [`${kind}Id`]: id, overridesRetention, defaultRetentionYears },
    outcome: ({ erasedAt, alreadyErased, retentionYears }: ErasedParty) => ({
      ...{ erasedAt, alreadyErased, retentionYears },
    }),
  } as const;
  const erased = await act(options, action, (context) =>
    run(
      context,
      { kind, id, overridesRetention, reason: options.reason ?? '' },
      defaultRetentionYears,
    ),
  );
  const { erasedAt, alreadyErased, isEverywhere } = erased;
  if (alreadyErased)
    process.stderr.write(`pis: ${kind} ${id} was erased before; it was done again\n`);
  if (!isEverywhere)
    process.stderr.write(
      'pis: copies in lists and deliveries are not rewritten yet; the directory-projector and the payments-projector do that\n',
    );
  print({ [`${kind}Id`]: id, erasedAt, alreadyErased }, options);
}

async function run(
  { store, pool, keyring, by }: Context,
  order: Omit<ErasureOrder, 'by'>,
  defaultRetentionYears: number,
): Promise<ErasedParty & { readonly isEverywhere: boolean }> {
  const keys = await keyring();
  const erasure = new PartyErasure({
    store,
    transfers: new PartyTransfers(pool, store),
    counterpartyPayments: (id) => new PaymentLinkTable(pool).paymentsOfCounterparty(id),
    counterpartyApprovals: (id) => new ApprovalsQuery(pool).ofUnsavedRecipient(id),
    notify: ({ kind, id, phase, position }) =>
      noteErasure(pool, { kind, id, phase: phase ?? 'withdrawn', at: now(), position }),
    destroyKeys: (owners) => keys.destroy(owners),
    defaultRetentionYears,
    clock: async () => (await earlierClock(pool))(),
    ...erasureWaits,
  });
  const erased = granted(await erasure.erase({ ...order, by: by.actor }, by));
  // What a backup may have brought back.
  if (erased.alreadyErased) await repeatErasures(pool, { partyIds: [order.id] });
  return { ...erased, isEverywhere: await rewritten(pool, order.id) };
}

function now(): string {
  return new Date().toISOString();
}

async function rewritten(pool: Context['pool'], id: string): Promise<boolean> {
  const deadlineMs = performance.now() + rewriteWaitMaxMs;
  while (!(await isRewritten(pool, id))) {
    if (performance.now() > deadlineMs) return false;
    await delay(rewritePollMs);
  }
  return true;
}
