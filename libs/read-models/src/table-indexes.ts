/**
 * The indexes of a table, for a copy of it. A copy is filled with the indexes only which the projections write and load by.
 * The others are built afterwards: one sort costs less than a search for each row.
 */
import type pg from 'pg';

interface TableIndex {
  readonly name: string;
  readonly isUnique: boolean;
  /** The definition from the access method on, for example `btree (payment_id)`. */
  readonly method: string;
  /** The definition of the constraint that it belongs to, for example `PRIMARY KEY (payment_id)`. */
  readonly constraint: string | null;
  /** The column that a whole, ordinary index is sorted by first. */
  readonly leader: string | null;
}

/** Those that are complete: one whose construction failed, or goes on, is none. */
async function indexesOf(client: pg.ClientBase, table: string): Promise<readonly TableIndex[]> {
  const { rows } = await client.query<TableIndex>(
    `SELECT indexrelid::regclass::text AS name, indisunique AS "isUnique",
       regexp_replace(pg_get_indexdef(indexrelid), '^.*? USING ', '') AS method,
       (SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c
         WHERE c.conindid = indexrelid AND c.conrelid = indrelid) AS constraint,
       (SELECT attname FROM pg_attribute
         WHERE attrelid = indrelid AND attnum = indkey[0] AND indpred IS NULL) AS leader
     FROM pg_index WHERE indrelid = $1::regclass AND indisvalid ORDER BY indexrelid`,
    [table],
  );
  return rows;
}

/** The same for an index and for its counterpart on another table. */
const definitionOf = ({ isUnique, method }: TableIndex) => `${isUnique} ${method}`;

export interface IndexCopies {
  readonly table: string;
  readonly copy: string;
  /** The columns of ReadTable.writesBy: only unique indexes, and those by one of these columns. Absent: all indexes. */
  readonly writesBy?: readonly string[];
}

/** Creates those indexes of a table that its copy lacks. */
export async function copyIndexes(
  client: pg.ClientBase,
  { table, copy, writesBy }: IndexCopies,
): Promise<void> {
  const { missing } = await pairIndexes(client, table, copy);
  for (const { constraint, isUnique, method, leader } of missing) {
    const isWrittenBy = leader !== null && writesBy?.includes(leader) === true;
    if (writesBy !== undefined && !isUnique && !isWrittenBy) continue;
    await client.query(
      constraint === null
        ? `CREATE ${isUnique ? 'UNIQUE INDEX' : 'INDEX'} ON ${copy} USING ${method}`
        : `ALTER TABLE ${copy} ADD ${constraint}`,
    );
  }
}

export interface IndexPairs {
  /** Indexes of the table without a counterpart on the copy. */
  readonly missing: readonly TableIndex[];
  /** Indexes of the copy without a counterpart on the table. */
  readonly extra: readonly TableIndex[];
  readonly pairs: readonly { readonly index: TableIndex; readonly counterpart: TableIndex }[];
}

/** Two indexes that differ in their names only have a counterpart each. */
export async function pairIndexes(
  client: pg.ClientBase,
  table: string,
  copy: string,
): Promise<IndexPairs> {
  const extra = [...(await indexesOf(client, copy))];
  const missing: TableIndex[] = [];
  const pairs: { index: TableIndex; counterpart: TableIndex }[] = [];
  for (const index of await indexesOf(client, table)) {
    const at = extra.findIndex((other) => definitionOf(other) === definitionOf(index));
    const [counterpart] = at < 0 ? [] : extra.splice(at, 1);
    if (counterpart === undefined) missing.push(index);
    else pairs.push({ index, counterpart });
  }
  return { missing, extra, pairs };
}

/** The columns, checks and settings of a table as a text. It is the same for a table and its copy. */
export async function shapeOf(client: pg.ClientBase, table: string): Promise<string> {
  const { rows } = await client.query<{ shape: string }>(
    `SELECT json_build_array(
       (SELECT json_agg(json_build_array(attname, format_type(atttypid, atttypmod), attcollation, attnotnull,
           attidentity, attgenerated, pg_get_expr(adbin, adrelid)) ORDER BY attname)
         FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
         WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped),
       (SELECT json_agg(json_build_array(conname, regexp_replace(pg_get_constraintdef(k.oid), ' NOT VALID$', ''))
           ORDER BY conname) FROM pg_constraint k WHERE conrelid = c.oid AND contype = 'c'),
       (SELECT json_agg(setting ORDER BY setting) FROM unnest(reloptions) setting)
     )::text AS shape FROM pg_class c WHERE c.oid = $1::regclass`,
    [table],
  );
  return rows[0]?.shape ?? '';
}
