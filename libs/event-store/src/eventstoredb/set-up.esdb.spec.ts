/** Users, rights and TLS of EventStoreDB, from an operator's point of view. */
import { eventToAppend, follow, testTimeoutMs } from '../testing/conformance-kit.js';
import {
  password,
  secrets,
  type ServerWithUsers,
  startServerWithUsers,
} from '../testing/server-with-users.js';
import { until } from '@pis/local-servers/testing';
import { eventStoreDbEventStore } from './eventstoredb-event-store.js';
import { checkEventStoreDb, letReadLog } from './set-up.js';

const timeoutMs = 20_000;

let server: ServerWithUsers;
beforeAll(async () => {
  server = await startServerWithUsers();
});
afterAll(() => server?.stop());

const check = async (connectionString: string) =>
  Object.fromEntries(
    (await checkEventStoreDb(connectionString, 'pis')).map(({ name, ok, text }) => [
      name,
      ok ? 'ok' : text,
    ]),
  );

it(
  'reports wrong credentials, an unknown CA and an unavailable server with advice',
  async () => {
    const wrong = await check(server.url('pis', 'wr0ng'));
    expect(wrong).toMatchObject({ reachable: 'ok', TLS: 'ok' });
    for (const name of ['leader', 'append', 'read the log'])
      expect(wrong[name]).toMatch(/does not take the user and password of EVENTSTOREDB_URL/);
    const untrusted = await check(server.url('pis', password, 'other-ca.pem'));
    for (const name of ['reachable', 'version', 'leader'])
      expect(untrusted[name]).toMatch(/certificate .* not trusted: name its CA with tlsCAFile/);
    const away = await check('esdb://127.0.0.1:1?tls=false');
    expect(away['reachable']).toMatch(/^127\.0\.0\.1:1 does not answer: .*ECONNREFUSED/);
    expect(JSON.stringify([wrong, untrusted, away])).not.toMatch(secrets);
  },
  testTimeoutMs,
);

it(
  'a user without groups may append, and reads the log once an administrator allows it',
  async () => {
    const before = await check(server.url('pis', password));
    expect(before).toMatchObject({ version: 'ok', leader: 'ok', append: 'ok' });
    expect(before['read the log']).toMatch(/pis event-store apply/);
    const store = eventStoreDbEventStore({ connectionString: server.url('pis', password) });
    const failures: (string | undefined)[] = [];
    const follower = follow(store, {
      after: '',
      onConnection: (failure) => failures.push(failure?.message),
    });
    await until(() => failures.length > 0, { timeoutMs });
    expect(failures[0]).toMatch(/denies the user of EVENTSTOREDB_URL a right/);

    await expect(letReadLog(server.url('pis', password), 'pis')).rejects.toThrow(/denies the user/);
    const admin = server.url('admin', password);
    expect(await letReadLog(admin, 'pis')).toEqual({ readers: ['pis', '$admins'], changed: true });
    expect(await letReadLog(admin, 'pis')).toMatchObject({ changed: false });
    expect((await letReadLog(admin, 'audit')).readers).toEqual(['pis', '$admins', 'audit']);

    expect(Object.values(await check(server.url('pis', password)))).toEqual(Array(7).fill('ok'));
    await store.append('payment-1', 'noStream', [eventToAppend()]);
    await until(() => follower.events.length === 1, { timeoutMs });
    await follower.stop();
    await store.close();
  },
  testTimeoutMs,
);
