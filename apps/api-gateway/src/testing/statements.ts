/** Records of statements in tests. Nothing is written into the store of documents. */
import { randomUUID } from 'node:crypto';
import { statement as statements, type StatementRecord } from '@pis/domain';
import { repository } from '@pis/event-store';
import { by, type Gateway } from './gateway.js';

const none = { count: 0, amountMinor: 0 };
const open = { inProgressIn: none, inProgressOut: none, feesDueMinor: 0 };
const figures = {
  ...{ opening: open, closing: open, paymentsIn: none, paymentsOut: none, withoutMovement: none },
  ...{ returnsIn: none, returnsOut: none, collections: none, collectionReturns: none, fees: none },
};

/** Without changes: of an originator of its own, for September 2026. */
export async function recordStatement(
  { store }: Gateway,
  organizationId: string,
  changes: Partial<StatementRecord>,
): Promise<StatementRecord & { readonly generatedAt: string }> {
  const data: StatementRecord = {
    ...{ statementId: randomUUID(), organizationId, originatorId: randomUUID() },
    ...{ periodYear: 2026, periodMonth: 9, timeZone: 'America/New_York' },
    ...{ to: '2026-12-01T05:00:00.000Z', through: '1', after: null },
    ...{ sha256: 'ab'.repeat(32), sizeBytes: 0, figures },
    ...changes,
  };
  const generatedAt = new Date().toISOString();
  await repository(store, statements).create(
    data.statementId,
    { type: 'RecordStatement', at: generatedAt, data },
    by,
  );
  return { ...data, generatedAt };
}
