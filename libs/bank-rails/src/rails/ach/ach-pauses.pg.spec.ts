/** The connection is paused just after a process has looked for something to send: its database may have failed over. */
import type pg from 'pg';
import { BankAnswerUnclear, BankUnavailable } from '../../bank-connection.js';
import { pauseConnections, resumeConnection } from '../../connections/connection-pauses.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';

const connection = 'test-ach';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

/** Pauses the connection right after the first look. */
function pausedAfterLook(): pg.Pool {
  let isPaused = false;
  const pool = Object.create(world.pool) as pg.Pool;
  pool.query = (async (...args: Parameters<pg.Pool['query']>) => {
    const result = await (world.pool.query(...args) as unknown as Promise<unknown>);
    const statement: unknown = args[0];
    const isLook = (statement as { readonly name?: string }).name === 'ach-place';
    if (isLook && !isPaused) {
      isPaused = true;
      await pauseConnections(world.pool, { connection, isRestored: true, reason: 'a failover' });
    }
    return result;
  }) as pg.Pool['query'];
  return pool;
}

async function expectSentAfterPause(): Promise<void> {
  expect(world.desk.uploads).toEqual([]);
  expect(await resumeConnection(world.pool, connection)).toBe(true);
  await world.settle();
  expect(world.desk.uploads).toHaveLength(1);
}

it('no file is built any more', async () => {
  await world.submit('4321');
  await world.settle(world.open({ pool: pausedAfterLook() }));
  expect(await world.count('ach_entries', "status = 'waiting'")).toBe(1);
  await expectSentAfterPause();
});

it('an entry in no file is voided when the connection of a restored database is resumed, and not before', async () => {
  const { reference } = await world.submit('4321');
  await pauseConnections(world.pool, { connection, isRestored: true, reason: 'a failover' });
  await expect(world.bank.void(reference)).rejects.toThrow(BankAnswerUnclear);
  await resumeConnection(world.pool, connection);
  await world.settle();
  expect(world.desk.uploads).toEqual([]);
  expect(await world.bank.void(reference)).toEqual({ outcome: 'voided' });
});

it('an entry in no file is voided while an operator has paused its connection', async () => {
  const { reference } = await world.submit('4321');
  await pauseConnections(world.pool, { connection, isRestored: false, reason: 'by hand' });
  expect(await world.bank.void(reference)).toEqual({ outcome: 'voided' });
});

it('no recorded file is uploaded any more', async () => {
  await world.submit('4321');
  const put = () => Promise.reject(new BankUnavailable('away'));
  await world.open({ transport: { ...world.desk.transport(), put } }).rounds.outbound();
  await world.pool.query("UPDATE ach_files SET upload_due_at = now() - interval '1 second'");
  await world.settle(world.open({ pool: pausedAfterLook() }));
  expect(await world.count('ach_files', "status = 'recorded'")).toBe(1);
  await expectSentAfterPause();
});
