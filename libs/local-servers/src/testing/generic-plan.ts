import pg from 'pg';
import { createTestDatabase, type TestDatabase } from './test-database.js';

/** See the migration `size_of_queues`. */
const pagesMin = 300;

/**
 * Tests of a queue, a table that is often empty: a session keeps the plan that it made for a statement then, also while
 * thousands of rows wait, so it must not read the whole table.
 * @param statements the text of each, by a name; those about other tables are left out
 */
export function describePlansOfQueue(table: string, statements: Readonly<Record<string, string>>) {
  const about = Object.entries(statements).filter(([, text]) => text.includes(table));
  let database: TestDatabase;
  let client: pg.Client;
  beforeAll(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  describe.each([
    ['new', []],
    ['vacuumed', [`VACUUM (ANALYZE) ${table}`]],
  ])(`${table}, empty and %s`, (_, before) => {
    beforeAll(async () => {
      for (const statement of before) await client.query(statement);
    });

    it('has a file that the planner does not take for small', async () => {
      const { rows } = await client.query<{ readonly pages: number }>(
        `SELECT (pg_relation_size($1) / current_setting('block_size')::int)::int AS pages`,
        [table],
      );
      expect(rows[0]?.pages).toBeGreaterThanOrEqual(pagesMin);
    });

    it.each(about)('is not read whole, nor again for each row, by %s', async (_name, text) => {
      const firstColumns = await firstColumnsOf(client, table);
      const scans = scansOf(await genericPlanOf(client, text), table, firstColumns);
      expect(scans.filter((scan) => !isLookup(scan, firstColumns))).toEqual([]);
    });
  });
}

/** The first column of each index of a table, by the name of the index. */
type FirstColumns = ReadonlyMap<string, string>;

async function firstColumnsOf(client: pg.ClientBase, table: string): Promise<FirstColumns> {
  const { rows } = await client.query<{ readonly index: string; readonly column: string }>(
    `SELECT indexrelid::regclass::text AS index, pg_get_indexdef(indexrelid, 1, false) AS column
       FROM pg_index WHERE indrelid = $1::regclass`,
    [table],
  );
  return new Map(rows.map(({ index, column }) => [index, column]));
}

/** What a node of a plan in JSON has here. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Parent Relationship'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

interface Scan extends PlanNode {
  /** It is made again for each row of another node. */
  readonly isRepeated: boolean;
}

/** The nodes that find rows of the table, without those that read only the first of an index. */
function scansOf(
  node: PlanNode,
  table: string,
  firstColumns: FirstColumns,
  isRepeated = false,
): readonly Scan[] {
  const isScan = ({ 'Relation Name': relation, 'Index Name': index, ...scan }: PlanNode) =>
    scan['Node Type'].endsWith('Scan') && (relation === table || firstColumns.has(index ?? ''));
  const below = (node.Plans ?? []).flatMap((child) => {
    const isFirst = node['Node Type'] === 'Limit' && child.Filter === undefined;
    if (isFirst && isScan(child)) return [];
    const isInner = node['Node Type'] === 'Nested Loop' && child['Parent Relationship'] === 'Inner';
    return scansOf(child, table, firstColumns, isRepeated || isInner);
  });
  return isScan(node) ? [{ ...node, isRepeated }, ...below] : below;
}

/**
 * Whether it looks rows up. An index that is read without a condition on its first column is read whole, and a repeated
 * scan that does not look up a column of the other node finds the same rows each time.
 */
function isLookup({ isRepeated, ...scan }: Scan, firstColumns: FirstColumns): boolean {
  // Its rows come from scans of indexes below it.
  if (scan['Node Type'] === 'Bitmap Heap Scan') return true;
  const column = firstColumns.get(scan['Index Name'] ?? '');
  const condition = scan['Index Cond'] ?? '';
  return condition.includes(`(${column} `) && (!isRepeated || /= \w+\.\w+/.test(condition));
}

/** How PostgreSQL executes a statement that a session has prepared and executed a few times: whatever its values are. */
async function genericPlanOf(client: pg.ClientBase, text: string): Promise<PlanNode> {
  const parameters = Math.max(...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)), 0);
  const given = parameters === 0 ? '' : `(${Array(parameters).fill('NULL').join(', ')})`;
  await client.query('SET plan_cache_mode = force_generic_plan');
  await client.query(`PREPARE planned AS ${text}`);
  const { rows } = await client.query<{ readonly 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(
    `EXPLAIN (FORMAT JSON) EXECUTE planned ${given}`,
  );
  await client.query('DEALLOCATE planned');
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
  if (plan === undefined) throw new Error('no plan');
  return plan;
}
