/** What proves that notifications arrive, and what does not. */
import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import pg from 'pg';
import { Listener, type ListenerOptions } from './listener.js';
import { poolerOfTransactions } from './testing/pooler-of-transactions.js';
import { silenceable } from './testing/silent-proxy.js';

const limit = { timeoutMs: 20_000 };
const channel = 'news';

describe('a listening connection', () => {
  let database: TestDatabase;
  let operator: pg.Client;
  /** How many proofs were sent. */
  let sent: number;
  let heard: boolean[];
  let listeners: Listener[];

  beforeEach(async () => {
    database = await createTestDatabase();
    operator = new pg.Client({ connectionString: database.url });
    await operator.connect();
    [sent, heard, listeners] = [0, [], []];
  });
  afterEach(async () => {
    await Promise.all(listeners.map((listener) => listener.stop()));
    await operator?.end();
    await database?.drop();
  });

  function listenerOn(url: string, changes: Partial<ListenerOptions> = {}): Listener {
    const listener = new Listener({
      ...{ channels: [channel], connection: { connectionString: url } },
      ...{ retryInitialMs: 5, retryMaxMs: 50, connectTimeoutMs: 10_000, checkEveryMs: 10 },
      senders: {
        async query(text, values) {
          await operator.query(text, values);
          sent += 1;
        },
      },
      onHearing: (isHearing) => heard.push(isHearing),
      ...changes,
    });
    listeners.push(listener);
    listener.start();
    return listener;
  }

  it('is proven by notifications that others send, again and again', async () => {
    const listener = listenerOn(database.url);
    await until(() => sent >= 5, limit);
    await until(() => listener.isProven, limit);
    expect(heard).toEqual([]);
  });

  it('is not proven without connections that send, and listens nevertheless', async () => {
    const news: string[] = [];
    const listener = listenerOn(database.url, { senders: undefined } as never);
    const onNotification = (text: string) => news.push(text);
    listener.add({ channel, onNotification, onListening: () => undefined });
    await until(() => listener.listening, limit);
    await operator.query(`NOTIFY ${channel}, 'text'`);
    await until(() => news.length === 1, limit);
    expect(listener.isProven).toBe(false);
  });

  it('is not proven in another database, and says so once', async () => {
    const elsewhere = new URL(database.url);
    elsewhere.pathname = '/postgres';
    const listener = listenerOn(elsewhere.href, { arrivesWithinMs: 20 });
    await until(() => sent >= 5, limit);
    expect(listener.listening).toBe(true);
    expect(listener.isProven).toBe(false);
    expect(heard).toEqual([false]);
  });

  it('is not proven behind a pooler that lends a session for one transaction', async () => {
    const pooler = await poolerOfTransactions(database.url);
    try {
      const listener = listenerOn(pooler.url, { arrivesWithinMs: 20 });
      await until(() => pooler.dropped >= 5, limit);
      expect(listener.listening).toBe(true);
      expect(listener.isProven).toBe(false);
      expect(heard).toEqual([false]);
    } finally {
      await Promise.all(listeners.map((listener) => listener.stop()));
      pooler.close();
    }
  });

  it('is not proven by the notification of an earlier proof that arrives late', async () => {
    let last: string[] | null = null;
    const listener = listenerOn(database.url, {
      arrivesWithinMs: 20,
      senders: {
        async query(text, values) {
          if (last !== null) await operator.query(text, last);
          last = values;
          sent += 1;
        },
      },
    });
    await until(() => sent >= 5, limit);
    expect(listener.isProven).toBe(false);
    expect(heard).toEqual([false]);
  });

  it('is in doubt while nothing arrives, and proven when it does again', async () => {
    const proxy = await silenceable(database.url);
    let doubts = 0;
    try {
      const listener = listenerOn(proxy.url, { arrivesWithinMs: 100, connectTimeoutMs: 1_000 });
      const onDoubt = () => (doubts += 1);
      listener.add({
        ...{ channel, onNotification: () => undefined, onListening: () => undefined },
        onDoubt,
      });
      await until(() => listener.isProven, limit);
      proxy.silent = true;
      await until(() => doubts === 1 && !listener.isProven, limit);
      await until(() => !listener.listening, limit);
      proxy.silent = false;
      await until(() => listener.isProven, limit);
      expect(doubts).toBe(1);
      expect(heard).toEqual([false, true]);
    } finally {
      await Promise.all(listeners.map((listener) => listener.stop()));
      proxy.close();
    }
  });

  it('is in doubt at once when it is lost, and when somebody says so, until the next proof', async () => {
    const listener = listenerOn(database.url, { checkEveryMs: 3_600_000, retryInitialMs: 200 });
    const seen: boolean[] = [];
    listener.add({
      ...{ channel, onNotification: () => undefined, onListening: () => undefined },
      onDoubt: () => seen.push(listener.isProven),
    });
    await until(() => listener.isProven, limit);
    await operator.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'pis-event-listener'`,
    );
    await until(() => seen.length === 1, limit);
    await until(() => listener.isProven, limit);
    listener.doubt();
    listener.doubt();
    expect(seen).toEqual([false, false]);
    expect(listener.isProven).toBe(false);
    expect(heard).toEqual([]);
  });

  it('is not proven while nothing can be sent, without saying that nothing arrives', async () => {
    let isAway = false;
    const listener = listenerOn(database.url, {
      senders: {
        query: (text, values) =>
          isAway ? Promise.reject(new Error('away')) : operator.query(text, values),
      },
    });
    await until(() => listener.isProven, limit);
    isAway = true;
    await until(() => !listener.isProven, limit);
    isAway = false;
    await until(() => listener.isProven, limit);
    expect(heard).toEqual([]);
  });

  it('is not proven while the server does not answer those who send', async () => {
    const answered = Promise.withResolvers<void>();
    let isHanging = false;
    const listener = listenerOn(database.url, {
      arrivesWithinMs: 100,
      senders: {
        query: (text, values) => (isHanging ? answered.promise : operator.query(text, values)),
      },
    });
    try {
      await until(() => listener.isProven, limit);
      isHanging = true;
      await until(() => !listener.isProven, limit);
      isHanging = false;
      await until(() => listener.isProven, limit);
      expect(heard).toEqual([]);
    } finally {
      answered.resolve();
    }
  });
});
