/** `pis fees periods` and `pis fees unrecorded`: what staff look at. Amounts are in cents. */
import type { FeePeriodStatus } from '@pis/domain';
import { unrecordedCollections } from '@pis/fees';
import { listFeePeriods } from '@pis/read-models';
import { type Context, withContext } from '../context.js';
import { idGiven } from '../operator-action.js';
import { CommandFailed, type OutputOptions, print, printItems, printList } from '../output.js';

export interface PeriodsOptions extends OutputOptions {
  readonly status?: FeePeriodStatus;
  readonly debitedTwice?: true;
  readonly organization?: string;
  readonly limit: number;
  readonly offset: number;
}

export async function listPeriods(options: PeriodsOptions): Promise<void> {
  const { status, organization, limit, offset, debitedTwice = false } = options;
  const organizationId =
    organization === undefined ? undefined : idGiven('--organization', organization);
  const filter = { status, organizationId, isDebitedTwice: debitedTwice };
  // One more than asked for tells whether there are others.
  const found = await withContext(({ pool }) =>
    listFeePeriods(pool, filter, { offset, limit: limit + 1 }),
  );
  const data = found
    .slice(0, limit)
    .map(({ totalMinor, ...period }) => ({ ...period, total: totalMinor }));
  const nextOffset = found.length > limit ? offset + limit : null;
  if (options.json === true) print({ data, nextOffset }, options);
  else printList(data, options);
  if (nextOffset !== null)
    process.stderr.write(`pis: there are more periods: go on with --offset ${nextOffset}\n`);
}

/** @throws CommandFailed after the whole list, when some months could not be read */
export async function listUnrecorded(options: OutputOptions): Promise<void> {
  let unreadable = 0;
  await withContext((stores) => printItems(shown(stores), options));
  if (unreadable > 0)
    throw new CommandFailed(
      `the months of ${unreadable} of these collections cannot be read: see PisStreamsQuarantined in docs/runbooks/log.md`,
    );

  async function* shown({ pool, store }: Pick<Context, 'pool' | 'store'>) {
    for await (const { amountMinor, ...collection } of unrecordedCollections({ pool, store })) {
      if (collection.period?.unreadable !== undefined) unreadable += 1;
      yield { ...collection, amount: amountMinor };
    }
  }
}
