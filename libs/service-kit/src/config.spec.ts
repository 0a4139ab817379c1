import { ConfigurationError, loadConfig } from './config.js';
import {
  brokerEnv,
  keyringEnv,
  processEnv,
  railsEnv,
  storageEnv,
  webhooksEnv,
} from './environment.js';

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
      'PIS_WEBHOOK_ALLOWED_NETWORKS',
    ]),
  );
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
      PIS_BOOTSTRAP_API_KEY: 'pis_test_aaaaaaaaaaaaaaaaaaaa',
    }),
  ).toEqual(['PIS_BOOTSTRAP_API_KEY: sandbox only']);
});

it('KAFKA_BROKERS is a list', () => {
  expect(
    loadConfig(all, { PIS_BROKER: 'kafka', KAFKA_BROKERS: 'a:9092, b:9092,' }).KAFKA_BROKERS,
  ).toEqual(['a:9092', 'b:9092']);
});

it('production has no simulated bank', () => {
  const env = {
    PIS_ENVIRONMENT: 'production',
    PIS_MASTER_KEY: Buffer.alloc(32).toString('base64'),
  };
  const load = (more: Record<string, string>) => () =>
    loadConfig({ ...processEnv, ...keyringEnv, ...railsEnv }, { ...env, ...more });
  expect(load({})).toThrow(/PIS_BANK_URL/);
  expect(load({ PIS_BANK_URL: 'https://bank.example' })).not.toThrow();
});
