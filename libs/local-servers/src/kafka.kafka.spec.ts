import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { processIdentity } from '../plain/process-identity.mjs';
import { startKafka } from './kafka.js';
import { diedSuddenly } from './testing/victim.js';
import { until } from './testing/until.js';

const withBroker = process.env['PIS_TEST_KAFKA_BROKERS'] ? describe : describe.skip;
const onLinux = process.platform === 'linux' ? it : it.skip;
const timeoutMs = 120_000;

function accepts(broker: string): Promise<boolean> {
  const [host = '', port = ''] = broker.split(':');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('close', () => socket.destroy()).setTimeout(1000, () => socket.destroy());
  });
}

withBroker('a Kafka broker of our own', () => {
  it(
    'comes back on the same address after it was killed, and is gone when stopped',
    async () => {
      const kafka = await startKafka();
      const [broker = ''] = kafka.brokers;
      const first = kafka.pid;
      expect(await accepts(broker)).toBe(true);
      await kafka.kill();
      expect(processIdentity(first)).toBeNull();
      expect(await accepts(broker)).toBe(false);
      await kafka.restart();
      expect(kafka.pid).not.toBe(first);
      expect(await accepts(broker)).toBe(true);
      await kafka.stop();
      expect(processIdentity(kafka.pid)).toBeNull();
    },
    timeoutMs,
  );

  onLinux(
    'begins with the classes that Java has loaded before',
    async () => {
      const kafka = await startKafka();
      const mapped = readFileSync(`/proc/${kafka.pid}/maps`, 'utf8');
      await kafka.stop();
      expect(mapped).toMatch(/\/kafka-[\d.]+\.jsa$/m);
    },
    timeoutMs,
  );

  it(
    'does not outlive a test run that is killed',
    async () => {
      const { pid } = await diedSuddenly('startKafka', {});
      await until(() => processIdentity(pid) === null, { timeoutMs: 60_000 });
    },
    timeoutMs,
  );
});
