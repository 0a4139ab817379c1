/**
 * The real servers that tests use: one PostgreSQL with a migrated template database, and one Kafka
 * broker. Each starts when a test run first asks for it. `embeddedPostgres` is not a server: it is
 * the migrated data directory of one, which scenarios copy.
 */
import { join } from 'node:path';
import pg from 'pg';
import { say } from './workspace.mjs';

/** Tests kill processes, not the machine: what PostgreSQL has written stays without fsync. */
const postgresSettings = ['max_connections=300', 'fsync=off'];

/** Environment variables by kind of server. Empty for a kind that this machine cannot run. */
export function testServers(folder) {
  const running = [];
  const started = new Map();
  const starters = {
    postgres: startPostgresIn,
    kafka: startKafkaIn,
    embeddedPostgres: makeEmbeddedPostgres,
  };
  return {
    /** @param kind postgres, kafka or embeddedPostgres */
    environmentOf(kind) {
      if (!Object.hasOwn(starters, kind)) throw new Error(`there is no test server ${kind}`);
      if (!started.has(kind)) started.set(kind, starters[kind](folder, running));
      return started.get(kind);
    },
    /** Stops the servers in reverse order. */
    async stop() {
      await Promise.allSettled(started.values());
      for (let server = running.pop(); server !== undefined; server = running.pop())
        await server.stop();
    },
  };
}

async function startPostgresIn(folder, running) {
  const { startPostgres } = await import('../libs/local-servers/dist/index.js');
  const dataDir = join(folder, 'postgres');
  const postgres = await startPostgres({ dataDir, settings: postgresSettings });
  running.push(postgres);
  await migrateTemplate(postgres.url);
  return { PIS_TEST_POSTGRES_URL: postgres.url };
}

/** It is stopped, so that a copy of it can be started. */
async function makeEmbeddedPostgres(folder) {
  const { startPostgres } = await import('../libs/local-servers/dist/index.js');
  const { migrate } = await import('../libs/read-models/dist/migrate.js');
  const dataDir = join(folder, 'embedded-postgres');
  const postgres = await startPostgres({ dataDir, database: 'pis', settings: ['fsync=off'] });
  try {
    await migrate({ connectionString: postgres.url });
  } finally {
    await postgres.stop();
  }
  return { PIS_TEST_EMBEDDED_POSTGRES: dataDir };
}

async function migrateTemplate(serverUrl) {
  const { templateDatabase } = await import('../libs/local-servers/dist/testing/test-database.js');
  const { migrate } = await import('../libs/read-models/dist/migrate.js');
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${templateDatabase}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${templateDatabase}`;
  await migrate({ connectionString: url.href });
}

/** KAFKA_BROKERS, or a new broker if Java and Maven are installed. Otherwise tests that need Kafka are skipped. */
async function startKafkaIn(folder, running) {
  const given = process.env.KAFKA_BROKERS;
  if (given) return { PIS_TEST_KAFKA_BROKERS: given };
  const { startKafka, KafkaUnavailable } = await import('../libs/local-servers/dist/index.js');
  try {
    const kafka = await startKafka({ dir: join(folder, 'kafka') });
    running.push(kafka);
    return { PIS_TEST_KAFKA_BROKERS: kafka.brokers.join(',') };
  } catch (error) {
    if (!(error instanceof KafkaUnavailable)) throw error;
    say(`tests that need Kafka are skipped: ${error.message}`);
    return {};
  }
}
