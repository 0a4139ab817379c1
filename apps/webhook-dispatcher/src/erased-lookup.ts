/**
 * Which parties of an event were erased. Events that were published before an erasure come after it when a
 * consumer is behind, or starts over.
 */
import { GroupCommit, isDataError } from '@pis/postgres';
import type pg from 'pg';

/**
 * While nobody was ever erased, the table is asked only this often. Deliveries that are written meanwhile
 * are rewritten: the second pass over an erased party comes later than this.
 */
const noneForMs = 1_000;

/** Events in one query. */
const batchMax = 256;

const none: ReadonlySet<string> = new Set();

export type ErasedLookup = (partyIds: readonly string[]) => Promise<ReadonlySet<string>>;

/**
 * Events that are handled at the same time share one query.
 * @throws connection errors of PostgreSQL: nothing is known then
 */
export function erasedLookup(pool: pg.Pool): ErasedLookup {
  let noneUntilMs = -Infinity;
  const lookups = new GroupCommit<readonly string[], ReadonlySet<string>>({
    batchMax,
    isItemsFault: isDataError,
    async write(items) {
      const { rows } = await pool.query<{ erased: string[] | null; any: boolean }>({
        name: 'webhook_erased_parties',
        text: `SELECT EXISTS (SELECT FROM erased_parties) AS any, (
            SELECT array_agg(party_id::text) FROM erased_parties WHERE party_id = ANY($1::uuid[])
          ) AS erased`,
        values: [[...new Set(items.flat())]],
      });
      if (rows[0]?.any === false) noneUntilMs = performance.now() + noneForMs;
      const erased = new Set(rows[0]?.erased);
      return items.map((partyIds) => new Set(partyIds.filter((id) => erased.has(id))));
    },
  });
  return async (partyIds) => (performance.now() < noneUntilMs ? none : lookups.add(partyIds));
}
