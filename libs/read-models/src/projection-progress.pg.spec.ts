import { closeAfterEach, createTestDatabase, openTestPool } from '@pis/local-servers/testing';
import { projectionProgress } from './projection-progress.js';

const atEnd = closeAfterEach();

const timeoutMs = 20_000;
const before = '1'.padStart(20, '0');
const last = '2'.padStart(20, '0');

it('a reader does not rely on positions that it saw before PostgreSQL crashed', async () => {
  const database = await createTestDatabase();
  atEnd(() => database.drop());
  const pool = openTestPool(database.url, 2);
  atEnd(() => pool.end());
  const operator = openTestPool(database.url, 1);
  atEnd(() => operator.end());
  const save = (position: string) =>
    operator.query(
      `INSERT INTO projection_checkpoints (name, position) VALUES ('payments', $1)
       ON CONFLICT (name) DO UPDATE SET position = excluded.position`,
      [position],
    );
  await save(last);
  const progress = projectionProgress(pool, 'payments');
  expect(await progress.waitFor(last, timeoutMs)).toBe(true);

  // A crash ends every connection and loses commits that did not wait for the disk.
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await save(before);
  const lost = new Promise((resolve) => pool.once('remove', resolve));
  await operator.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
  await lost;
  expect(await progress.waitFor(last, 1)).toBe(false);
  await save(last);
  expect(await progress.waitFor(last, timeoutMs)).toBe(true);
});

it('many readers of one pool cause no warning about its listeners', () => {
  const pool = openTestPool('postgresql://localhost/never-connected', 1);
  for (let reader = 0; reader < 20; reader += 1) projectionProgress(pool, 'payments');
  expect(pool.listenerCount('remove')).toBe(1);
});
