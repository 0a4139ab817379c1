/** Users and TLS of EventStoreDB through the successor, whose native client makes its own connections. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { makeCertificate } from '@pis/local-servers/testing';
import { parseEventStoreDbUrl } from '../eventstoredb/connection-string.js';
import { letReadLog } from '../eventstoredb/set-up.js';
import { eventToAppend, testTimeoutMs } from '../testing/conformance-kit.js';
import {
  type EventStoreDbStandIn,
  startEventStoreDbStandIn,
} from '../testing/eventstoredb-stand-in.js';
import { kurrentEventStore } from './kurrent-event-store.js';
import { nativeConnectionString } from './native-reads.js';

const password = 's3cret @:/?&%';

let folder: string;
let server: EventStoreDbStandIn;
let url: (user: string, password: string, ca?: string) => string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'pis esdb-'));
  const [ours, others] = await Promise.all([
    makeCertificate(['127.0.0.1']),
    makeCertificate(['x']),
  ]);
  writeFileSync(path.join(folder, 'ca.pem'), ours.caPem);
  writeFileSync(path.join(folder, 'other-ca.pem'), others.caPem);
  server = await startEventStoreDbStandIn({
    tls: ours,
    users: {
      admin: { password, groups: ['$admins'] },
      pis: { password, groups: [] },
    },
  });
  url = (user, secret, ca = 'ca.pem') =>
    `esdb://${user}:${encodeURIComponent(secret)}@127.0.0.1:${server.port}` +
    `?tlsCAFile=${encodeURIComponent(path.join(folder, ca))}`;
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it(
  'reads and appends over TLS with a user, a password of any characters and a private CA',
  async () => {
    const store = kurrentEventStore({ connectionString: url('pis', password) });
    const event = eventToAppend();
    const { position } = await store.append('payment-1', 'noStream', [event]);
    expect(await store.readStream('payment-1')).toMatchObject([{ id: event.id, position }]);
    await expect(store.lastPosition()).rejects.toThrow(
      /denies it a right: `pis event-store check`/,
    );
    await letReadLog(url('admin', password), 'pis');
    expect(await store.lastPosition()).toBe(position);
    await store.close();
  },
  testTimeoutMs,
);

it.each([
  ['a wrong password', 'wr0ng', 'ca.pem', /does not take the user/],
  ['an unknown CA', password, 'other-ca.pem', /unavailable for reads: `pis event-store check`/],
] as const)(
  'says where to find the reason of a failed read (%s), without the credentials',
  async (_, secret, ca, message) => {
    const connectionString = url('pis', secret, ca);
    const store = kurrentEventStore({ connectionString, readTimeoutMs: 5_000 });
    const failure = await store.readStream('payment-1').catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'StoreUnavailable',
      message: expect.stringMatching(message),
    });
    expect(String(failure)).not.toMatch(/wr0ng|s3cret/);
    await store.close();
  },
  testTimeoutMs,
);

it('gives the native client milliseconds, the leader preference and no credentials, for every URL', () => {
  const text = 'esdb+discover://u:p%40@a:1?nodePreference=follower&gossipTimeout=3&tls=false';
  expect(nativeConnectionString(parseEventStoreDbUrl(text))).toBe(
    'kurrentdb+discover://a:1?tls=false&nodePreference=leader&gossipTimeout=3000&discoveryInterval=100',
  );
});
