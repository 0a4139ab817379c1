/**
 * The indexes of a table, for a copy of it. A copy is filled with its unique indexes only, which the projections write and
 * load by. The others are built afterwards: one sort costs less than a search for each row.
 */
import type pg from 'pg';

export interface TableIndex {
  readonly name: string;
  readonly isUnique: boolean;
  /** The definition from the access method on, for example `btree (payment_id)`. */
  readonly method: string;
  /** The definition of the constraint that it belongs to, for example `PRIMARY KEY (payment_id)`. */
  readonly constraint: string | null;
}

export async function indexesOf(
  client: pg.ClientBase,
  table: string,
): Promise<readonly TableIndex[]> {
  const { rows } = await client.query<TableIndex>(
    `SELECT indexrelid::regclass::text AS name, indisunique AS "isUnique",
       regexp_replace(pg_get_indexdef(indexrelid), '^.*? USING ', '') AS method,
       (SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c
         WHERE c.conindid = indexrelid AND c.conrelid = indrelid) AS constraint
     FROM pg_index WHERE indrelid = $1::regclass ORDER BY indexrelid`,
    [table],
  );
  return rows;
}

/** The same for an index and for its counterpart on another table. */
export const definitionOf = ({ isUnique, method }: TableIndex) => `${isUnique} ${method}`;

/** Creates the unique indexes of a table, or all others, on its copy. */
export async function copyIndexes(
  client: pg.ClientBase,
  table: string,
  copy: string,
  which: 'unique' | 'others',
): Promise<void> {
  for (const { constraint, isUnique, method } of await indexesOf(client, table)) {
    if (isUnique !== (which === 'unique')) continue;
    await client.query(
      constraint === null
        ? `CREATE ${isUnique ? 'UNIQUE INDEX' : 'INDEX'} ON ${copy} USING ${method}`
        : `ALTER TABLE ${copy} ADD ${constraint}`,
    );
  }
}
