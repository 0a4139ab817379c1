/** Statements of originators. The document itself is in the store of documents. */
import { statement } from '@pis/domain';
import { domainEventOf } from '@pis/event-store';
import type { ReadTableDefinition } from './projection.js';

export type StatementRow = {
  readonly statementId: string;
  readonly organizationId: string;
  readonly originatorId: string;
  readonly periodYear: number;
  readonly periodMonth: number;
  readonly generatedAt: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly revision: number;
};

export const statementsTable: ReadTableDefinition<StatementRow> = {
  name: 'statements',
  key: 'statementId',
  ownsStream: true,
  columns: {
    statementId: 'uuid',
    organizationId: 'uuid',
    originatorId: 'uuid',
    periodYear: 'integer',
    periodMonth: 'integer',
    generatedAt: 'timestamptz(3)',
    sizeBytes: 'bigint',
    sha256: 'text',
    revision: 'integer',
  },
  category: 'statement',
  begins: ({ revision }) => revision === 0,
  evolve(_row, recorded) {
    const { at, data } = domainEventOf(statement, recorded);
    const { statementId, organizationId, originatorId, periodYear, periodMonth } = data;
    const { sizeBytes, sha256 } = data;
    return {
      ...{ statementId, organizationId, originatorId, periodYear, periodMonth },
      ...{ generatedAt: at, sizeBytes, sha256 },
    };
  },
};
