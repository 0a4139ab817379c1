/** One line of a statement as the cells of its row. */
import type { Canvas } from './canvas.js';
import type { StatementLine } from './content.js';
import { type Cell, type CellLine, columnsOf, padding } from './table.js';
import { type Days, money, monthName, statusNames } from './words.js';

/** Characters. Names and references that the API accepts are shorter. */
const textMax = 300;
/** A row stays a part of a page. */
const linesMax = 10;
const body = { size: 7 } as const;
const note = { size: 6, color: 'gray' } as const;
/** From the largest: a reference stays on one line if one of these sizes makes it fit. */
const referenceSizes = [7, 6.5, 6] as const;
/** A sum of many payments is longer than any amount. The largest exact sum fits at the smallest size. */
const totalSizes = [7, 6, 5];
const smallestTotal = 4;
const shortIdCharacters = 8;

export const lineColumns = (left: number) =>
  columnsOf(left, [
    { title: 'Date', width: 36 },
    { title: 'Details', width: 132 },
    { title: 'Reference', width: 128 },
    { title: 'Status', width: 62 },
    { title: 'Money in', width: 62, isNumber: true },
    { title: 'Money out', width: 62, isNumber: true },
    { title: 'Fee', width: 50, isNumber: true },
  ]);
const [, detailsColumn, referenceColumn, statusColumn, ...amountColumns] = lineColumns(0);

interface Facts {
  readonly details: string;
  readonly note: string | null;
  readonly reference: string;
  readonly status: string;
  readonly side: 'credit' | 'debit' | null;
  readonly feeMinor: number;
}

export function lineCells(line: StatementLine, canvas: Canvas, days: Days): readonly Cell[] {
  const { details, note: remark, reference, status, side, feeMinor } = factsOf(line, canvas, days);
  const amount = [{ text: money(line.amountMinor), ...body }];
  return [
    [{ text: days.short(line.at), ...body }],
    [
      ...wrap(details, body, innerWidth(detailsColumn), canvas),
      ...(remark === null ? [] : wrap(remark, note, innerWidth(detailsColumn), canvas)),
    ],
    referenceCell(reference, canvas),
    wrap(status, body, innerWidth(statusColumn), canvas),
    side === 'credit' ? amount : [],
    side === 'debit' ? amount : [],
    feeMinor === 0 ? [] : [{ text: money(feeMinor), ...body }],
  ];
}

/** The last row: the sums of the columns. */
export function totalCells(
  sums: { in: number; out: number; fees: number },
  canvas: Canvas,
): readonly Cell[] {
  const bold = { ...body, bold: true };
  const amounts = [sums.in, sums.out, sums.fees].map((sum, at): Cell => {
    const text = money(sum);
    const width = innerWidth(amountColumns[at]);
    const fits = (size: number) => canvas.widthOf(text, { size, bold: true }) <= width;
    return [{ text, bold: true, size: totalSizes.find(fits) ?? smallestTotal }];
  });
  return [[], [{ text: 'Total', ...bold }], [], [], ...amounts];
}

function factsOf(line: StatementLine, canvas: Canvas, days: Days): Facts {
  switch (line.kind) {
    case 'payment': {
      const way = line.direction === 'INBOUND' ? 'in' : 'out';
      const remark =
        line.side === null ? `${money(line.amountMinor)} ${way}, no money moved` : null;
      const status = statusNames[line.status];
      return { ...paymentFacts(line, canvas), note: remark, status, side: line.side };
    }
    case 'return': {
      const code = codeIn(line.returnReasonCode, canvas);
      const of =
        line.completedAt === null
          ? 'a payment in doubt'
          : `the payment of ${days.long(line.completedAt)}`;
      const { side, keptMinor, isLater } = line;
      const less = keptMinor === 0 ? '' : `, less ${money(keptMinor)} that banks kept`;
      return {
        ...paymentFacts(line, canvas),
        note: `${isLater ? 'Another return' : 'Return'}${code} of ${of}${less}`,
        status: statusNames.RETURNED,
        side,
      };
    }
    case 'collection':
      return {
        ...collectionFacts(line),
        details: 'Collection of fees',
        status: 'Collected',
        side: 'debit',
      };
    case 'collection_return': {
      const details = `Return${codeIn(line.returnReasonCode, canvas)} of a collection of fees`;
      return { ...collectionFacts(line), details, status: statusNames.RETURNED, side: 'credit' };
    }
  }
}

function paymentFacts(
  line: Extract<StatementLine, { paymentId: string }>,
  canvas: Canvas,
): Pick<Facts, 'details' | 'reference' | 'feeMinor'> {
  const { paymentId, externalPaymentId, counterparty, feeMinor } = line;
  const given = externalPaymentId === null ? '' : canvas.plain(externalPaymentId, textMax);
  const name = counterparty === null ? '' : canvas.plain(counterparty, textMax);
  return {
    details: name === '' ? '(no name)' : name,
    reference: given === '' ? paymentId.slice(0, shortIdCharacters) : given,
    feeMinor,
  };
}

function collectionFacts(
  line: Extract<StatementLine, { collectionId: string }>,
): Pick<Facts, 'note' | 'reference' | 'feeMinor'> {
  return {
    note: `Fees of ${monthName(line.feesYear, line.feesMonth)}`,
    reference: line.collectionId.slice(0, shortIdCharacters),
    feeMinor: 0,
  };
}

function codeIn(code: string | null, canvas: Canvas): string {
  return code === null ? '' : ` (${canvas.plain(code, shortIdCharacters)})`;
}

function referenceCell(reference: string, canvas: Canvas): Cell {
  const width = innerWidth(referenceColumn);
  const size = referenceSizes.find((one) => canvas.widthOf(reference, { size: one }) <= width);
  return size === undefined ? wrap(reference, body, width, canvas) : [{ text: reference, size }];
}

function wrap(text: string, style: Omit<CellLine, 'text'>, width: number, canvas: Canvas): Cell {
  return canvas.wrap(text, style, { width, linesMax }).map((line) => ({ text: line, ...style }));
}

function innerWidth(column: { readonly width: number } = { width: 0 }): number {
  return column.width - 2 * padding;
}
