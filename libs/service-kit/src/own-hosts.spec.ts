import { ownHosts } from './own-hosts.js';

it('webhooks never reach the hosts that this system uses', () => {
  const hosts = ownHosts({
    DATABASE_URL: 'postgres://pis:secret@db.example/pis',
    DATABASE_DIRECT_URL: 'postgres://pis:secret@server.example:5433/pis',
    EVENTSTOREDB_URL: 'esdb://admin:secret@10.0.0.7,node-2.example:2114,node-3.example?tls=true',
    KAFKA_BROKERS: ['kafka-1.example:9093', 'kafka-2.example'],
    PIS_BANK_URL: 'https://bank.example/rails',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
    PIS_WEBHOOK_EGRESS_PROXY: 'http://user:secret@proxy.example:3128',
    PIS_SMTP_URL: 'smtps://user:secret@mail.example',
    PIS_OIDC_ISSUER: 'https://identity.example/realms/staff',
    PIS_DOCUMENT_STORE: 's3://documents/pis?endpoint=https://objects.example:9000',
    HOST: '127.0.0.1',
    PORT: 3000,
    PIS_METRICS_PORT: 9464,
  });
  expect(hosts).toEqual([
    { host: 'db.example', port: 5432 },
    { host: 'server.example', port: 5433 },
    { host: 'bank.example', port: 443 },
    { host: '127.0.0.1', port: 4318 },
    { host: 'proxy.example', port: 3128 },
    { host: 'mail.example', port: 465 },
    { host: 'identity.example', port: 443 },
    { host: 'objects.example', port: 9000 },
    { host: 'kafka-1.example', port: 9093 },
    { host: 'kafka-2.example', port: 9092 },
    { host: '10.0.0.7', port: 2113 },
    { host: 'node-2.example', port: 2114 },
    { host: 'node-3.example', port: 2113 },
    { host: '127.0.0.1', port: 3000 },
    { host: '127.0.0.1', port: 9464 },
  ]);
  expect(JSON.stringify(hosts)).not.toContain('secret');
});

it('socket files and ports that the system chooses have no host', () => {
  const more = { DATABASE_URL: 'postgres:///pis?host=/run/postgresql', PORT: 0 };
  expect(ownHosts(more)).toEqual([]);
  for (const PIS_DOCUMENT_STORE of ['postgres', 's3://documents'])
    expect(ownHosts({ PIS_DOCUMENT_STORE })).toEqual([]);
  expect(ownHosts({ PORT: 3004 })).toEqual([{ host: '0.0.0.0', port: 3004 }]);
});
