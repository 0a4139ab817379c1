/** Users and TLS of EventStoreDB through the successor, whose native client makes its own connections. */
import { parseEventStoreDbUrl } from '../eventstoredb/connection-string.js';
import { letReadLog } from '../eventstoredb/set-up.js';
import { eventToAppend, testTimeoutMs } from '../testing/conformance-kit.js';
import {
  password,
  secrets,
  type ServerWithUsers,
  startServerWithUsers,
} from '../testing/server-with-users.js';
import { kurrentEventStore } from './kurrent-event-store.js';
import { nativeConnectionString } from './native-reads.js';

let server: ServerWithUsers;
beforeAll(async () => {
  server = await startServerWithUsers();
});
afterAll(() => server?.stop());

it(
  'reads and appends over TLS with a user, a password of any characters and a private CA',
  async () => {
    const store = kurrentEventStore({ connectionString: server.url('pis', password) });
    const event = eventToAppend();
    const { position } = await store.append('payment-1', 'noStream', [event]);
    expect(await store.readStream('payment-1')).toMatchObject([{ id: event.id, position }]);
    await expect(store.lastPosition()).rejects.toThrow(
      /denies it a right: `pis event-store check`/,
    );
    await letReadLog(server.url('admin', password), 'pis');
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
    const connectionString = server.url('pis', secret, ca);
    const store = kurrentEventStore({ connectionString, readTimeoutMs: 5_000 });
    const failure = await store.readStream('payment-1').catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'StoreUnavailable',
      message: expect.stringMatching(message),
    });
    expect(String(failure)).not.toMatch(secrets);
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
