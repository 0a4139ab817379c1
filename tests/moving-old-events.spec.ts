/** The commands of docs/scaling.md that move a full partition of the log to another tablespace, while the service works. */
import { randomUUID } from 'node:crypto';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { withSmallPartitions } from '@pis/event-store/testing';
import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import pg from 'pg';
import { Api } from './support/api.js';
import { payable } from './support/payable.js';
import { pisJson, root, type RunningProcess, startProcess } from './support/process.js';
import { provision } from './support/systems.js';

const limitMs = 480_000;
const arrivalLimitMs = 120_000;
/** The first partition ends in the middle of the first payments. */
const partitionEvents = 40;

let scratch: string;
let database: TestDatabase;
let operator: pg.Client;
let system: RunningProcess;
let environment: Readonly<Record<string, string>>;
let api: Api;
let folder: string;
/** Of this test: tablespaces belong to the server, which other tests use. */
const tablespace = `slow_${randomUUID().replaceAll('-', '')}`;

beforeAll(async () => {
  scratch = mkdtempSync(path.join(os.tmpdir(), 'pis-moving-'));
  database = await createTestDatabase();
  await withSmallPartitions(database.url, partitionEvents);
  operator = new pg.Client({ connectionString: database.url });
  await operator.connect();
  folder = await folderOfTheServer();
  environment = {
    DATABASE_URL: database.url,
    PIS_DATA_DIR: scratch,
    PIS_RATE_LIMIT_PER_KEY: '0',
  };
  const { apiKey } = await provision(environment);
  system = await startProcess(null, environment);
  api = new Api(String(system.ready['apiUrl']), apiKey);
}, limitMs);
afterAll(async () => {
  await system?.stop();
  await operator?.end();
  await database?.drop();
  await dropTablespace();
  rmSync(scratch, { recursive: true, force: true });
  rmSync(folder, { recursive: true, force: true });
}, limitMs);

/** An empty folder beside the data directory, which the server's user can reach and owns. */
async function folderOfTheServer(): Promise<string> {
  const { rows } = await operator.query<{ data_directory: string }>('SHOW data_directory');
  const data = rows[0]?.data_directory ?? '';
  const made = path.join(path.dirname(data), tablespace);
  mkdirSync(made, { mode: 0o700 });
  const { uid, gid } = statSync(data);
  chownSync(made, uid, gid);
  return made;
}

async function dropTablespace(): Promise<void> {
  const url = new URL(database.url);
  url.pathname = '/postgres';
  const server = new pg.Client({ connectionString: url.href });
  await server.connect();
  await server.query(`DROP TABLESPACE IF EXISTS ${tablespace}`);
  await server.end();
}

/** The statements of the document, with the folder and the name of this test. */
function documentedStatements(): readonly string[] {
  const text = readFileSync(path.join(root, 'docs/scaling.md'), 'utf8');
  const [, block] = /<!-- moving old events -->\n+```sql\n(.*?)\n```/s.exec(text) ?? [];
  if (block === undefined) throw new Error('docs/scaling.md has no statements');
  const own = block.replace('/mnt/slow/pis', folder).replaceAll(/\bslow\b/g, tablespace);
  return own.split(';').flatMap((statement) => statement.trim() || []);
}

const statusOf = async (paymentId: string) =>
  (await api.data<{ status: string }>(200, 'GET', `/v1/payments/${paymentId}`)).status;

async function expectCompleted(paymentId: string): Promise<void> {
  await until(async () => (await statusOf(paymentId)) === 'COMPLETED', {
    ...{ timeoutMs: arrivalLimitMs, what: 'a completed payment' },
  });
}

it(
  'a full partition moves while payments go on, and its events are read and continued as before',
  async () => {
    const payment = await payable(api);
    const create = async () => {
      const { status, body } = await api.createPayment(payment, randomUUID());
      expect(status).toBe(201);
      return String((body.data as { paymentId: string }).paymentId);
    };
    const old = await create();
    await expectCompleted(old);
    const made = [old];
    const isFull = async () =>
      (await operator.query(`SELECT FROM event_log_head WHERE position > ${partitionEvents}`))
        .rowCount === 1;
    while (!(await isFull())) made.push(await create());

    const moving = new AbortController();
    const load = (async () => {
      while (!moving.signal.aborted) made.push(await create());
    })();
    try {
      for (const statement of documentedStatements()) await operator.query(statement);
    } finally {
      moving.abort();
      await load;
    }
    const { rows } = await operator.query(
      `SELECT c.relname, t.spcname FROM pg_class c JOIN pg_tablespace t ON t.oid = c.reltablespace
       WHERE t.spcname = $1 AND c.relname LIKE 'events%' ORDER BY 1`,
      [tablespace],
    );
    expect(rows.map(({ relname }: { relname: string }) => relname)).toEqual([
      ...['events_1', 'events_1_pkey', 'events_1_stream_id_revision_key'],
    ]);
    const counted = await operator.query<{ events: number }>(
      'SELECT count(*)::int AS events FROM events_1',
    );
    expect(counted.rows).toEqual([{ events: partitionEvents }]);

    for (const paymentId of made) await expectCompleted(paymentId);
    const { contactId } = payment;
    const changes = { companyName: 'Supplies and Sons Ltd' };
    const changed = await api.data(200, 'PATCH', `/v1/contacts/${String(contactId)}`, changes);
    expect(changed).toMatchObject(changes);
    const { rows: spread } = await operator.query<{ partition: string }>(
      'SELECT DISTINCT tableoid::regclass::text AS partition FROM events WHERE stream_id = $1 ORDER BY 1',
      [`contact-${String(contactId)}`],
    );
    expect(spread.map(({ partition }) => partition)).toEqual(['events_1', 'events_2']);

    expect(await pisJson(['projections', 'rebuild'], environment)).toBeDefined();
    const verified = await pisJson(['audit', 'verify'], environment);
    expect(verified).toMatchObject({ ok: true, findings: [] });
    // Nothing is left to do, and the partition in use is refused.
    const inUse = operator.query(`CALL move_event_partition('events_2', '${tablespace}')`);
    await expect(inUse).rejects.toThrow('events_2 is not full');
  },
  limitMs,
);
