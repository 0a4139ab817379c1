/** Users, rights and TLS of EventStoreDB, from an operator's point of view. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeCertificate } from '@pis/local-servers/testing';
import { eventToAppend, follow, testTimeoutMs } from '../testing/conformance-kit.js';
import {
  type EventStoreDbStandIn,
  startEventStoreDbStandIn,
} from '../testing/eventstoredb-stand-in.js';
import { until } from '@pis/local-servers/testing';
import { eventStoreDbEventStore } from './eventstoredb-event-store.js';
import { checkEventStoreDb, letReadLog } from './set-up.js';

const timeoutMs = 20_000;

let folder: string;
let server: EventStoreDbStandIn;
let url: (user: string, password: string, ca?: string) => string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'pis-esdb-'));
  const [ours, others] = await Promise.all([
    makeCertificate(['127.0.0.1']),
    makeCertificate(['x']),
  ]);
  writeFileSync(path.join(folder, 'ca.pem'), ours.caPem);
  writeFileSync(path.join(folder, 'other-ca.pem'), others.caPem);
  server = await startEventStoreDbStandIn({
    tls: ours,
    users: {
      admin: { password: 'changeit', groups: ['$admins'] },
      pis: { password: 's3cret', groups: [] },
    },
  });
  url = (user, password, ca = 'ca.pem') =>
    `esdb://${user}:${password}@127.0.0.1:${server.port}?tlsCAFile=${path.join(folder, ca)}`;
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

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
    const wrong = await check(url('pis', 'wr0ng'));
    expect(wrong).toMatchObject({ reachable: 'ok', TLS: 'ok' });
    for (const name of ['leader', 'append', 'read the log'])
      expect(wrong[name]).toMatch(/does not take the user and password of EVENTSTOREDB_URL/);
    const untrusted = await check(url('pis', 's3cret', 'other-ca.pem'));
    for (const name of ['reachable', 'version', 'leader'])
      expect(untrusted[name]).toMatch(/certificate .* not trusted: name its CA with tlsCAFile/);
    const away = await check('esdb://127.0.0.1:1?tls=false');
    expect(away['reachable']).toMatch(/^127\.0\.0\.1:1 does not answer: .*ECONNREFUSED/);
    expect(JSON.stringify([wrong, untrusted, away])).not.toMatch(/wr0ng|s3cret/);
  },
  testTimeoutMs,
);

it(
  'a user without groups may append, and reads the log once an administrator allows it',
  async () => {
    const before = await check(url('pis', 's3cret'));
    expect(before).toMatchObject({ version: 'ok', leader: 'ok', append: 'ok' });
    expect(before['read the log']).toMatch(/pis event-store apply/);
    const store = eventStoreDbEventStore({ connectionString: url('pis', 's3cret') });
    const failures: (string | undefined)[] = [];
    const follower = follow(store, {
      after: '',
      onConnection: (failure) => failures.push(failure?.message),
    });
    await until(() => failures.length > 0, { timeoutMs });
    expect(failures[0]).toMatch(/denies the user of EVENTSTOREDB_URL a right/);

    await expect(letReadLog(url('pis', 's3cret'), 'pis')).rejects.toThrow(/denies the user/);
    const admin = url('admin', 'changeit');
    expect(await letReadLog(admin, 'pis')).toEqual({ readers: ['pis', '$admins'], changed: true });
    expect(await letReadLog(admin, 'pis')).toMatchObject({ changed: false });
    expect((await letReadLog(admin, 'audit')).readers).toEqual(['pis', '$admins', 'audit']);

    expect(Object.values(await check(url('pis', 's3cret')))).toEqual(Array(7).fill('ok'));
    await store.append('payment-1', 'noStream', [eventToAppend()]);
    await until(() => follower.events.length === 1, { timeoutMs });
    await follower.stop();
    await store.close();
  },
  testTimeoutMs,
);
