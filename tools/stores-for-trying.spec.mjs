/** The stores for trying the chart are those of docker-compose.yml, and have the addresses that the guide names. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { root } from './workspace.mjs';

const file = 'deploy/kubernetes/stores-for-trying.yaml';
const read = (name) => readFileSync(join(root, name), 'utf8');
const objects = parseAllDocuments(read(file)).map((one) => one.toJS());
const compose = parse(read('docker-compose.yml'), { merge: true }).services;
const guide = read('docs/kubernetes.md');
const podOf = (name) =>
  objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name).spec
    .template.spec;
/** What depends on where it runs: addresses, and the listener for programs on the host. */
const ownInACluster = [
  ...['KAFKA_CONTROLLER_QUORUM_VOTERS', 'KAFKA_LISTENERS', 'KAFKA_ADVERTISED_LISTENERS'],
  'KAFKA_LISTENER_SECURITY_PROTOCOL_MAP',
];

it.each(['postgres', 'kafka'])(
  '%s has the image and the settings of docker-compose.yml',
  (name) => {
    const [container] = podOf(name).containers;
    expect(container.image).toBe(compose[name].image);
    const settings = Object.fromEntries(container.env.map((one) => [one.name, one.value]));
    const wanted = { ...compose[name].environment };
    expect(Object.keys(settings)).toEqual(Object.keys(wanted));
    // From a Secret.
    delete wanted.POSTGRES_PASSWORD;
    for (const [key, value] of Object.entries(wanted))
      if (!ownInACluster.includes(key)) expect([key, settings[key]]).toEqual([key, value]);
    if (compose[name].command !== undefined) expect(container.args).toEqual(compose[name].command);
    expect(podOf(name).enableServiceLinks).toBe(false);
  },
);

it('PostgreSQL takes as many connections as the chart counts on', () => {
  const values = parse(read('helm/payment-initiation-service/values.yaml'));
  const [{ args }] = podOf('postgres').containers;
  expect(args).toContain(`max_connections=${values.postgresql.maxConnections}`);
});

it('each Service leads to its pod, at the address that the guide names', () => {
  for (const { spec, metadata } of objects.filter(({ kind }) => kind === 'Service')) {
    const { template } = objects.find(
      (one) => one.kind === 'Deployment' && one.metadata.name === metadata.name,
    ).spec;
    expect(template.metadata.labels).toEqual(spec.selector);
    const [{ ports }] = template.spec.containers;
    expect(ports.map(({ containerPort }) => containerPort)).toEqual([spec.ports[0].port]);
    expect(guide).toContain(`${metadata.name}.databases:${spec.ports[0].port}`);
  }
  const { env } = podOf('kafka').containers[0];
  expect(env.find(({ name }) => name === 'KAFKA_ADVERTISED_LISTENERS').value).toContain(
    '//kafka.databases:9092',
  );
});

it('says that it is for trying, and the guide too', () => {
  expect(read(file)).toContain('For trying');
  expect(guide).toContain(`kubectl -n databases apply -f ${file}`);
  expect(guide).toMatch(/For trying only/);
});
