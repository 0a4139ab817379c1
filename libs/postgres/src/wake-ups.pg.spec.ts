import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import pg from 'pg';
import { Listener } from './listener.js';
import { silenceable } from './testing/silent-proxy.js';
import { notifyOfWork, standbyPollMs, workChannel, type WorkKind, WakeUps } from './wake-ups.js';

const limit = { timeoutMs: 20_000 };
const pauses = { idleMs: 3_600_000, idleWithoutListenMs: 1 };
const kinds: readonly WorkKind[] = ['audit', 'exports', 'replays'];

describe('wake-ups of loops that wait for work', () => {
  let database: TestDatabase;
  let operator: pg.Client;
  let listener: Listener;
  let wakeUps: WakeUps;

  beforeEach(async () => {
    database = await createTestDatabase();
    operator = new pg.Client({ connectionString: database.url });
    await operator.connect();
    listener = new Listener({
      channels: ['other', workChannel],
      connection: { connectionString: database.url },
      ...{ retryInitialMs: 5, retryMaxMs: 50, connectTimeoutMs: 10_000, senders: operator },
    });
    wakeUps = new WakeUps(listener, pauses);
  });
  afterEach(async () => {
    await listener?.stop();
    await operator?.end();
    await database?.drop();
  });

  const rung = () => kinds.map((kind) => wakeUps.for(kind).bell.rung);
  const listening = () => until(() => listener.isProven, limit);

  it.each<[WorkKind, string]>([
    ['audit', 'UPDATE audit_tree SET checkpoint_wanted = true'],
    [
      'exports',
      `INSERT INTO exports (id, organization_id, file_id, kind, format, until_at, through_position, requested_by,
          requested_at)
        VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'payments', 'csv', now(), '', 'user:ada', now())`,
    ],
    [
      'replays',
      `INSERT INTO webhook_replays (id, organization_id, endpoint_id, from_at, to_at, through_position, requested_at)
        VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now(), now(), '', now())`,
    ],
  ])('wake those of %s only, when the work is committed', async (kind, request) => {
    await operator.query('INSERT INTO audit_tree (only_row) VALUES (true) ON CONFLICT DO NOTHING');
    rung();
    listener.start();
    await listening();
    const before = rung();
    await operator.query('BEGIN');
    await operator.query(request);
    // Heard after everything that was sent before it.
    const heard = Promise.withResolvers<string>();
    listener.add({ channel: 'other', onNotification: heard.resolve, onListening: () => undefined });
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    await other.query('NOTIFY other');
    await other.end();
    await heard.promise;
    expect(rung()).toEqual(before);
    await operator.query('COMMIT');
    await until(() => wakeUps.for(kind).bell.rung > (before[kinds.indexOf(kind)] ?? 0), limit);
    expect(rung()).toEqual(before.map((count, index) => count + (kinds[index] === kind ? 1 : 0)));
  });

  it('come for all once the lost connection is back, and loops ask often until then', async () => {
    rung();
    expect(wakeUps.areUsed).toBe(true);
    expect(wakeUps.for('audit').idleMs()).toBe(pauses.idleWithoutListenMs);
    listener.start();
    await listening();
    expect(wakeUps.for('audit').idleMs()).toBe(pauses.idleMs);
    const before = rung();
    const ended = await operator.query(
      `SELECT pg_terminate_backend(pid, 10000) AS ended FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'pis-event-listener'`,
    );
    expect(ended.rows).toEqual([{ ended: true }]);
    await until(() => rung().every((count, index) => count > (before[index] ?? 0)), limit);
    await listening();
    const again = rung();
    await operator.query(`SELECT pg_notify('${workChannel}', 'replays')`);
    await until(() => rung()[2] !== again[2], limit);
  });

  it('do not let a standby ask less often for its lock, whose holder may die without a word', async () => {
    const [locks, exports] = (['locks', 'exports'] as const).map((kind) =>
      new WakeUps(listener).for(kind),
    );
    expect([locks?.idleMs(), exports?.idleMs()]).toEqual([standbyPollMs, 2_000]);
    listener.start();
    await listening();
    expect([locks?.idleMs(), exports?.idleMs()]).toEqual([standbyPollMs, 15_000]);
  });

  it('come for all once notifications are in doubt, so that no loop sleeps on', async () => {
    rung();
    listener.start();
    await listening();
    const before = rung();
    listener.doubt();
    expect(rung()).toEqual(before.map((count) => count + 1));
    expect(wakeUps.for('audit').idleMs()).toBe(pauses.idleWithoutListenMs);
  });

  it('come again after the server has silently vanished from the connection', async () => {
    const proxy = await silenceable(database.url);
    const behindProxy = new Listener({
      channels: [workChannel],
      connection: { connectionString: proxy.url },
      ...{ retryInitialMs: 5, retryMaxMs: 50, connectTimeoutMs: 200, checkEveryMs: 20 },
      ...{ senders: operator, arrivesWithinMs: 100 },
    });
    const loops = new WakeUps(behindProxy, pauses);
    const { bell, idleMs } = loops.for('exports');
    try {
      behindProxy.start();
      await until(() => behindProxy.isProven, limit);
      proxy.silent = true;
      await until(() => !behindProxy.listening, limit);
      expect(idleMs()).toBe(pauses.idleWithoutListenMs);
      const { rung } = bell;
      proxy.silent = false;
      await until(() => behindProxy.listening && bell.rung > rung, limit);
      const again = bell.rung;
      await operator.query(`SELECT pg_notify('${workChannel}', 'exports')`);
      await until(() => bell.rung > again, limit);
    } finally {
      await behindProxy.stop();
      proxy.close();
    }
  });

  it('come from another process that announces work', async () => {
    rung();
    listener.start();
    await listening();
    const before = rung();
    await notifyOfWork(operator, 'exports');
    await until(() => rung()[1] !== before[1], limit);
    expect(rung()).toEqual(before.map((count, index) => count + (index === 1 ? 1 : 0)));
  });

  it('do not come in a storm while each connection ends at once', async () => {
    const retryInitialMs = 20;
    const flapping = new Listener({
      channels: [workChannel],
      connection: { connectionString: database.url },
      ...{ retryInitialMs, retryMaxMs: 3_600_000, connectTimeoutMs: 10_000 },
    });
    const listensAtMs: number[] = [];
    flapping.add({
      channel: workChannel,
      onNotification: () => undefined,
      onListening() {
        listensAtMs.push(performance.now());
        void operator.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'pis-event-listener'`,
        );
      },
    });
    try {
      flapping.start();
      await until(() => listensAtMs.length >= 6, limit);
    } finally {
      await flapping.stop();
    }
    const gapsMs = listensAtMs.slice(1).map((atMs, index) => atMs - (listensAtMs[index] ?? atMs));
    // A timer may end a millisecond early.
    gapsMs.forEach((gapMs, index) =>
      expect(gapMs).toBeGreaterThan((retryInitialMs * 2 ** (index + 1)) / 2 - 1),
    );
  });
});
