import 'reflect-metadata';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '@pis/local-servers';
import { type EventStore, StoreUnavailable } from '@pis/event-store';
import { closeAfterEach, requireServer, until } from '@pis/local-servers/testing';
import type { WakeUp, WakeUps } from '@pis/postgres';
import { migrate } from '@pis/read-models';
import pg from 'pg';
import { loadConfig } from './config.js';
import { gatewayEnv, platformEnv } from './environment.js';
import { createLogger } from './logging.js';
import type { App } from './app.js';
import { onceAvailable, startApp } from './run-app.js';
import type { Readiness } from './health.js';
import type { LogWatch } from './log-watch.js';
import { EVENT_STORE, LOG_WATCH, PG_POOL, WAKE_UPS } from './tokens.js';

const timeoutMs = 20_000;
const logger = createLogger('test', 'silent');

/** Of an app without rails: production requires no banks file. */
const { PIS_BANKS_FILE: _, ...env } = gatewayEnv;
type Minimal = App<typeof env>;

class Empty {}

/** A minimal app. */
const minimal: Minimal = {
  name: 'minimal',
  env,
  consumers: [],
  module: () => ({ module: Empty }),
};

describe('an app', () => {
  const atEnd = closeAfterEach();

  const server = requireServer('PIS_TEST_POSTGRES_URL');
  const database = `later_${randomUUID().replaceAll('-', '')}`;
  const databaseUrl = Object.assign(new URL(server), { pathname: `/${database}` }).href;
  const running: { close(): Promise<void> }[] = [];

  afterEach(async () => {
    await Promise.all(running.splice(0).map((app) => app.close()));
    await onServer(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  });

  async function start(
    variables: Readonly<Record<string, string>> = {},
    definition: Minimal = minimal,
    log = logger,
  ) {
    const given = {
      PORT: '0',
      HOST: '127.0.0.1',
      DATABASE_URL: databaseUrl,
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
      PIS_SHUTDOWN_DRAIN_MS: '0',
      ...variables,
    };
    const app = await startApp(
      definition,
      loadConfig({ ...platformEnv, ...env }, given),
      given.DATABASE_URL,
      log,
    );
    running.push(app);
    let isReady = false;
    const ready = app.ready.then(
      () => (isReady = true),
      () => undefined,
    );
    return { ...app, ready, outcome: app.ready, isReady: () => isReady };
  }

  it('serves its health before its database exists, names it as missing, and becomes ready when it exists', async () => {
    const app = await start();
    const live = await fetch(`${app.url}/health/live`);
    expect([live.status, await live.json()]).toEqual([200, { status: 'live' }]);
    const waiting = await fetch(`${app.url}/health/ready`);
    expect(waiting.status).toBe(503);
    const { status, dependencies } = (await waiting.json()) as Readiness;
    expect(status).toBe('unavailable');
    expect(dependencies['postgres']).toEqual({
      status: 'down',
      reason: expect.stringContaining('does not exist') as string,
    });

    await onServer(`CREATE DATABASE ${database}`);
    await until(
      async () => ((await readiness(app.url)).dependencies['postgres']?.status ?? '') === 'up',
      { timeoutMs },
    );
    expect(app.isReady()).toBe(false);
    await migrate({ connectionString: databaseUrl });
    await app.ready;
    await until(async () => (await readiness(app.url)).status === 'ready', { timeoutMs });
    expect((await readiness(app.url)).dependencies).toEqual({
      postgres: { status: 'up' },
      'event-store': { status: 'up' },
    });
  });

  it('refuses stores of another environment or master key, and does not change them', async () => {
    await onServer(`CREATE DATABASE ${database}`);
    await migrate({ connectionString: databaseUrl });
    const PIS_MASTER_KEY = randomBytes(32).toString('base64');
    const first = await start({ PIS_MASTER_KEY });
    await first.ready;
    const same = await start({ PIS_MASTER_KEY });
    await same.ready;
    expect(same.isReady()).toBe(true);
    const refusals = [
      [{}, 'PIS_MASTER_KEY: '],
      [
        { PIS_MASTER_KEY, PIS_ENVIRONMENT: 'production', PIS_METRICS_PORT: '0' },
        'PIS_ENVIRONMENT: ',
      ],
    ] as const;
    for (const [variables, why] of refusals) {
      const asked: Promise<unknown>[] = [];
      const other = await start(variables, {
        ...minimal,
        prepare: async ({ app }) => {
          const store = app.get<EventStore>(EVENT_STORE);
          const pool = app.get<pg.Pool>(PG_POOL);
          asked.push(store.readLog({ after: '' }), pool.query('SELECT 1'));
          await Promise.allSettled(asked);
        },
      });
      await expect(other.outcome).rejects.toThrow(why);
      for (const answer of asked)
        await expect(answer).rejects.toThrow('has not checked its stores');
    }
  });

  it('stops when DATABASE_DIRECT_URL leads to another database, before it uses one of them', async () => {
    await onServer(`CREATE DATABASE ${database}`);
    let isPrepared = false;
    const prepare = () => Promise.resolve(void (isPrepared = true));
    const app = await start({ DATABASE_DIRECT_URL: server }, { ...minimal, prepare });
    await expect(app.outcome).rejects.toThrow('DATABASE_DIRECT_URL: ');
    expect(isPrepared).toBe(false);
  });

  it('relies on notifications of work once it is proven that they arrive', async () => {
    await onServer(`CREATE DATABASE ${database}`);
    const provider = {
      provide: 'exports',
      inject: [WAKE_UPS],
      useFactory: (wakeUps: WakeUps) => wakeUps.for('exports'),
    };
    const app = await start(
      {},
      { ...minimal, module: () => ({ module: Empty, providers: [provider] }) },
    );
    const { idleMs } = app.app.get<WakeUp>('exports');
    await until(() => idleMs() === 15_000, { timeoutMs });
  });

  it('accepts commands as soon as it reports that it is ready', async () => {
    await onServer(`CREATE DATABASE ${database}`);
    await migrate({ connectionString: databaseUrl });
    const app = await start();
    const watch = app.app.get<LogWatch>(LOG_WATCH);
    expect(() => watch.check()).toThrow('has not been checked');
    await app.outcome;
    expect(() => watch.check()).not.toThrow();
  });

  it.each([
    ['the address of HOST', { ...minimal, defaultHost: '0.0.0.0' }, '127.0.0.1', '127.0.0.1'],
    ['its own default without HOST', { ...minimal, defaultHost: '127.0.0.1' }, '', '127.0.0.1'],
    ['0.0.0.0 without HOST and default', minimal, '', '0.0.0.0'],
  ])('listens on %s', async (_what, definition, HOST, expected) => {
    const { app } = await start({ HOST }, definition);
    const server = app.getHttpServer() as Server;
    expect((server.address() as AddressInfo).address).toBe(expected);
  });

  it('can be stopped while it waits for its database', async () => {
    const app = await start();
    await app.close();
    running.splice(0);
    expect(app.isReady()).toBe(false);
    await expect(fetch(app.url)).rejects.toThrow();
  });

  it('without an open connection answers 503 and serves during the drain before it refuses connections', async () => {
    const promisedMs = 1_000;
    const app = await start({ PIS_SHUTDOWN_DRAIN_MS: String(promisedMs) });
    const beganAtMs = performance.now();
    const closed = app.close();
    running.splice(0);
    const statuses: number[] = [];
    for (let refused = false; !refused; )
      await fetch(`${app.url}/health/ready`, { headers: { connection: 'close' } }).then(
        ({ status }) => statuses.push(status),
        () => (refused = true),
      );
    expect(performance.now() - beganAtMs).toBeGreaterThanOrEqual(promisedMs - 1);
    expect(new Set(statuses)).toEqual(new Set([503]));
    await closed;
  });

  it('does not start with a route that nothing declares', async () => {
    const configureHttp: Minimal['configureHttp'] = (app) => {
      app
        .getHttpAdapter()
        .getInstance()
        .get('/forgotten', () => 'open to everybody');
    };
    await expect(start({}, { ...minimal, configureHttp })).rejects.toThrow(
      'GET /forgotten is neither declared by an operation nor declared public',
    );
  });

  it('serves metrics and health on the same port if only the cluster can reach it', async () => {
    const app = await start({ PIS_ENVIRONMENT: 'production' });
    expect(await (await fetch(`${app.url}/metrics`)).text()).toContain('{app="minimal"}');
  });

  it('shows no address of its dependencies on a public port', async () => {
    const databaseUrl = 'postgres://nobody@127.0.0.1:1/none';
    const app = await start({ DATABASE_URL: databaseUrl }, { ...minimal, publicPort: true });
    const text = await (await fetch(`${app.url}/health/ready`)).text();
    expect(JSON.parse(text)).toMatchObject({
      dependencies: { postgres: { status: 'down', reason: 'see the log (ECONNREFUSED)' } },
    });
    expect(text).not.toMatch(/127\.0\.0\.1|nobody/);
  });

  it('with a public port serves its metrics there in the sandbox, and on a separate port in production', async () => {
    const publicApp = { ...minimal, publicPort: true };
    const sandbox = await start({}, publicApp);
    expect((await fetch(`${sandbox.url}/metrics`)).status).toBe(200);

    const PIS_METRICS_PORT = String(await freePort());
    const app = await start({ PIS_ENVIRONMENT: 'production', PIS_METRICS_PORT }, publicApp);
    expect((await fetch(`${app.url}/metrics`)).status).toBe(404);
    const metrics = `http://127.0.0.1:${PIS_METRICS_PORT}`;
    expect(await (await fetch(`${metrics}/metrics`)).text()).toContain('{app="minimal"}');
    expect((await fetch(`${metrics}/health/ready`)).status).toBe(404);
    expect((await fetch(`${metrics}/metrics`, { method: 'POST' })).status).toBe(404);
    await app.close();
    running.pop();
    await expect(fetch(`${metrics}/metrics`)).rejects.toThrow();
  });

  it('says which port is in use and what to do, before anything of it starts', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    atEnd(() => taken.close());
    await once(taken, 'listening');
    const PORT = String((taken.address() as AddressInfo).port);
    const lines: string[] = [];
    const log = createLogger('test', 'trace', { write: (line) => void lines.push(line) });
    let isBuilt = false;
    const module = () => {
      isBuilt = true;
      return { module: Empty };
    };
    await expect(start({ PORT }, { ...minimal, module }, log)).rejects.toThrow(
      `PORT: port ${PORT} is in use (EADDRINUSE): stop the program that listens there, or set PORT to another port`,
    );
    expect([isBuilt, lines]).toEqual([false, []]);
  });

  it('says that HOST is not an address of the machine', async () => {
    await expect(start({ HOST: '192.0.2.1' })).rejects.toThrow(
      'HOST: 192.0.2.1 is not an address of this machine',
    );
  });

  it('does not start with one port for its API and its metrics', async () => {
    const PORT = String(await freePort());
    const variables = { PIS_ENVIRONMENT: 'production', PORT, PIS_METRICS_PORT: PORT };
    await expect(start(variables, { ...minimal, publicPort: true })).rejects.toThrow(
      `PIS_METRICS_PORT: port ${PORT} is in use`,
    );
  });

  it('says once in its log what it waits for, and nothing else while it waits', async () => {
    const lines: { level: string; msg: string }[] = [];
    const log = createLogger('test', 'info', {
      write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]),
    });
    const app = await start({}, minimal, log);
    await until(() => lines.length > 0, { timeoutMs });
    const client = app.app.get<pg.Pool>(PG_POOL).query('SELECT 1');
    await app.close();
    running.splice(0);
    await expect(client).rejects.toThrow('without having checked its stores');
    await app.ready;
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      ['warn', `waiting for PostgreSQL: database "${database}" does not exist`],
    ]);
  });

  it('says which variable has the wrong password', async () => {
    const wrong = Object.assign(new URL(server), { password: 'wrong' });
    const app = await start({ DATABASE_URL: wrong.href });
    await expect(app.outcome).rejects.toThrow(
      `DATABASE_URL: PostgreSQL refuses this user: password authentication failed for user "${wrong.username}"`,
    );
  });

  it('says what is away and why when its check of the stores waits', async () => {
    const lines: string[] = [];
    const log = { warn: (line: string) => lines.push(line) } as unknown as typeof logger;
    const away = new StoreUnavailable('the read models cannot be reached', {
      cause: new Error('connect ECONNREFUSED'),
    });
    let tries = 0;
    const work = () =>
      Promise.resolve().then(() => {
        tries += 1;
        if (tries < 3) throw away;
      });
    await onceAvailable({ signal: new AbortController().signal, logger: log }, work);
    expect(lines).toEqual([
      'the start waits: the read models cannot be reached: connect ECONNREFUSED',
    ]);
  });

  it('does not start if its metrics port is in use, and leaves nothing open', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    atEnd(() => taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const publicApp = { ...minimal, publicPort: true };
    const PORT = String(await freePort());
    const variables = { PIS_ENVIRONMENT: 'production', PORT, PIS_METRICS_PORT: String(port) };
    await expect(start(variables, publicApp)).rejects.toThrow(/EADDRINUSE/);
    await expect(fetch(`http://127.0.0.1:${PORT}/health/live`)).rejects.toThrow();
  });

  it('runs its hooks for every answer, including unknown paths', async () => {
    const configureHttp: Minimal['configureHttp'] = (http) => {
      const server = http.getHttpAdapter().getInstance();
      server.addHook('onSend', async (_request, reply) => void reply.header('x-seen', 'yes'));
    };
    const app = await start({}, { ...minimal, configureHttp });
    for (const path of ['/nowhere', '/health/live', '/health/', '/metrics/'])
      expect((await fetch(`${app.url}${path}`)).headers.get('x-seen')).toBe('yes');
  });

  async function readiness(url: string): Promise<Readiness> {
    return (await (await fetch(`${url}/health/ready`)).json()) as Readiness;
  }

  async function onServer(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  }
});
