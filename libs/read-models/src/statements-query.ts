/** Statements: the list, newest first, and single ones. */
import type { StatementFilter, StatementView } from '@pis/contracts';
import type pg from 'pg';
import { assertNoMore, type ListPage, pageOf, type PageRequest } from './list-page.js';
import { orUnavailable } from './or-unavailable.js';

const columns = `statement_id AS "statementId", originator_id AS "originatorId",
  period_year AS "periodYear", period_month AS "periodMonth", generated_at AS "generatedAt",
  size_bytes AS "sizeBytes", sha256`;

type Row = Omit<StatementView, 'generatedAt' | 'sizeBytes'> & {
  readonly generatedAt: Date;
  readonly sizeBytes: string;
};

export class StatementsQuery {
  constructor(private readonly pool: pg.Pool) {}

  /** @throws StoreUnavailable */
  async list(
    organizationId: string,
    { originatorId, year, ...others }: StatementFilter,
    { limit, after }: PageRequest = {},
  ): Promise<ListPage<StatementView>> {
    assertNoMore(others);
    const values: unknown[] = [organizationId];
    const conditions = ['organization_id = $1'];
    if (originatorId !== undefined)
      conditions.push(`originator_id = $${values.push(originatorId)}`);
    if (year !== undefined) conditions.push(`period_year = $${values.push(year)}`);
    if (after !== undefined)
      conditions.push(
        `(generated_at, statement_id) < ($${values.push(after.createdAt)}::timestamptz(3), $${values.push(after.id)}::uuid)`,
      );
    const limited = limit === undefined ? '' : `LIMIT $${values.push(limit + 1)}`;
    const { rows } = await orUnavailable(() =>
      this.pool.query<Row>(
        `SELECT ${columns} FROM statements WHERE ${conditions.join(' AND ')}
          ORDER BY generated_at DESC, statement_id DESC ${limited}`,
        values,
      ),
    );
    return pageOf(rows, limit, {
      item: viewOf,
      cursor: ({ generatedAt, statementId }) => ({
        createdAt: generatedAt.toISOString(),
        id: statementId,
      }),
    });
  }
}

function viewOf({ generatedAt, sizeBytes, ...row }: Row): StatementView {
  return { ...row, generatedAt: generatedAt.toISOString(), sizeBytes: Number(sizeBytes) };
}
