/** What achBank costs when idle, what it deletes, and what it shows to operators. */
import { until } from '@pis/local-servers/testing';
import { Life, mortalPool } from '../../testing/mortality.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { instructionEnding } from '../../testing/transfer-instructions.js';
import { achFigures } from './ach-figures.js';

const dayMs = 86_400_000;
const limit = { timeoutMs: 60_000, everyMs: 10 };

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

describe('a connection that was started', () => {
  it('sends and reads on its own, and tells its listeners', async () => {
    let told = 0;
    const end = world.bank.onNotification?.(() => (told += 1));
    world.bank.start();
    const instructions = Array.from({ length: 100 }, () => instructionEnding('0101'));
    await Promise.all(instructions.map((instruction) => world.bank.submit(instruction)));
    await until(async () => (await world.feed()).length === 200, limit);
    expect(told).toBeGreaterThan(0);
    end?.();
    expect(world.desk.executions.size).toBe(100);
  });

  it('takes over what another process left behind', async () => {
    const instruction = await world.submit('4321');
    const away = () => Promise.reject(new Error('away'));
    const transport = { ...world.desk.transport(), put: away };
    await world.open({ transport }).rounds.outbound();
    await world.pool.query('UPDATE ach_files SET upload_due_at = now() - make_interval(secs => 1)');
    world.bank.start();
    await until(async () => (await world.feed()).length === 1, limit);
    expect(await world.feed()).toMatchObject([{ reference: instruction.reference }]);
  });

  it('makes one statement a round when nothing waits, and none for an empty inbox', async () => {
    const life = new Life(Infinity, 'before');
    const bank = world.open({ pool: mortalPool(world.pool, life) });
    expect(await bank.rounds.outbound()).toBeNull();
    expect(life.steps).toBe(1);
    // The first look asks for files that stayed there.
    expect(await bank.rounds.inbound()).toBeNull();
    expect(life.steps).toBe(2);
    expect(await bank.rounds.inbound()).toBeNull();
    expect(life.steps).toBe(2);
  });
});

describe('the tables', () => {
  it('lose what is older than returns and the memory of references, but nothing that is open', async () => {
    const old = await world.submit('4321');
    await world.settle();
    await world.submit('0401');
    await world.settle();
    const waiting = await world.submit('4321');
    const age = (table: string, column: string) =>
      world.pool.query(`UPDATE ${table} SET ${column} = ${column} - interval '200 days'`);
    await age('ach_entries', 'submitted_at');
    await age('ach_files', 'created_at');
    await age('ach_feed', 'at');
    const recent = await world.submit('4321');
    await world.bank.rounds.prune();
    const { rows } = await world.pool.query<{ reference: string; status: string }>(
      'SELECT reference, status FROM ach_entries ORDER BY status',
    );
    expect(rows.map(({ status }) => status)).toEqual(['filed', 'waiting', 'waiting']);
    const references = rows.map(({ reference }) => reference);
    expect(references).toEqual(expect.arrayContaining([waiting.reference, recent.reference]));
    expect(references).not.toContain(old.reference);
    expect(await world.count('ach_feed')).toBe(0);
    await world.settle();
    // Sequences go on behind what was deleted.
    expect(await world.feed()).toHaveLength(2);
    expect((await world.feed())[0]?.sequence).toBe('2');
  });

  it('lose nothing that is old by one of two clocks only', async () => {
    await world.submit('4321');
    await world.settle();
    await world.pool.query(
      "UPDATE ach_entries SET submitted_at = submitted_at - interval '200 days'",
    );
    await world.pool.query("UPDATE ach_feed SET at = at - interval '200 days'");
    // PostgreSQL's clock is ahead by 199 days: its rows and this process agree.
    const clock = () => Date.now() - 199 * dayMs;
    await world.open({ clock }).rounds.prune();
    expect(await world.count('ach_entries')).toBe(1);
    expect(await world.count('ach_feed')).toBe(1);
  });
});

describe('the figures for operators', () => {
  const none = {
    waiting: 0,
    awaitingPrenote: 0,
    filed: 0,
    lateSeconds: 0,
    recorded: 0,
    recordedSeconds: 0,
    overdue: 0,
    settling: 0,
    unsendable: 0,
    inboxUnread: 0,
    inboxKept: 0,
  };

  it('are zero when everything is settled', async () => {
    expect(await achFigures(world.pool)).toEqual(none);
    await world.submit('4321');
    await world.settle();
    expect(await achFigures(world.pool)).toEqual(none);
  });

  it('show what waits, what was not sent, and what the bank has not acknowledged', async () => {
    world.desk.answersAtOnce = false;
    await world.submit('4321');
    await world.pool.query("UPDATE ach_entries SET due_at = now() - interval '1 hour'");
    const late = await achFigures(world.pool);
    expect(late).toMatchObject({ waiting: 1, filed: 0 });
    expect(Math.abs(late.lateSeconds - 3_600)).toBeLessThan(60);
    await world.bank.rounds.outbound();
    expect(await achFigures(world.pool)).toEqual({ ...none, filed: 1 });
    await world.pool.query(
      'UPDATE ach_files SET overdue_at = now() - make_interval(secs => 1), settles_on = current_date - 1',
    );
    expect(await achFigures(world.pool)).toEqual({ ...none, filed: 1, overdue: 1, settling: 1 });
    await world.pool.query(
      "UPDATE ach_files SET status = 'recorded', created_at = now() - interval '1 hour'",
    );
    const unsent = await achFigures(world.pool);
    expect(unsent).toMatchObject({ recorded: 1, overdue: 0, settling: 1 });
    expect(Math.abs(unsent.recordedSeconds - 3_600)).toBeLessThan(60);
    await world.pool.query("UPDATE ach_files SET status = 'unsendable'");
    expect(await achFigures(world.pool)).toMatchObject({ recorded: 0, unsendable: 1 });
  });
});
