/** What a payment leaves on disk, by table: whole lifecycles with three webhooks each, over the bytes of the rails. */
import pg from 'pg';
import { say } from '../workspace.mjs';
import { fullLifecycles } from './lifecycle.mjs';
import { startApp, startHelper } from './processes.mjs';
import { createPayable } from './requests.mjs';
import { newApiKey, sendingSettings, withPostgres } from './with-postgres.mjs';

const full = { payments: 5_000 };
const short = { payments: 200 };
const connections = 32;
/** The first payments fill pages that others find half full. */
const warmup = 200;

export async function storage({ isShort }) {
  const { payments } = isShort ? short : full;
  return await withPostgres(async ({ databaseUrl, scratch, undo }) => {
    const receiver = await startHelper('receiver.mjs');
    undo.push(() => receiver.stop());
    const apiKey = newApiKey();
    const settings = sendingSettings({ databaseUrl, scratch }, { apiKey, receiver });
    const app = await startApp(null, settings);
    undo.push(() => app.stop());
    const target = await createPayable({ url: app.url, apiKey });
    await fullLifecycles(target, receiver, { payments: warmup, connections });
    const before = await sizes(databaseUrl);
    say(`${payments} lifecycles`);
    await fullLifecycles(target, receiver, { payments, connections });
    const after = await sizes(databaseUrl);
    return { payments, ...growth(before, after, payments) };
  });
}

/** After a vacuum: bytes of each table with its indexes, rows of the log, and bytes of WAL so far. */
async function sizes(connectionString) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query('VACUUM');
    const { rows } = await client.query(
      `SELECT regexp_replace(relname, '_(\\d{8}|default)$|(?<=^events)_\\d+$', '') AS name,
              sum(pg_total_relation_size(oid))::float8 AS bytes
         FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace GROUP BY 1`,
    );
    const { rows: log } = await client.query(
      `SELECT (SELECT count(*) FROM events)::float8 AS events,
              pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS wal`,
    );
    return { tables: new Map(rows.map(({ name, bytes }) => [name, bytes])), ...log[0] };
  } finally {
    await client.end();
  }
}

function growth(before, after, payments) {
  const tables = [...after.tables]
    .map(([name, bytes]) => [name, (bytes - (before.tables.get(name) ?? 0)) / payments])
    .filter(([, bytes]) => bytes >= 1)
    .sort(([, a], [, b]) => b - a);
  return {
    tables: Object.fromEntries(tables),
    bytes: tables.reduce((sum, [, bytes]) => sum + bytes, 0),
    events: (after.events - before.events) / payments,
    walBytes: (after.wal - before.wal) / payments,
  };
}

export function reportStorage({ payments, tables, bytes, events, walBytes }) {
  const rows = [
    [`WHAT A PAYMENT LEAVES ON DISK (${payments} LIFECYCLES)`, 'bytes'],
    ...Object.entries(tables).map(([name, one]) => [name, one.toFixed(0)]),
    ['all tables with their indexes', bytes.toFixed(0)],
    ['WAL', walBytes.toFixed(0)],
    ['events of the log', events.toFixed(2)],
  ];
  for (const [name, value] of rows) console.log(`${name.padEnd(48)}  ${value.padStart(8)}`);
}
