import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kafkaSettings } from './composition.js';
import { loadConfig } from './config.js';
import { brokerEnv } from './environment.js';

const folder = mkdtempSync(join(tmpdir(), 'pis-kafka-settings-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string) => {
  const path = join(folder, name);
  writeFileSync(path, name);
  return path;
};
const settings = (given: Record<string, string>) =>
  kafkaSettings(loadConfig(brokerEnv, { KAFKA_BROKERS: 'a:9092', ...given }), 'spec');

it('reads the certificates for TLS from their files', () => {
  expect(settings({})).not.toHaveProperty('ssl');
  expect(settings({ KAFKA_SSL: 'true' })).toMatchObject({ ssl: true });
  const files = {
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA_FILE: file('ca'),
    KAFKA_SSL_CERT_FILE: file('cert'),
    KAFKA_SSL_KEY_FILE: file('key'),
  };
  expect(settings(files)).toMatchObject({ ssl: { ca: 'ca', cert: 'cert', key: 'key' } });
});

it('has a certificate that was renewed meanwhile at the next connection, and the last one while its file is away', () => {
  const certificate = file('cert');
  const { ssl } = settings({
    ...{ KAFKA_SSL: 'true', KAFKA_SSL_CERT_FILE: certificate, KAFKA_SSL_KEY_FILE: file('key') },
  });
  writeFileSync(certificate, 'renewed');
  expect({ ...(ssl as object) }).toEqual({ cert: 'renewed', key: 'key' });
  rmSync(certificate);
  expect({ ...(ssl as object) }).toEqual({ cert: 'renewed', key: 'key' });
});

it('refuses a certificate without its key, or without TLS, or that cannot be read', () => {
  const cert = file('cert');
  expect(() => settings({ KAFKA_SSL: 'true', KAFKA_SSL_CERT_FILE: cert })).toThrow(
    'KAFKA_SSL_KEY_FILE: required when KAFKA_SSL_CERT_FILE is set',
  );
  expect(() => settings({ KAFKA_SSL: 'true', KAFKA_SSL_KEY_FILE: cert })).toThrow(
    'KAFKA_SSL_CERT_FILE: required when KAFKA_SSL_KEY_FILE is set',
  );
  expect(() => settings({ KAFKA_SSL_CA_FILE: cert })).toThrow(
    'KAFKA_SSL: must be true when KAFKA_SSL_CA_FILE is set',
  );
  expect(() => settings({ KAFKA_SSL: 'true', KAFKA_SSL_CA_FILE: join(folder, 'none') })).toThrow(
    'KAFKA_SSL_CA_FILE: ENOENT',
  );
});
