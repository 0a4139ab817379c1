import type pg from 'pg';
import { type DirectoryKind, directoryKinds } from './routing-directory.js';

/** Seconds since the last import of each participant list; 0 for one that was never imported. */
export async function directoryAges(
  pool: pg.Pool,
): Promise<Readonly<Record<DirectoryKind, number>>> {
  const { rows } = await pool.query<{ kind: DirectoryKind; age: number }>(
    `SELECT kind, greatest(extract(epoch FROM now() - imported_at), 0)::float8 AS age
       FROM routing_directory_imports`,
  );
  const ages = new Map(rows.map(({ kind, age }) => [kind, age]));
  const entries = directoryKinds.map((kind) => [kind, ages.get(kind) ?? 0]);
  return Object.fromEntries(entries) as Record<DirectoryKind, number>;
}
