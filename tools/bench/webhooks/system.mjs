/**
 * The part of the system that delivers, as processes of its own on servers of its own: PostgreSQL,
 * the broker (Kafka where this machine can run one, else the embedded one), relay and dispatcher.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { KafkaUnavailable, startKafka, startPostgres } from '@pis/local-servers';
import { node, root, run, say } from '../../workspace.mjs';
import { cpuMsOfTree } from '../process-cpu.mjs';
import { startApp, startHelper } from '../processes.mjs';

const pis = join(root, 'apps/cli/bin/pis.mjs');

/** Everything but the dispatcher; `undo` gets what ends it. */
export async function startSystem(scratch, undo) {
  const postgres = await startPostgres({ dataDir: join(scratch, 'postgres'), database: 'bench' });
  undo.push(() => postgres.stop());
  const receiver = await startHelper('webhooks/receiver.mjs');
  undo.push(() => receiver.stop());
  const kafka = await startBroker(scratch, undo);
  const env = {
    DATABASE_URL: postgres.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: join(scratch, 'data'),
    PIS_RATE_LIMIT_PER_KEY: '0',
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.hello.caFile,
    LOG_LEVEL: 'warn',
    ...(kafka === null ? {} : { PIS_BROKER: 'kafka', KAFKA_BROKERS: kafka.brokers.join(',') }),
  };
  await run(node, [pis, 'migrate'], { env });
  if (kafka !== null) {
    await run(node, [pis, 'kafka', 'apply'], { env });
    const relay = await startApp('event-relay', env);
    undo.push(() => relay.stop());
  }
  return { env, postgres, kafka, receiver: countingReceiver(receiver) };
}

/** Kafka, or null where this machine can run none. */
export async function startBroker(scratch, undo) {
  try {
    const kafka = await startKafka({ dir: join(scratch, 'kafka') });
    undo.push(() => kafka.stop());
    return kafka;
  } catch (error) {
    if (!(error instanceof KafkaUnavailable)) throw error;
    say(`without Kafka, on the embedded broker: ${error.message}`);
    return null;
  }
}

/** The dispatcher as a process of its own, and what it and PostgreSQL use. */
export async function startDispatcher({ env, postgres }, more = {}) {
  const app = await startApp('webhook-dispatcher', { ...env, ...more });
  return {
    stop: app.stop,
    cpu: () => ({ dispatcherMs: cpuMsOfTree(app.pid), postgresMs: cpuMsOfTree(postgres.pid) }),
    metric: async (name) => {
      const text = await (await fetch(`${app.url}/metrics`)).text();
      return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
    },
  };
}

/** Adds up the reports of the receiver. */
function countingReceiver({ hello, child }) {
  const counts = { received: 0, again: 0, slow: 0, bytes: 0, lastAtMs: 0 };
  /** When the event of a payment came to a /timed endpoint. */
  const timed = new Map();
  let onReport = () => undefined;
  child.on('message', (news) => {
    for (const name of ['received', 'again', 'slow', 'bytes']) counts[name] += news[name];
    counts.lastAtMs = Math.max(counts.lastAtMs, news.lastAtMs);
    for (const [paymentId, atMs] of news.timed) timed.set(paymentId, atMs);
    onReport();
  });
  return {
    urls: hello.urls,
    counts,
    timed,
    /** Resolves once `isTrue`, asked whenever something came. @throws after limitMs, saying what was waited for */
    async until(isTrue, { limitMs, what }) {
      await new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`${what}: not within ${limitMs} ms; ${JSON.stringify(counts)}`)),
          limitMs,
        );
        onReport = () => {
          if (!isTrue()) return;
          clearTimeout(timer);
          resolve();
        };
        onReport();
      }).finally(() => (onReport = () => undefined));
    },
  };
}
