import { plainConnections, warnOfPlainConnections } from './plain-connections.js';

it('connections that anybody between can read are named by their variables', () => {
  const plain = plainConnections({
    DATABASE_URL: 'postgres://pis:secret@db.example/pis',
    DATABASE_DIRECT_URL: 'postgres://pis:secret@server.example/pis?sslmode=disable',
    PIS_EVENT_STORE: 'eventstoredb',
    EVENTSTOREDB_URL: 'esdb://admin:secret@node-1.example:2113,node-2.example?tls=false',
    PIS_BROKER: 'kafka',
    KAFKA_BROKERS: ['127.0.0.1:9092', 'kafka.example:9092'],
    KAFKA_SSL: false,
  });
  expect(plain).toEqual([
    'DATABASE_URL',
    'DATABASE_DIRECT_URL',
    'EVENTSTOREDB_URL',
    'KAFKA_BROKERS',
  ]);
});

it('a server whose certificate is not checked may be anybody', () => {
  const DATABASE_URL = 'postgres://db.example/pis?sslmode=no-verify';
  expect(plainConnections({ DATABASE_URL })).toEqual(['DATABASE_URL']);
});

it.each(['verify-full', 'require'])('sslmode=%s, tls and KAFKA_SSL protect them', (sslmode) => {
  const plain = plainConnections({
    DATABASE_URL: `postgres://pis:secret@db.example/pis?sslmode=${sslmode}`,
    PIS_EVENT_STORE: 'eventstoredb',
    EVENTSTOREDB_URL: 'esdb://node-1.example:2113',
    PIS_BROKER: 'kafka',
    KAFKA_BROKERS: ['kafka.example:9093'],
    KAFKA_SSL: true,
  });
  expect(plain).toEqual([]);
});

it('what reaches this machine, and what is not used, needs no protection', () => {
  for (const DATABASE_URL of [
    'postgres://127.0.0.1/pis',
    'postgres://localhost:5433/pis',
    'postgres://[::1]/pis',
    'postgres:///pis?host=/run/postgresql',
  ])
    expect(plainConnections({ DATABASE_URL })).toEqual([]);
  const EVENTSTOREDB_URL = 'esdb://node-1.example:2113?tls=false';
  expect(plainConnections({ PIS_EVENT_STORE: 'postgres', EVENTSTOREDB_URL })).toEqual([]);
  expect(plainConnections({ PIS_BROKER: 'embedded', KAFKA_BROKERS: ['k.example'] })).toEqual([]);
});

it('production warns of them, without the password, and the sandbox does not', () => {
  const lines: unknown[] = [];
  const logger = { warn: (...given: unknown[]) => void lines.push(given) };
  const DATABASE_URL = 'postgres://pis:secret@db.example/pis';
  warnOfPlainConnections({ PIS_ENVIRONMENT: 'sandbox', DATABASE_URL }, logger);
  expect(lines).toEqual([]);
  warnOfPlainConnections({ PIS_ENVIRONMENT: 'production', DATABASE_URL }, logger);
  expect(lines).toEqual([[{ variable: 'DATABASE_URL' }, expect.stringContaining('not encrypted')]]);
  expect(JSON.stringify(lines)).not.toContain('secret');
});
