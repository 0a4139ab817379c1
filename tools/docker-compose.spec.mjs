/** The tests have no Docker engine. They check what `docker compose config` and a review would find. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as environment from '../libs/service-kit/src/environment.ts';

const root = join(import.meta.dirname, '..');
const compose = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true });
const { services } = compose;
const apps = Object.entries(services).filter(([, service]) => service.profiles?.includes('apps'));
const servers = Object.entries(services).filter(([, service]) => service.profiles === undefined);
/** Not processes of their own: a command, another way to run all, and the files that the dashboard serves. */
const noServices = ['cli', 'all-in-one', 'dashboard-web'];
/** They read the banks file, which the simulator writes. */
const bankUsers = [
  'api-gateway',
  'dashboard',
  'payment-pages',
  'rail-executor',
  'webhook-dispatcher',
];
/** The AWS tools' own, for documents in S3. */
const readByAws = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'];
/** They read or write documents. */
const documentUsers = ['api-gateway', 'dashboard', 'statement-generator'];

describe('docker-compose.yml', () => {
  it('has PostgreSQL, Kafka and EventStoreDB, and the apps with the profile apps', () => {
    expect(servers.map(([name]) => name)).toEqual(['postgres', 'kafka', 'eventstoredb']);
    expect(apps.length + servers.length).toBe(Object.keys(services).length);
    for (const [, { image, healthcheck }] of servers) {
      expect(image).toMatch(/^[a-z/]+:[\d.]+$/);
      expect(healthcheck.test[0]).toBe('CMD');
    }
  });

  it('checks the health of each service with a command whose words are all text', () => {
    for (const { healthcheck } of Object.values(services))
      for (const word of healthcheck?.test ?? []) expect(typeof word).toBe('string');
  });

  it('runs every app of apps/ as a service of its name', () => {
    const folders = readdirSync(join(root, 'apps')).filter((name) => !noServices.includes(name));
    for (const name of folders)
      expect(services[name]?.command).toEqual(['node', `apps/${name}/dist/main.js`]);
    expect(apps.map(([name]) => name).sort()).toEqual([...folders, 'migrate'].sort());
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

  it('starts the apps after the migration, and it after the servers; who needs the bank comes after it', () => {
    for (const [name, service] of apps) {
      const expected =
        name === 'migrate'
          ? Object.fromEntries(
              servers.map(([server]) => [server, { condition: 'service_healthy' }]),
            )
          : {
              migrate: { condition: 'service_completed_successfully' },
              ...(bankUsers.includes(name)
                ? { 'bank-simulator': { condition: 'service_healthy' } }
                : {}),
            };
      expect(service.depends_on).toEqual(expected);
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

  it('publishes ports on this machine only, each once', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    expect(new Set(ports).size).toBe(ports.length);
  });

  it('names volumes and build files that exist', () => {
    for (const { volumes = [], build } of Object.values(services)) {
      for (const volume of volumes) expect(compose.volumes).toHaveProperty([volume.split(':')[0]]);
      if (build) expect(existsSync(join(root, build.context, build.dockerfile))).toBe(true);
    }
  });
});

/** A fragment of the environment: variable names to zod schemas. */
function isShape(part) {
  return (
    typeof part === 'object' &&
    Object.values(part).every((schema) => Object(schema) === schema && 'safeParse' in schema)
  );
}
