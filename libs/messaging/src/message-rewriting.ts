/**
 * Rewrites messages that wait in PostgreSQL: deferred ones, and dead letters of the embedded broker. Those
 * in Kafka end with the retention of their topics.
 */
import type { Queryable } from './pg-consumer-state.js';

/** Messages looked at in one statement. */
const pageMax = 1_000;
/** How often a page is read again because its messages changed before they were written. */
const triesMax = 20;
const tables = ['deferred_messages', 'dead_letters'] as const;

export interface RewriteOptions {
  /** Only values with this text are rewritten. */
  readonly containing: string;
  /** The new value, or the same. */
  readonly rewrite: (value: string) => string;
  /** Called before each page. */
  readonly onPage?: () => Promise<void>;
}

/** @throws connection errors of PostgreSQL */
export async function rewriteWaitingMessages(
  pool: Queryable,
  { containing, rewrite, onPage }: RewriteOptions,
): Promise<void> {
  for (const table of tables)
    for (let after: string | null = '0'; after !== null; ) {
      await onPage?.();
      after = await rewritePage(pool, table, after, { containing, rewrite });
    }
}

/** @returns the ID of the last message of the page; null at the end */
async function rewritePage(
  pool: Queryable,
  table: (typeof tables)[number],
  after: string,
  options: RewriteOptions,
): Promise<string | null> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const { last, isWhole } = await tryPage(pool, table, after, options);
    if (isWhole) return last;
  }
  throw new Error('messages changed each time they were about to be rewritten');
}

/** A message is written only in the place of the value that was read: another caller may rewrite it, too. */
async function tryPage(
  pool: Queryable,
  table: (typeof tables)[number],
  after: string,
  { containing, rewrite }: RewriteOptions,
): Promise<{ readonly last: string | null; readonly isWhole: boolean }> {
  const { rows } = await pool.query(
    `WITH page AS MATERIALIZED (SELECT id, value FROM ${table} WHERE id > $1 ORDER BY id LIMIT $3)
     SELECT (SELECT max(id)::text FROM page) AS last,
       (SELECT json_agg(json_build_object('id', id::text, 'value', value)) FROM page
         WHERE strpos(value, $2) > 0) AS found`,
    [after, containing, pageMax],
  );
  const [page] = rows as { last: string | null; found: Waiting[] | null }[];
  const changed = (page?.found ?? []).flatMap(({ id, value }) => {
    const rewritten = rewrite(value);
    return rewritten === value ? [] : [{ id, value: rewritten, before: value }];
  });
  const last = page?.last ?? null;
  if (changed.length === 0) return { last, isWhole: true };
  const { rowCount } = await pool.query(
    `UPDATE ${table} m SET value = t.value
     FROM unnest($1::bigint[], $2::text[], $3::text[]) t (id, value, before)
     WHERE m.id = t.id AND m.value = t.before`,
    [
      changed.map(({ id }) => id),
      changed.map(({ value }) => value),
      changed.map(({ before }) => before),
    ],
  );
  return { last, isWhole: rowCount === changed.length };
}

interface Waiting {
  readonly id: string;
  readonly value: string;
}
