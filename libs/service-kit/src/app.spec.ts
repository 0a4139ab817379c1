import 'reflect-metadata';
import { z } from 'zod';
import { type App, type ConfigOf, together } from './app.js';
import { loadConfig } from './config.js';
import { platformEnv } from './environment.js';

class Pages {}
class Executor {}
class Publisher {}

const pages = {
  name: 'pages',
  env: { PIS_PUBLIC_URL: z.url() },
  consumers: [],
  publicPort: true,
  module: () => ({ module: Pages }),
} satisfies App;
const executor = {
  name: 'executor',
  env: { PIS_BANK_URL: z.url().optional() },
  consumers: ['rail-executor'],
  module: () => ({ module: Executor }),
} satisfies App;
const publisher = {
  name: 'publisher',
  env: {},
  consumers: [],
  onlyWithBroker: 'kafka',
  module: () => ({ module: Publisher }),
} satisfies App;

const both = together('both', [pages, executor, publisher]);
const given = { DATABASE_URL: 'postgresql://localhost/pis', PIS_PUBLIC_URL: 'https://pis.example' };
const configFor = (broker: 'embedded' | 'kafka') =>
  loadConfig(
    { ...platformEnv, ...both.env },
    { ...given, PIS_BROKER: broker, KAFKA_BROKERS: 'k:1' },
  );

describe('apps that run together', () => {
  it('read the variables, serve the routes and consume the topics of all apps', () => {
    const { PIS_PUBLIC_URL }: ConfigOf<typeof both.env> = configFor('embedded');
    expect(PIS_PUBLIC_URL).toBe(given.PIS_PUBLIC_URL);
    expect(Object.keys(both.env)).toEqual(['PIS_PUBLIC_URL', 'PIS_BANK_URL']);
    expect(both.consumers).toEqual(['rail-executor']);
    expect(both.publicPort).toBe(true);
  });

  it('have the modules of all apps, except an app for another broker', () => {
    const modules = (broker: 'embedded' | 'kafka') =>
      both.module(configFor(broker)).imports?.map((one) => 'module' in one && one.module);
    expect(modules('embedded')).toEqual([Pages, Executor]);
    expect(modules('kafka')).toEqual([Pages, Executor, Publisher]);
  });

  it('run the preparations one after another', async () => {
    const order: string[] = [];
    const preparing = (name: string) => ({
      ...pages,
      prepare: async () => {
        await Promise.resolve();
        order.push(name);
      },
    });
    const apps = together('all', [preparing('first'), publisher, preparing('second')]);
    const { signal } = new AbortController();
    const [app, logger] = [{} as never, {} as never];
    await apps.prepare?.({ app, config: configFor('kafka'), databaseUrl: '', logger, signal });
    expect(order).toEqual(['first', 'second']);
  });

  it('configure the HTTP server one after another', async () => {
    const order: string[] = [];
    const settingUp = (name: string) => ({
      ...pages,
      configureHttp: async () => {
        await Promise.resolve();
        order.push(name);
      },
    });
    const app = together('app', [settingUp('first'), settingUp('second')]);
    await app.configureHttp?.({} as never, configFor('embedded'));
    expect(order).toEqual(['first', 'second']);
  });
});

it('an app with an unknown consumer group does not compile', () => {
  const unknown = { ...executor, consumers: ['invoicer'] };
  // @ts-expect-error `topicsOfGroup` has no such group.
  const app: App = unknown;
  // @ts-expect-error None of the apps reads it.
  const missing = (config: ConfigOf<typeof both.env>) => config.PIS_SMTP_URL;
  expect([app, missing]).toHaveLength(2);
});
