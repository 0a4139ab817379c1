/**
 * Which parties of an event were erased. Events that were published before an erasure come after it when a
 * consumer is behind, or starts over.
 */
import type pg from 'pg';

/**
 * While nobody was ever erased, the table is asked only this often. Deliveries that are written meanwhile
 * are rewritten: the second pass over an erased party comes later than this.
 */
const noneForMs = 1_000;

const none: ReadonlySet<string> = new Set();

export type ErasedLookup = (partyIds: readonly string[]) => Promise<ReadonlySet<string>>;

/** @throws connection errors of PostgreSQL: nothing is known then */
export function erasedLookup(pool: pg.Pool): ErasedLookup {
  let noneUntilMs = -Infinity;
  return async (partyIds) => {
    if (performance.now() < noneUntilMs) return none;
    const { rows } = await pool.query<{ erased: string[] | null; any: boolean }>({
      name: 'webhook_erased_parties',
      text: `SELECT EXISTS (SELECT FROM erased_parties) AS any, (
          SELECT array_agg(party_id::text) FROM erased_parties WHERE party_id = ANY($1::uuid[])
        ) AS erased`,
      values: [partyIds],
    });
    if (rows[0]?.any === false) noneUntilMs = performance.now() + noneForMs;
    return new Set(rows[0]?.erased ?? []);
  };
}
