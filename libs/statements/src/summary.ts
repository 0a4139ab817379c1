/**
 * The table of sums on the first page. Each row has its number of payments and the amount on both sides, and what it does to
 * the fees that are due: opening fees, plus charges, less collections, plus returned collections are the closing fees.
 */
import type { StatementBalance, StatementSum } from '@pis/domain';
import { page } from './canvas.js';
import { moved, type LineSums } from './sums.js';
import { type Cell, columnsOf } from './table.js';
import { money } from './words.js';

export const summaryColumns = columnsOf(page.margin, [
  { title: 'Summary', width: 172 },
  { title: 'Count', width: 50, isNumber: true },
  { title: 'Money in', width: 92, isNumber: true },
  { title: 'Count', width: 50, isNumber: true },
  { title: 'Money out', width: 92, isNumber: true },
  { title: 'Fees due', width: 76, isNumber: true },
]);
export const summaryRows = 7;

interface Row {
  readonly title: string;
  readonly in: StatementSum | null;
  readonly out: StatementSum | null;
  /** Null: the row changes no fees. */
  readonly feesMinor: number | null;
  readonly bold?: boolean;
}

export function summaryCells(
  opening: StatementBalance,
  sums: LineSums,
  closing: StatementBalance,
): readonly (readonly Cell[])[] {
  const all = moved(sums);
  const { collections, collectionReturns: returned } = sums;
  const rows: readonly Row[] = [
    position('Opening: payments in progress', opening),
    { title: 'Payments', in: sums.paymentsIn, out: sums.paymentsOut, feesMinor: null },
    { title: 'Returns', in: sums.returnsIn, out: sums.returnsOut, feesMinor: null },
    { title: 'Fees charged', in: null, out: null, feesMinor: sums.fees.amountMinor },
    {
      ...{ title: 'Fees collected and returned', in: returned, out: collections },
      feesMinor: returned.amountMinor - collections.amountMinor,
    },
    { title: 'Total moved', in: all.in, out: all.out, feesMinor: null, bold: true },
    position('Closing: payments in progress', closing),
  ];
  return rows.map(cellsOf);
}

function position(
  title: string,
  { inProgressIn, inProgressOut, feesDueMinor }: StatementBalance,
): Row {
  return { title, in: inProgressIn, out: inProgressOut, feesMinor: feesDueMinor, bold: true };
}

function cellsOf({
  title,
  in: credits,
  out: debits,
  feesMinor,
  bold = false,
}: Row): readonly Cell[] {
  const style = { size: 7.5, bold };
  const cell = (text: string | null): Cell => (text === null ? [] : [{ text, ...style }]);
  const both = (amount: StatementSum | null) => [
    cell(amount === null ? null : String(amount.count)),
    cell(amount === null ? null : money(amount.amountMinor)),
  ];
  const fees = feesMinor === null ? null : money(feesMinor);
  return [cell(title), ...both(credits), ...both(debits), cell(fees)];
}
