/** The table `data_keys` in PostgreSQL, whichever event store there is. */
import { StoreUnavailable } from '@pis/event-store';
import { inTransaction, isTransient } from '@pis/postgres';
import type pg from 'pg';
import {
  type DataKeyTable,
  firstVersion,
  type KeysRead,
  type StoredKey,
} from './data-key-table.js';
import type { Owner } from './owner.js';

/** Shorter than the age of a cached key: an answer must not be older than that. */
const queryTimeoutMs = 4_000;

interface Row {
  readonly destructions: string;
  readonly owner: Owner | null;
  readonly version: number;
  readonly wrapped: string | null;
  readonly wrapping_key_id: string | null;
  readonly v1_digest: string | null;
}

const columns = 'owner, version, wrapped, wrapping_key_id, v1_digest';

const readKeys = `SELECT s.destructions, k.* FROM keyring_state s
  LEFT JOIN (SELECT ${columns} FROM data_keys WHERE owner = ANY($1)) k ON true`;

const createMissing = `WITH given AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) AS given (owner, wrapped, wrapping_key_id)
  ), created AS (
    INSERT INTO data_keys (owner, version, wrapped, wrapping_key_id)
    SELECT owner, ${firstVersion}, wrapped, wrapping_key_id FROM given
    WHERE NOT EXISTS (
      SELECT FROM data_keys k WHERE k.owner = given.owner AND k.version >= ${firstVersion}
    )
    ON CONFLICT (owner, version) DO NOTHING
    RETURNING ${columns}
  )
  SELECT s.destructions, k.* FROM keyring_state s
  LEFT JOIN (
    SELECT ${columns} FROM created
    UNION ALL SELECT ${columns} FROM data_keys WHERE owner = ANY($1)
  ) k ON true`;

/** First of all, and in a statement of its own: it waits for imports, and holds up new ones. */
const holdUpImports = 'SELECT FROM keyring_state FOR UPDATE';

const countDestruction = 'UPDATE keyring_state SET destructions = destructions + 1';

/** Also for owners without a key: whoever is about to create one finds the row. */
const destroyFirst = `INSERT INTO data_keys (owner, version, destroyed_at)
  SELECT owner, ${firstVersion}, now() FROM unnest($1::text[]) AS given (owner)
  ON CONFLICT (owner, version) DO UPDATE
    SET wrapped = NULL, wrapping_key_id = NULL, destroyed_at = excluded.destroyed_at
    WHERE data_keys.destroyed_at IS NULL`;

const destroyOthers = `UPDATE data_keys
  SET wrapped = NULL, wrapping_key_id = NULL, destroyed_at = now()
  WHERE owner = ANY($1) AND destroyed_at IS NULL`;

/** @param passGate waits until the stores of this process were checked. @throws StoreUnavailable */
export function pgDataKeyTable(
  pool: pg.Pool,
  passGate: () => Promise<void> = () => Promise.resolve(),
): DataKeyTable {
  const ask = (name: string, text: string, values: readonly unknown[]) =>
    orUnavailable(async () => {
      await passGate();
      const query = { name, text, values: [...values], query_timeout: queryTimeoutMs };
      return answerOf((await pool.query<Row>(query)).rows);
    });
  return {
    read: (owners) => ask('pis_read_data_keys', readKeys, [owners]),
    createMissing: (keys) =>
      ask('pis_create_data_keys', createMissing, [
        keys.map(({ owner }) => owner),
        keys.map(({ key }) => key.wrapped),
        keys.map(({ key }) => key.wrappingKeyId),
      ]),
    destroy: (owners) =>
      orUnavailable(async () => {
        await passGate();
        // In the order in which keys are created: two transactions never wait for each other.
        const sorted = [...new Set(owners)].sort();
        await inTransaction(pool, async (client) => {
          await client.query(holdUpImports);
          const first = await client.query(destroyFirst, [sorted]);
          const others = await client.query(destroyOthers, [sorted]);
          // Every process drops its cached keys for it.
          if ((first.rowCount ?? 0) + (others.rowCount ?? 0) > 0)
            await client.query(countDestruction);
        });
      }),
  };
}

function answerOf(rows: readonly Row[]): KeysRead {
  const destructions = rows[0]?.destructions;
  if (destructions === undefined) throw new StoreUnavailable('the table keyring_state is empty');
  return { destructions, keys: rows.flatMap(keysOf) };
}

function keysOf(row: Row): StoredKey[] {
  const { owner, version, wrapped, wrapping_key_id: wrappingKeyId, v1_digest: v1Digest } = row;
  if (owner === null) return [];
  const key = wrapped === null || wrappingKeyId === null ? null : { wrapped, wrappingKeyId };
  return [{ owner, version, key, v1Digest }];
}

/** An unavailable database becomes a StoreUnavailable, which every caller can handle. */
export async function orUnavailable<Result>(query: () => Promise<Result>): Promise<Result> {
  try {
    return await query();
  } catch (cause) {
    if (cause instanceof StoreUnavailable || !isTransient(cause)) throw cause;
    throw new StoreUnavailable('the data keys cannot be reached', { cause });
  }
}
