/** The tests have no Docker engine. They check what `docker compose config` and a review would find. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as environment from '../libs/service-kit/src/environment.ts';

const root = join(import.meta.dirname, '..');
const compose = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true });
const { services } = compose;
const apps = Object.entries(services).filter(([, service]) => service.profiles?.includes('apps'));
const observers = Object.entries(services).filter(([, service]) =>
  service.profiles?.includes('observability'),
);
const servers = Object.entries(services).filter(([, service]) => service.profiles === undefined);
/** Not processes of their own: a command, another way to run all, and the files that the dashboard serves. */
const noServices = ['cli', 'all-in-one', 'dashboard-web'];
/** They run once, in this order. */
const commands = ['topics', 'migrate'];
/** They read the banks file, which the simulator writes. */
const bankUsers = [
  'api-gateway',
  'dashboard',
  'payment-pages',
  'rail-executor',
  'webhook-dispatcher',
];
/** The AWS tools' own, for documents in S3. */
const readByAws = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'];
/** They check addresses of receivers: when an endpoint is created or changed, and at each connection. */
const addressCheckers = ['api-gateway', 'dashboard', 'webhook-dispatcher'];
/** They read or write documents. */
const documentUsers = ['api-gateway', 'dashboard', 'statement-generator'];

describe('docker-compose.yml', () => {
  it('has PostgreSQL, Kafka and EventStoreDB, and the apps with the profile apps', () => {
    expect(servers.map(([name]) => name)).toEqual(['postgres', 'kafka', 'eventstoredb']);
    expect(apps.length + servers.length + observers.length).toBe(Object.keys(services).length);
    for (const [, { healthcheck }] of servers) expect(healthcheck.test[0]).toBe('CMD');
  });

  it('pins the version of every image that it does not build', () => {
    for (const [, { image }] of [...servers, ...observers])
      expect(image).toMatch(/^[a-z/-]+:v?\d+(\.\d+)*$/);
  });

  it('has the observers of the apps with the profile observability', () => {
    const names = ['otel-collector', 'tempo', 'prometheus', 'grafana'];
    expect(observers.map(([name]) => name)).toEqual(names);
    for (const [, { profiles }] of observers) expect(profiles).toEqual(['observability']);
  });

  it('has one Prometheus target for each app', () => {
    const { scrape_configs: jobs } = yamlOf('deploy/observability/prometheus.yaml');
    const targets = jobs.flatMap((job) => job.static_configs).flatMap((part) => part.targets);
    const ports = apps
      .filter(([name]) => !commands.includes(name))
      .map(([name, { environment: app }]) => `${name}:${app.PORT}`);
    expect(targets).toEqual(ports.toSorted());
  });

  it('mounts configuration that exists, read-only', () => {
    for (const [, { volumes }] of observers)
      for (const volume of volumes.filter((text) => text.startsWith('./'))) {
        const [source, , mode] = volume.split(':');
        expect({ source, exists: existsSync(join(root, source)), mode }).toEqual({
          ...{ source, exists: true, mode: 'ro' },
        });
      }
  });

  it('sends traces from the apps to Tempo through the collector, where Grafana reads them', () => {
    const collector = yamlOf('deploy/observability/otel-collector.yaml');
    const tempo = yamlOf('deploy/observability/tempo.yaml');
    const portOf = (receiver) => receiver.protocols.http.endpoint.split(':')[1];
    expect(portOf(collector.receivers.otlp)).toBe('4318');
    expect(collector.exporters.otlphttp.endpoint).toBe(
      `http://tempo:${portOf(tempo.distributor.receivers.otlp)}`,
    );
    expect(collector.service.pipelines.traces.exporters).toEqual(['otlphttp']);
    const { datasources } = yamlOf('deploy/observability/grafana/datasources.yaml');
    expect(datasources.map(({ url }) => url)).toEqual([
      'http://prometheus:9090',
      `http://tempo:${tempo.server.http_listen_port}`,
    ]);
    for (const [name, { environment: app }] of apps)
      expect([name, app.OTEL_EXPORTER_OTLP_ENDPOINT]).toEqual([
        name,
        '${OTEL_EXPORTER_OTLP_ENDPOINT:-}',
      ]);
  });

  it('gives an app nothing to write to but its volume and /tmp', () => {
    for (const [, { read_only: isReadOnly, tmpfs, volumes }] of apps)
      expect({ isReadOnly, tmpfs, volumes }).toEqual({
        ...{ isReadOnly: true, tmpfs: ['/tmp'] },
        volumes: ['app-data:/data'],
      });
  });

  it('checks the health of each service with a command whose words are all text', () => {
    for (const { healthcheck } of Object.values(services))
      for (const word of healthcheck?.test ?? []) expect(typeof word).toBe('string');
  });

  it('runs every app of apps/ as a service of its name', () => {
    const folders = readdirSync(join(root, 'apps')).filter((name) => !noServices.includes(name));
    for (const name of folders) expect(services[name]?.command).toEqual([name]);
    expect(apps.map(([name]) => name).sort()).toEqual([...folders, ...commands].sort());
  });

  it('gives the apps variables that they read, with values that they accept', () => {
    const known = Object.assign({}, ...Object.values(environment).filter((part) => isShape(part)));
    for (const [name, service] of apps)
      for (const [variable, value] of Object.entries(service.environment)) {
        if (readByAws.includes(variable)) continue;
        expect(`${name}: ${variable in known ? variable : 'unknown ' + variable}`).toBe(
          `${name}: ${variable}`,
        );
        const text = String(value).replace(/\$\{\w+:-([^}]*)\}/g, '$1');
        if (text !== '') expect(known[variable].safeParse(text)).toMatchObject({ success: true });
      }
  });

  it('exempts the same networks of receivers where endpoints are created and where webhooks are sent', () => {
    for (const name of addressCheckers)
      expect([name, services[name].environment.PIS_WEBHOOK_ALLOWED_NETWORKS]).toEqual([
        name,
        '${PIS_WEBHOOK_ALLOWED_NETWORKS:-}',
      ]);
  });

  it('starts the apps after the migration, and it after the servers; who needs the bank comes after it', () => {
    for (const [name, service] of apps) {
      const isCommand = commands.includes(name);
      if (isCommand) expect(service.command[0]).toBe('pis');
      const completed = { condition: 'service_completed_successfully' };
      const expected = {
        topics: Object.fromEntries(
          servers.map(([server]) => [server, { condition: 'service_healthy' }]),
        ),
        migrate: { topics: completed },
      };
      expect(service.depends_on).toEqual(
        expected[name] ?? {
          migrate: completed,
          ...(bankUsers.includes(name)
            ? { 'bank-simulator': { condition: 'service_healthy' } }
            : {}),
        },
      );
    }
  });

  it('reaches the simulated bank over SFTP and HTTPS by the name of its service', () => {
    const { environment: bank } = services['bank-simulator'];
    expect(bank.PIS_BANK_HOST).toBe('bank-simulator');
    for (const name of bankUsers) {
      const { environment: app, volumes } = services[name];
      expect(app.PIS_BANKS_FILE).toBe(`${bank.PIS_DATA_DIR}/simulated-bank/banks.yaml`);
      expect(volumes).toEqual(services['bank-simulator'].volumes);
      expect(app).not.toHaveProperty('PIS_BANK_URL');
    }
  });

  it('keeps documents in one place, which the environment of the command may change', () => {
    for (const name of documentUsers)
      expect(services[name].environment).toMatchObject({
        PIS_DOCUMENT_STORE: '${PIS_DOCUMENT_STORE:-postgres}',
        ...Object.fromEntries(readByAws.map((variable) => [variable, `\${${variable}:-}`])),
      });
  });

  it('gives the credentials of the bucket to the apps that use documents, and to nothing else', () => {
    const given = Object.entries(services)
      .filter(([, service]) => readByAws.some((name) => name in (service.environment ?? {})))
      .map(([name]) => name);
    expect(given).toEqual(documentUsers);
  });

  it('publishes ports on this machine only, each once', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    expect(new Set(ports).size).toBe(ports.length);
  });

  it('names volumes and build files that exist', () => {
    for (const { volumes = [], build } of Object.values(services)) {
      for (const volume of volumes.filter((text) => !text.startsWith('./')))
        expect(compose.volumes).toHaveProperty([volume.split(':')[0]]);
      if (build) expect(existsSync(join(root, build.context, build.dockerfile))).toBe(true);
    }
  });
});

function yamlOf(file) {
  return parse(readFileSync(join(root, file), 'utf8'));
}

/** A fragment of the environment: variable names to zod schemas. */
function isShape(part) {
  return (
    typeof part === 'object' &&
    Object.values(part).every((schema) => Object(schema) === schema && 'safeParse' in schema)
  );
}
