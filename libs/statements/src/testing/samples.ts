/** Statements for tests and for the bench: made from a number, always the same. */
import type { StatementContent, StatementLine } from '../content.js';
import { noSums, withLine } from '../sums.js';

const organizationName = 'Harbor & Pine Property Management';
const originatorName = 'Lakeside Apartments LLC';
export const sampleStatementId = '7d0a4a53-7c0e-5d5c-9a8e-2f1f1f3a9b11';

type Given = Partial<Omit<StatementContent, 'lines' | 'totals'>>;

/** A statement of exactly these lines, with totals that fit. */
export function statementWith(
  lines: Iterable<StatementLine> | AsyncIterable<StatementLine>,
  given: Given = {},
): StatementContent {
  let sums = noSums;
  const opening = given.opening ?? {
    ...{ inProgressIn: { count: 2, amountMinor: 30_000 } },
    ...{ inProgressOut: { count: 1, amountMinor: 12_345 }, feesDueMinor: 50_000_000 },
  };
  async function* counted() {
    for await (const line of lines) {
      sums = withLine(sums, line);
      yield line;
    }
  }
  return {
    ...{ statementId: sampleStatementId, organizationName, logo: null },
    ...{ originatorId: '0b8f9b0e-54a5-4b3e-9a53-3d8a1f1c2d7e', originatorName },
    ...{ timeZone: 'America/New_York', periodYear: 2026, periodMonth: 11 },
    periodEnd: new Date('2026-12-01T05:00:00.000Z'),
    ...given,
    opening,
    lines: counted(),
    totals: () => ({
      ...sums,
      closing: {
        ...opening,
        feesDueMinor:
          opening.feesDueMinor +
          sums.fees.amountMinor -
          sums.collections.amountMinor +
          sums.collectionReturns.amountMinor,
      },
    }),
  };
}

const names = ['Ana García Márquez', 'Zoë Brandt', 'Northwind Traders Inc.', 'Łukasz Wiśniewski'];
const statuses = ['FAILED', 'BLOCKED', 'CANCELED', 'FAILED_IN_FLIGHT', 'PROCESSING'] as const;
const monthStart = Date.parse('2026-11-01T05:00:00.000Z');
const monthMs = 29 * 24 * 3_600_000;

/** Payments with every outcome, in order of time. */
export function* sampleLines(count: number): Iterable<StatementLine> {
  for (let at = 0; at < count; at++) yield sampleLine(at, count);
}

function sampleLine(number: number, count: number): StatementLine {
  const at = new Date(monthStart + Math.floor((number * monthMs) / count));
  const id = `${number.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
  const amountMinor = ((number * 7_919) % 5_000_000) + 100;
  const reference = number % 3 === 0 ? null : `INV-2026-${String(number).padStart(6, '0')}`;
  const facts = { at, paymentId: id, externalPaymentId: reference, amountMinor };
  const counterparty = `${names[number % names.length]} ${number % 997}`;
  const isOut = number % 2 === 0;
  if (number % 500 === 499) {
    const fees = { at, collectionId: id, feesYear: 2026, feesMonth: 10, amountMinor: 1_250 };
    return number % 1_000 === 999
      ? { kind: 'collection_return', ...fees, returnReasonCode: 'R01' }
      : { kind: 'collection', ...fees };
  }
  if (number % 41 === 40)
    return {
      ...{
        kind: 'return',
        isLater: false,
        ...facts,
        counterparty,
        feeMinor: 250,
        returnReasonCode: 'R01',
      },
      keptMinor: 0,
      ...{ side: isOut ? 'credit' : 'debit', completedAt: new Date(at.getTime() - monthMs) },
    };
  const direction = isOut ? 'OUTBOUND' : 'INBOUND';
  const payment = { kind: 'payment', ...facts, counterparty, direction } as const;
  const failed = number % 17 === 16 ? statuses[number % statuses.length] : undefined;
  if (failed !== undefined) return { ...payment, feeMinor: 0, status: failed, side: null };
  const side = isOut ? 'debit' : 'credit';
  const status = number % 41 === 39 ? 'RETURNED' : 'COMPLETED';
  return { ...payment, feeMinor: 25 + (amountMinor % 90), status, side };
}
