/** Adds up the lines of a statement, and holds the result against the totals that the statement was given. */
import type { StatementSum } from '@pis/domain';
import type { StatementContent, StatementLine, StatementTotals } from './content.js';

export type LineSums = Omit<StatementTotals, 'closing'>;

const none: StatementSum = { count: 0, amountMinor: 0 };

export const noSums: LineSums = {
  ...{ paymentsIn: none, paymentsOut: none, withoutMovement: none },
  ...{ returnsIn: none, returnsOut: none },
  ...{ collections: none, collectionReturns: none, fees: none },
};

/** @throws RangeError if a sum is not exact */
export function withLine(sums: LineSums, line: StatementLine): LineSums {
  const key = keyOf(line);
  const next = { ...sums, [key]: plus(sums[key], line.amountMinor) };
  const feeMinor = 'feeMinor' in line ? line.feeMinor : 0;
  return feeMinor === 0 ? next : { ...next, fees: plus(next.fees, feeMinor) };
}

function keyOf(line: StatementLine): keyof LineSums {
  switch (line.kind) {
    case 'payment':
      if (line.side === null) return 'withoutMovement';
      return line.side === 'credit' ? 'paymentsIn' : 'paymentsOut';
    case 'return':
      return line.side === 'credit' ? 'returnsIn' : 'returnsOut';
    case 'collection':
      return 'collections';
    case 'collection_return':
      return 'collectionReturns';
  }
}

function plus({ count, amountMinor }: StatementSum, more: number): StatementSum {
  const sum = amountMinor + more;
  if (!Number.isSafeInteger(more) || more < 0 || !Number.isSafeInteger(sum))
    throw new RangeError(`not an amount of a statement: ${more}`);
  return { count: count + 1, amountMinor: sum };
}

/** Everything that came in, and went out. */
export function moved(sums: LineSums): {
  readonly in: StatementSum;
  readonly out: StatementSum;
} {
  return {
    in: total(sums.paymentsIn, sums.returnsIn, sums.collectionReturns),
    out: total(sums.paymentsOut, sums.returnsOut, sums.collections),
  };
}

function total(...amounts: readonly StatementSum[]): StatementSum {
  const count = amounts.reduce((sum, one) => sum + one.count, 0);
  const amountMinor = amounts.reduce((sum, one) => sum + one.amountMinor, 0);
  if (!Number.isSafeInteger(amountMinor)) throw new RangeError('a total is not exact');
  return { count, amountMinor };
}

/** @throws Error if the lines and the totals disagree: such a statement must not exist */
export function assertTotals(
  { statementId, opening, totals }: StatementContent,
  sums: LineSums,
): void {
  const given = totals();
  for (const key of Object.keys(sums) as (keyof LineSums)[]) {
    const [line, claim] = [sums[key], given[key]];
    if (line.count !== claim.count || line.amountMinor !== claim.amountMinor)
      throw new Error(
        `statement ${statementId}: the lines give ${key} ${line.amountMinor} (${line.count}), the totals say ${claim.amountMinor} (${claim.count})`,
      );
  }
  const feesDue =
    opening.feesDueMinor +
    sums.fees.amountMinor -
    sums.collections.amountMinor +
    sums.collectionReturns.amountMinor;
  if (feesDue !== given.closing.feesDueMinor)
    throw new Error(
      `statement ${statementId}: the lines leave fees of ${feesDue} due, the totals say ${given.closing.feesDueMinor}`,
    );
}
