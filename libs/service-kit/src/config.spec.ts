import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { poolSizes } from '@pis/postgres';
import { ConfigurationError, loadConfig } from './config.js';
import {
  brokerEnv,
  databasePool,
  dashboardEnv,
  keyringEnv,
  organizationLimitsEnv,
  processEnv,
  railsEnv,
  storageEnv,
  webhooksEnv,
} from './environment.js';
import { masterKeysFrom } from './master-keys-from.js';

const all = { ...processEnv, ...storageEnv, ...brokerEnv, ...keyringEnv, ...webhooksEnv };

function problemsOf(env: Record<string, string>, required: string[] = []): readonly string[] {
  try {
    loadConfig(all, env, { required });
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems;
    throw error;
  }
}

it('an empty environment is a working sandbox', () => {
  expect(loadConfig(all, {})).toMatchObject({
    PORT: 3000,
    PIS_ENVIRONMENT: 'sandbox',
    PIS_EVENT_STORE: 'postgres',
    PIS_BROKER: 'embedded',
    PIS_WEBHOOK_RETRY_INITIAL_MS: 30_000,
    PIS_WEBHOOK_ALLOWED_NETWORKS: [],
  });
});

it('an empty variable counts as unset', () => {
  expect(loadConfig(all, { PORT: '', DATABASE_URL: '' })).toMatchObject({ PORT: 3000 });
});

it('all bad variables are reported at once', () => {
  const problems = problemsOf({
    PORT: '70000',
    LOG_LEVEL: 'loud',
    DATABASE_URL: 'mysql://x/y',
    PIS_BROKER: 'kafka',
    PIS_EVENT_STORE: 'eventstoredb',
    PIS_ENVIRONMENT: 'production',
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8,10.0.0.0/99',
  });
  const named = problems.map((problem) => problem.split(':')[0]);
  expect(new Set(named)).toEqual(
    new Set([
      'PORT',
      'LOG_LEVEL',
      'DATABASE_URL',
      'KAFKA_BROKERS',
      'EVENTSTOREDB_URL',
      'PIS_MASTER_KEY',
      'PIS_BANKS_FILE',
      'PIS_WEBHOOK_ALLOWED_NETWORKS',
    ]),
  );
});

it.each([
  ['DATABASE_URL', 'postgres:/db.example/pis'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http:/collector.example'],
  ['PIS_SMTP_URL', 'smtp:/mail.example'],
  ['PIS_SMTP_URL', 'smtp:mail.example'],
])('a URL that lacks a slash is refused: %s=%s', (variable, text) => {
  const load = () => loadConfig({ ...all, ...railsEnv }, { [variable]: text });
  expect(load).toThrow(`${variable}: must be a URL that begins with`);
});

it('a message says in plain words what a variable must be', () => {
  expect(
    problemsOf({
      PORT: '70000',
      PIS_DATABASE_POOL: '3',
      LOG_LEVEL: 'loud',
      PIS_TRUSTED_PROXIES: '10.0.0.1',
      DATABASE_URL: 'postgres://pis:s3cret/@127.0.0.1:5432/pis',
      PIS_WEBHOOK_ALLOWED_NETWORKS: 'localhost',
      PIS_WEBHOOK_EGRESS_PROXY: 'proxy.example:3128',
    }),
  ).toEqual([
    'PORT: must be at most 65535',
    'LOG_LEVEL: must be one of trace, debug, info, warn, error, fatal, silent',
    'PIS_TRUSTED_PROXIES: must be networks such as 10.0.0.0/8, several separated by commas',
    'DATABASE_URL: must be a URL that begins with postgres:// or postgresql://, with special characters of the password percent-encoded',
    'PIS_DATABASE_POOL: must be at least 9',
    'PIS_WEBHOOK_ALLOWED_NETWORKS: must be networks such as 10.0.0.0/8, several separated by commas',
    'PIS_WEBHOOK_EGRESS_PROXY: must be a URL that begins with http:// or https://, with special characters of the password percent-encoded',
  ]);
});

it('EventStoreDB may be a cluster, and its credentials are not shown when the address is wrong', () => {
  const cluster = 'esdb://pis:s3cret@a:2113,b:2113,c:2113?tls=true';
  expect(loadConfig(all, { EVENTSTOREDB_URL: cluster }).EVENTSTOREDB_URL).toBe(cluster);
  const [problem] = problemsOf({ EVENTSTOREDB_URL: `${cluster}&gossipTimeout=soon` });
  expect(problem).toBe('EVENTSTOREDB_URL: Unexpected "soon" at position 51, expected Integer.');
  expect(problem).not.toContain('s3cret');
});

it('EventStoreDB has two clients, and any other name is refused', () => {
  expect(loadConfig(all, {}).EVENTSTOREDB_CLIENT).toBe('eventstore');
  expect(loadConfig(all, { EVENTSTOREDB_CLIENT: 'kurrent' }).EVENTSTOREDB_CLIENT).toBe('kurrent');
  expect(problemsOf({ EVENTSTOREDB_CLIENT: 'other' })).toHaveLength(1);
});

it('an app reports a missing required variable', () => {
  expect(problemsOf({}, ['DATABASE_URL'])).toEqual(['DATABASE_URL: required']);
});

it('a first key given in the environment is refused in production', () => {
  const key = Buffer.alloc(32).toString('base64');
  expect(
    problemsOf({
      PIS_ENVIRONMENT: 'production',
      PIS_MASTER_KEY: key,
      PIS_BANKS_FILE: '/etc/pis/banks.yaml',
      PIS_BOOTSTRAP_API_KEY: 'pis_test_aaaaaaaaaaaaaaaaaaaa',
    }),
  ).toEqual(['PIS_BOOTSTRAP_API_KEY: sandbox only']);
});

it('KAFKA_BROKERS is a list', () => {
  expect(
    loadConfig(all, { PIS_BROKER: 'kafka', KAFKA_BROKERS: 'a:9092, b:9092,' }).KAFKA_BROKERS,
  ).toEqual(['a:9092', 'b:9092']);
});

it.each([
  'kafka',
  'kafka:',
  'kafka:port',
  'kafka:65536',
  'kafka://a:9092',
  "['a:9092']",
  'a:9092 b:9092',
  ',',
])('KAFKA_BROKERS is refused at the start when it is %s', (value) => {
  expect(problemsOf({ PIS_BROKER: 'kafka', KAFKA_BROKERS: value })).toEqual([
    'KAFKA_BROKERS: must be host:port, several separated by commas',
  ]);
});

it('production has no simulated bank', () => {
  const env = {
    PIS_ENVIRONMENT: 'production',
    PIS_MASTER_KEY: Buffer.alloc(32).toString('base64'),
  };
  const load = (more: Record<string, string>) => () =>
    loadConfig({ ...processEnv, ...keyringEnv, ...railsEnv }, { ...env, ...more });
  expect(load({})).toThrow(/PIS_BANKS_FILE: required/);
  const banks = { PIS_BANKS_FILE: '/etc/pis/banks.yaml' };
  expect(load(banks)).not.toThrow();
  const simulator = { PIS_BANK_URL: 'https://bank.example' };
  expect(load(simulator)).toThrow(/PIS_BANK_URL: sandbox only/);
  expect(load({ ...banks, ...simulator })).toThrow(/PIS_BANK_URL: sandbox only/);
});

describe('an OpenID provider', () => {
  const env = {
    PIS_OIDC_ISSUER: 'https://login.example/realm',
    PIS_OIDC_CLIENT_ID: 'dashboard',
    PIS_OIDC_CLIENT_SECRET: 'secret',
    PIS_PUBLIC_URL: 'https://pay.example',
  };
  const shape = { ...processEnv, ...dashboardEnv };
  const load = (changes: Record<string, string>) => () => loadConfig(shape, { ...env, ...changes });

  it('needs its settings and the public address', () => {
    expect(load({})).not.toThrow();
    expect(load({ PIS_OIDC_CLIENT_SECRET: '', PIS_OIDC_CLIENT_SECRET_FILE: '/x' })).not.toThrow();
    for (const name of ['PIS_OIDC_CLIENT_ID', 'PIS_OIDC_CLIENT_SECRET', 'PIS_PUBLIC_URL'])
      expect(load({ [name]: '' })).toThrow(`${name}: required when PIS_OIDC_ISSUER is set`);
    expect(load({ PIS_OIDC_CLIENT_SECRET_FILE: '/x' })).toThrow('cannot be set together');
  });

  it('is asked over TLS, but for one on this machine in the sandbox', () => {
    for (const issuer of [
      'http://login.example',
      'https://a:b@login.example',
      'https://x.example?a',
    ])
      expect(load({ PIS_OIDC_ISSUER: issuer })).toThrow(
        'PIS_OIDC_ISSUER: must be an HTTPS address',
      );
    const local = { PIS_OIDC_ISSUER: 'http://127.0.0.1:8080' };
    expect(load(local)).not.toThrow();
    expect(load({ ...local, PIS_ENVIRONMENT: 'production' })).toThrow('in production');
  });
});

describe('master keys', () => {
  const [one, two] = [1, 2].map((fill) => Buffer.alloc(32, fill).toString('base64'));
  const given = { PIS_MASTER_KEY: one ?? '', PIS_MASTER_KEYS: `${one}, ${two}` };
  const folder = mkdtempSync(path.join(tmpdir(), 'master-keys-'));
  const fileWith = (text: string) => {
    const file = path.join(folder, randomUUID());
    writeFileSync(file, text);
    return file;
  };
  afterAll(() => rmSync(folder, { recursive: true }));

  const idsOf = (env: Record<string, string>) =>
    masterKeysFrom(loadConfig({ ...processEnv, ...keyringEnv }, env)).ids;

  it('come from a variable or from a file, the active one first', () => {
    const [active, old] = [
      idsOf({ PIS_MASTER_KEY: one ?? '' }),
      idsOf({ PIS_MASTER_KEY: two ?? '' }),
    ];
    const both = [...active, ...old];
    expect(idsOf({ PIS_MASTER_KEYS: given.PIS_MASTER_KEYS })).toEqual(both);
    expect(idsOf({ PIS_MASTER_KEYS_FILE: fileWith(`${one},\n${two}\n`) })).toEqual(both);
    expect(idsOf({ PIS_MASTER_KEY_FILE: fileWith(`${two}\n`) })).toEqual(old);
    // As Kubernetes hands on what a command printed into a secret.
    for (const key of [`${two}\n`, ` ${two} `]) expect(idsOf({ PIS_MASTER_KEY: key })).toEqual(old);
    const production = { PIS_ENVIRONMENT: 'production', PIS_MASTER_KEYS: `${two},${one}` };
    expect(idsOf(production)).toEqual([...old, ...active]);
  });

  it.each([
    [given, 'PIS_MASTER_KEY: cannot be set together with PIS_MASTER_KEYS'],
    [{ PIS_MASTER_KEY: 'c2hvcnQ=' }, 'PIS_MASTER_KEY: the key has 5 bytes instead of 32'],
    [{ PIS_MASTER_KEY: `${one}!` }, 'PIS_MASTER_KEY: the key is not base64'],
    [{ PIS_MASTER_KEYS: `${one},${one}` }, 'PIS_MASTER_KEYS: the same key is there twice'],
    [{ PIS_MASTER_KEYS: `${one},AA` }, 'PIS_MASTER_KEYS: key 2 has 1 bytes instead of 32'],
    [{ PIS_MASTER_KEYS: ', ' }, 'PIS_MASTER_KEYS: holds no key'],
    [{ PIS_MASTER_KEY_FILE: '/nowhere/key' }, 'PIS_MASTER_KEY_FILE: cannot be read: ENOENT'],
    [{ PIS_MASTER_KEY_FILE: one ?? '' }, 'PIS_MASTER_KEY_FILE: cannot be read: ENOENT'],
    [{ PIS_MASTER_KEYS_FILE: `${one},${two}` }, 'PIS_MASTER_KEYS_FILE: cannot be read: ENOENT'],
    [{ PIS_MASTER_KEYS_FILE: fileWith('') }, 'PIS_MASTER_KEYS_FILE: holds no key'],
    [
      { PIS_MASTER_KEY_FILE: fileWith(`${one}\n${two}`) },
      'PIS_MASTER_KEY_FILE: the key is not base64',
    ],
  ])('are refused without being told: %#', (env, problem) => {
    const refused = () => idsOf(env);
    expect(refused).toThrow(problem);
    expect(refused).not.toThrow(one);
  });

  it('of the sandbox are made once, and the draft of another process stays', () => {
    const data = path.join(folder, randomUUID());
    mkdirSync(data);
    // Another container on the same volume may have the same process ID.
    const draft = path.join(data, `master-key.${process.pid}`);
    writeFileSync(draft, 'draft');
    const [first, second] = [idsOf({ PIS_DATA_DIR: data }), idsOf({ PIS_DATA_DIR: data })];
    expect(second).toEqual(first);
    expect(readFileSync(draft, 'utf8')).toBe('draft');
    expect(readdirSync(data).sort()).toEqual(['master-key', path.basename(draft)]);
  });
});

it('a process has enough connections to PostgreSQL for what it holds and for its queries', () => {
  expect(problemsOf({ PIS_DATABASE_POOL: '8' })).toEqual([
    expect.stringContaining('PIS_DATABASE_POOL: ') as string,
  ]);
  expect(loadConfig(all, { PIS_DATABASE_POOL: '9' }).PIS_DATABASE_POOL).toBe(9);
  const held = 4;
  const most = 2 * (held + 2) + 1;
  const least = loadConfig({ P: databasePool(held) }, { P: String(most) });
  expect(poolSizes(least.P)).toEqual({ queries: held + 2, store: held + 2 });
  expect(() => loadConfig({ P: databasePool(held) }, { P: String(most - 1) })).toThrow('P: ');
});

it('DATABASE_DIRECT_URL requires the DATABASE_URL of the pooler', () => {
  const url = 'postgres://pis:secret@127.0.0.1/pis';
  expect(problemsOf({ DATABASE_DIRECT_URL: url })).toEqual([
    'DATABASE_URL: required when DATABASE_DIRECT_URL is set',
  ]);
  expect(problemsOf({ DATABASE_DIRECT_URL: url, DATABASE_URL: url })).toEqual([]);
});

it('limits of organizations are pairs of an ID and a rate', () => {
  const id = randomUUID();
  const read = (text: string) =>
    loadConfig(organizationLimitsEnv, { PIS_RATE_LIMIT_ORGANIZATIONS: text })
      .PIS_RATE_LIMIT_ORGANIZATIONS;
  expect(read('')).toEqual(new Map());
  expect(read(`${id.toUpperCase()}=50, ${randomUUID()}=0`).get(id)).toBe(50);
  for (const wrong of ['50', `${id}`, `${id}=`, `${id}=-1`, `${id}=1000001`, `${id}=1,${id}=2`])
    expect(() => read(wrong)).toThrow('PIS_RATE_LIMIT_ORGANIZATIONS: ');
});
