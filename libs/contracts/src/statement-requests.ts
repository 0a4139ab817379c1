/** Requests on statements, and how a statement is shown (rules statement-read-1 and statement-read-2). */
import type { Statement } from '@pis/domain';
import type { z } from 'zod';
import { uuid } from './fields.js';
import { originatorListSchema, wholeNumber } from './party-requests.js';

const yearMax = 9999;

export const statementListSchema = originatorListSchema.extend({
  originatorId: uuid.optional(),
  year: wholeNumber(1, yearMax).optional(),
});
export type StatementListQuery = z.output<typeof statementListSchema>;
/** The filters of the list. All that are given must hold. */
export type StatementFilter = Omit<StatementListQuery, 'limit' | 'cursor'>;

export interface StatementView {
  readonly statementId: string;
  readonly originatorId: string;
  readonly periodYear: number;
  readonly periodMonth: number;
  readonly generatedAt: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export function statementView(statement: Statement): StatementView {
  const { statementId, originatorId, periodYear, periodMonth, generatedAt } = statement;
  const { sizeBytes, sha256 } = statement;
  return {
    ...{ statementId, originatorId, periodYear, periodMonth, generatedAt },
    ...{ sizeBytes, sha256 },
  };
}
