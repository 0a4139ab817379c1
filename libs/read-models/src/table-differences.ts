/**
 * What differs between a live table of a read model and its copy that was built from the log: rows and columns, never
 * their contents, because those may be personal data.
 *
 * PostgreSQL compares. Only rows that differ come here, a page at a time. JSON is compared as text there and as a value
 * here, since an earlier release may have written its fields in another order.
 */
import { withErased } from '@pis/contracts';
import { canonicalJson } from '@pis/event-store';
import type pg from 'pg';

export interface ReadModelDifference {
  readonly table: string;
  /** The primary key. */
  readonly row: string;
  /** A field of a JSON column as a path: `item.status`. Null when the row as a whole differs. */
  readonly column: string | null;
  readonly differs: string;
}

export interface TablePair {
  readonly name: string;
  /** Of the live table. The copy has the same name, in the temporary schema. */
  readonly schema: string;
  /** Whether names and accounts were opened for the copy. If not, these fields are not compared. */
  readonly withPersonalData: boolean;
}

/** What must differ, and is no difference. Conditions are SQL, about `live` or `copy`. */
interface Allowance {
  /** Columns that are not computed from the log alone. */
  readonly ignoredColumns?: readonly string[];
  /** Rows of either side that say nothing. */
  readonly isEmpty?: string;
  /** Live rows that the log need not have, with `live` for the row. */
  readonly mayBeExtra?: string;
}

const allowances: Readonly<Record<string, Allowance>> = {
  // A page that adds and removes a payment leaves no row; two pages leave one with zero.
  payment_days: { isEmpty: 'payments = 0 AND amount_minor = 0' },
  payment_durations: { isEmpty: 'payments = 0' },
  // Written before the payment is recorded. A request that was cut off leaves a token of no payment.
  payment_links: {
    mayBeExtra: 'NOT EXISTS (SELECT FROM pg_temp.payments p WHERE p.payment_id = live.payment_id)',
  },
  // The rest is the progress of the rewriting.
  erased_parties: {
    ignoredColumns: ['passes', 'place_created_at', 'place_payment_id', 'due_at', 'lease'],
  },
};

/** Fields of items that are sealed in the log, and the mark of a party without them. */
const personalFields: ReadonlySet<string> = new Set([
  ...['firstName', 'lastName', 'companyName', 'email', 'phoneNumber'],
  ...['legalAddress', 'bankAccount', 'erased'],
]);

const fetchMax = 500;

interface DifferingRow {
  readonly row: string;
  readonly isMissing: boolean;
  readonly isExtra: boolean;
  readonly columns: readonly string[];
  /** By column: the texts of JSON columns. */
  readonly live: Readonly<Record<string, string | null>> | null;
  readonly copy: Readonly<Record<string, string | null>> | null;
}

/** Inside a transaction with one snapshot. */
export async function* tableDifferences(
  client: pg.ClientBase,
  pair: TablePair,
): AsyncGenerator<ReadModelDifference, void, undefined> {
  const columns = await columnsOf(client, pair);
  await client.query(`DECLARE differences NO SCROLL CURSOR FOR ${comparisonOf(pair, columns)}`);
  for (;;) {
    const { rows } = await client.query<DifferingRow>(`FETCH ${fetchMax} FROM differences`);
    const erased = await erasedIn(client, pair, rows);
    for (const row of rows) yield* differencesIn(pair, row, erased);
    if (rows.length < fetchMax) break;
  }
  await client.query('CLOSE differences');
}

interface Column {
  readonly name: string;
  readonly isJson: boolean;
  readonly isKey: boolean;
}

async function columnsOf(
  client: pg.ClientBase,
  { schema, name }: TablePair,
): Promise<readonly Column[]> {
  const ignored = allowances[name]?.ignoredColumns ?? [];
  const { rows } = await client.query<Column>(
    `SELECT quote_ident(attname) AS name, atttypid IN ('json'::regtype, 'jsonb'::regtype) AS "isJson",
       attnum = ANY(coalesce(i.indkey::int2[], '{}')) AS "isKey"
     FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
       AND attname <> ALL($2::text[])
     ORDER BY attnum`,
    [`${schema}.${name}`, ignored],
  );
  if (!rows.some(({ isKey }) => isKey)) throw new Error(`table ${name} has no primary key`);
  return rows;
}

function comparisonOf({ schema, name }: TablePair, columns: readonly Column[]): string {
  const { isEmpty = 'false', mayBeExtra = 'false' } = allowances[name] ?? {};
  const keys = columns.filter(({ isKey }) => isKey).map((column) => column.name);
  const values = columns.filter(({ isKey }) => !isKey);
  const [firstKey = ''] = keys;
  const textOf = (side: string, { name: column, isJson }: Column) =>
    `${side}.${column}${isJson ? '::text' : ''}`;
  const differs = (column: Column) =>
    `${textOf('live', column)} IS DISTINCT FROM ${textOf('copy', column)}`;
  const json = (side: string) => {
    const pairs = values
      .filter(({ isJson }) => isJson)
      .map((column) => `'${column.name}', ${textOf(side, column)}`);
    return pairs.length === 0 ? 'NULL' : `json_build_object(${pairs.join(', ')})`;
  };
  const names = values.map((column) => `CASE WHEN ${differs(column)} THEN '${column.name}' END`);
  const anyDiffers = values.length === 0 ? 'false' : values.map(differs).join(' OR ');
  return `
    SELECT concat_ws('/', ${keys.map((key) => `coalesce(live.${key}, copy.${key})::text`).join(', ')}) AS row,
      live.${firstKey} IS NULL AS "isMissing", copy.${firstKey} IS NULL AS "isExtra",
      array_remove(ARRAY[${names.join(', ')}]::text[], NULL) AS columns,
      ${json('live')} AS live, ${json('copy')} AS copy
    FROM (SELECT * FROM ${schema}.${name} WHERE NOT (${isEmpty})) live
    FULL JOIN (SELECT * FROM pg_temp.${name} WHERE NOT (${isEmpty})) copy
      ON ${keys.map((key) => `live.${key} = copy.${key}`).join(' AND ')}
    WHERE live.${firstKey} IS NULL OR (copy.${firstKey} IS NULL AND NOT (${mayBeExtra}))
      OR (copy.${firstKey} IS NOT NULL AND (${anyDiffers}))`;
}

function* differencesIn(
  { name: table, withPersonalData }: TablePair,
  { row, isMissing, isExtra, columns, live, copy }: DifferingRow,
  erased: ReadonlySet<string>,
): Generator<ReadModelDifference> {
  if (isMissing) return yield { table, row, column: null, differs: 'the row is missing' };
  if (isExtra) return yield { table, row, column: null, differs: 'the log has no such row' };
  for (const column of columns) {
    const [liveText, copyText] = [live?.[column], copy?.[column]];
    if (typeof liveText !== 'string' || typeof copyText !== 'string') {
      yield { table, row, column, differs };
      continue;
    }
    const found: unknown = JSON.parse(liveText);
    const expected: unknown = JSON.parse(copyText);
    // A party that was erased after its payments were copied.
    const now = isItem(expected) ? withErased(expected, (id) => erased.has(id)) : expected;
    const isKnown = (field: string) => withPersonalData || !personalFields.has(field);
    if ([...differingPaths(found, now, column, isKnown)].length === 0) continue;
    for (const path of differingPaths(found, expected, column, isKnown))
      yield { table, row, column: path, differs };
  }
}

const differs = 'it is not what the log says';

/** The paths of the values in which two JSON values differ. */
function* differingPaths(
  one: unknown,
  other: unknown,
  path: string,
  isCompared: (field: string) => boolean,
): Generator<string> {
  if (isObject(one) && isObject(other)) {
    for (const field of new Set([...Object.keys(one), ...Object.keys(other)]))
      if (isCompared(field))
        yield* differingPaths(one[field], other[field], `${path}.${field}`, isCompared);
  } else if (jsonOf(one) !== jsonOf(other)) yield path;
}

function jsonOf(value: unknown): string | undefined {
  return value === undefined ? undefined : canonicalJson(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Item = Parameters<typeof withErased>[0];

function isItem(value: unknown): value is Item {
  return isObject(value) && 'paymentId' in value;
}

/** Which of the parties in these rows were erased. */
async function erasedIn(
  client: pg.ClientBase,
  { schema, name }: TablePair,
  rows: readonly DifferingRow[],
): Promise<ReadonlySet<string>> {
  if (name !== 'payments') return new Set();
  const ids = rows.flatMap(({ copy }) => {
    const item: unknown = JSON.parse(copy?.['item'] ?? 'null');
    return isItem(item) ? [item.originator?.id, item.contact?.id].filter(isText) : [];
  });
  if (ids.length === 0) return new Set();
  const { rows: erased } = await client.query<{ id: string }>(
    `SELECT party_id::text AS id FROM ${schema}.erased_parties WHERE party_id = ANY($1::uuid[])`,
    [[...new Set(ids)]],
  );
  return new Set(erased.map(({ id }) => id));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
