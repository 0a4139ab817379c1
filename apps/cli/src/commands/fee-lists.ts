/** `pis fees periods` and `pis fees unrecorded`: what staff look at. Amounts are in cents. */
import type { FeePeriodStatus } from '@pis/domain';
import { unrecordedCollections } from '@pis/fees';
import { listFeePeriods } from '@pis/read-models';
import { withContext } from '../context.js';
import { idGiven } from '../operator-action.js';
import { type OutputOptions, print } from '../output.js';

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
  print({ data, nextOffset: found.length > limit ? offset + limit : null }, options);
}

export async function listUnrecorded(options: OutputOptions): Promise<void> {
  const data = await withContext(async ({ pool, store }) => {
    const found = [];
    for await (const { amountMinor, ...collection } of unrecordedCollections({ pool, store }))
      found.push({ ...collection, amount: amountMinor });
    return found;
  });
  print({ data }, options);
}
