/**
 * Imports a participant list into the routing directory.
 *
 * What always holds: readers see the directory before the import or after it, nothing in between. A list is
 * complete: whoever is no longer in it is marked as removed. A row that cannot be read is refused, and then
 * nobody is removed, because the row may have been anybody's. Imports wait for each other.
 */
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import { DirectoryFileRefused, linesOf } from './participant-lines.js';
import { type ParticipantRow, rowReaderOf, type RowProblem } from './participant-rows.js';
import type { DirectoryKind } from './routing-directory.js';
import { RowRefused } from './row-refused.js';

export interface DirectoryImport {
  readonly kind: DirectoryKind;
  readonly rowsRead: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly refused: number;
  /** The first problems, at most problemsMax. */
  readonly problems: readonly RowProblem[];
}

export interface DirectoryImportOptions {
  readonly kind: DirectoryKind;
  readonly file: AsyncIterable<Uint8Array>;
  /** Also when many participants are missing from the list. */
  readonly acceptsRemovals?: boolean;
}

export const problemsMax = 20;
const batchMax = 1_000;
/** A list that lacks more of the participants of before is probably cut off. */
const removedShareMax = 0.2;
/** So many may always be missing. */
const removedAlways = 10;

/** @throws DirectoryFileRefused, and then nothing was imported */
export function importDirectory(
  pool: pg.Pool,
  { kind, file, acceptsRemovals = false }: DirectoryImportOptions,
): Promise<DirectoryImport> {
  return inTransaction(pool, async (client) => {
    await client.query(
      `CREATE TEMPORARY TABLE routing_directory_staged (
         line integer NOT NULL,
         routing_number text PRIMARY KEY,
         bank_name text NOT NULL,
         takes_part boolean NOT NULL
       ) ON COMMIT DROP`,
    );
    const { rowsRead, refused, problems } = await stage(client, kind, file);
    if (rowsRead === refused)
      throw new DirectoryFileRefused(
        `no row can be read as ${kind}${problems[0] === undefined ? '' : `: ${placeOf(problems[0])}`}`,
      );
    await client.query('SELECT generation FROM routing_directory_state FOR UPDATE');
    const { added, changed } = await merge(client, kind);
    const removed = refused > 0 ? 0 : await removeMissing(client, kind, acceptsRemovals);
    if (added + changed + removed > 0)
      await client.query('UPDATE routing_directory_state SET generation = generation + 1');
    await client.query(
      `INSERT INTO routing_directory_imports (kind, imported_at) VALUES ($1, now())
       ON CONFLICT (kind) DO UPDATE SET imported_at = excluded.imported_at`,
      [kind],
    );
    return { kind, rowsRead, added, changed, removed, refused, problems };
  });
}

/** For people. */
export function placeOf({ line, column, problem }: RowProblem): string {
  return `line ${line}, column ${column}: ${problem}`;
}

interface Staged {
  readonly rowsRead: number;
  readonly refused: number;
  readonly problems: readonly RowProblem[];
}

interface NumberedRow extends ParticipantRow {
  readonly line: number;
}

async function stage(
  client: pg.ClientBase,
  kind: DirectoryKind,
  file: AsyncIterable<Uint8Array>,
): Promise<Staged> {
  const readRow = rowReaderOf(kind);
  const problems: RowProblem[] = [];
  let rowsRead = 0;
  let refused = 0;
  let batch: NumberedRow[] = [];
  const refuse = (problem: RowProblem) => {
    refused += 1;
    if (problems.length < problemsMax) problems.push(problem);
  };
  const flush = async () => {
    for (const line of await insertStaged(client, batch))
      refuse({ line, column: 1, problem: 'the routing number occurs twice' });
    batch = [];
  };
  for await (const { number: line, bytes } of linesOf(file)) {
    try {
      const row = readRow(bytes);
      if (row === null) continue;
      batch.push({ ...row, line });
    } catch (error) {
      if (!(error instanceof RowRefused)) throw error;
      refuse({ line, column: error.column, problem: error.problem });
    }
    rowsRead += 1;
    if (batch.length >= batchMax) await flush();
  }
  await flush();
  return { rowsRead, refused, problems };
}

/** Returns the lines whose routing number was there already. */
async function insertStaged(
  client: pg.ClientBase,
  rows: readonly NumberedRow[],
): Promise<readonly number[]> {
  if (rows.length === 0) return [];
  const inserted = await client.query<{ line: number }>(
    `INSERT INTO routing_directory_staged (line, routing_number, bank_name, takes_part)
     SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::boolean[])
     ON CONFLICT DO NOTHING RETURNING line`,
    [
      rows.map(({ line }) => line),
      rows.map(({ routingNumber }) => routingNumber),
      rows.map(({ bankName }) => bankName),
      rows.map(({ takesPart }) => takesPart),
    ],
  );
  const lines = new Set(inserted.rows.map(({ line }) => line));
  return rows.flatMap(({ line }) => (lines.has(line) ? [] : [line]));
}

async function merge(
  client: pg.ClientBase,
  kind: DirectoryKind,
): Promise<{ readonly added: number; readonly changed: number }> {
  const { rows } = await client.query<{ is_new: boolean }>(
    `INSERT INTO routing_directory AS d (routing_number, kind, bank_name, takes_part, changed_at)
     SELECT routing_number, $1, bank_name, takes_part, now() FROM routing_directory_staged
     ON CONFLICT (routing_number, kind) DO UPDATE
       SET bank_name = EXCLUDED.bank_name, takes_part = EXCLUDED.takes_part, changed_at = now(),
           removed_at = NULL
       WHERE d.bank_name <> EXCLUDED.bank_name OR d.takes_part <> EXCLUDED.takes_part
          OR d.removed_at IS NOT NULL
     -- PostgreSQL sets xmax in a row that was there before.
     RETURNING xmax = 0 AS is_new`,
    [kind],
  );
  const added = rows.filter(({ is_new }) => is_new).length;
  return { added, changed: rows.length - added };
}

/** @throws DirectoryFileRefused when the list looks cut off */
async function removeMissing(
  client: pg.ClientBase,
  kind: DirectoryKind,
  acceptsRemovals: boolean,
): Promise<number> {
  const { rowCount } = await client.query(
    `UPDATE routing_directory d SET removed_at = now(), changed_at = now()
      WHERE kind = $1 AND removed_at IS NULL
        AND NOT EXISTS (SELECT FROM routing_directory_staged s
                         WHERE s.routing_number = d.routing_number)`,
    [kind],
  );
  const removed = rowCount ?? 0;
  if (acceptsRemovals || removed <= removedAlways) return removed;
  const { rows } = await client.query<{ left: number }>(
    'SELECT count(*)::int AS left FROM routing_directory WHERE kind = $1 AND removed_at IS NULL',
    [kind],
  );
  const before = removed + (rows[0]?.left ?? 0);
  if (removed > before * removedShareMax)
    throw new DirectoryFileRefused(
      `${removed} of ${before} participants are missing; --accept-removals removes them`,
    );
  return removed;
}
