/** Values that the Helm chart refuses, each with a reason that an operator can act on. */
import { platformEnv } from '@pis/service-kit';
import { z } from 'zod';
import { allInOneEnv } from '../apps/all-in-one/src/all-in-one-app.js';
import {
  complaint,
  containersOf,
  describeWithHelm,
  podsOf,
  type Profile,
  render,
  valuesOf,
} from './support/helm.js';
import { apps } from './support/helm-apps.js';

const scaledDashboard = {
  services: { dashboard: { autoscaling: { minReplicas: 2, maxReplicas: 3, cpuPercent: 60 } } },
};

describeWithHelm('the values of the Helm chart', () => {
  it.each<readonly [string, Profile, Record<string, unknown>, RegExp]>([
    ['a tag that moves', 'sandbox', { image: { tag: 'latest' } }, /\/image\/tag/],
    ['a tag that is no full version', 'sandbox', { image: { tag: '1.2' } }, /\/image\/tag/],
    [
      'a moving tag of one service',
      'sandbox',
      { services: { dashboard: { image: { tag: 'main' } } } },
      /dashboard\/image\/tag/,
    ],
    ['a digest that is none', 'sandbox', { image: { digest: 'sha256:12' } }, /\/image\/digest/],
    ['a misspelled value', 'sandbox', { replicas: 3 }, /replicas/],
    [
      'a misspelled value of a service',
      'sandbox',
      { services: { dashboard: { replica: 2 } } },
      /replica/,
    ],
    ['another environment', 'sandbox', { environment: 'staging' }, /environment/],
    ['a secret among the settings', 'sandbox', { env: { PIS_MASTER_KEY: 'x' } }, /PIS_MASTER_KEY/],
    [
      'the passphrase of a bank among the settings',
      'sandbox',
      { services: { 'rail-executor': { env: { FIRST_BANK_SFTP_PASSPHRASE: 'x' } } } },
      /FIRST_BANK_SFTP_PASSPHRASE/,
    ],
    [
      'the token of a collector among the settings',
      'sandbox',
      { env: { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer x' } },
      /OTEL_EXPORTER_OTLP_HEADERS/,
    ],
    [
      'a setting that is no text',
      'sandbox',
      { env: { PIS_RETENTION_YEARS: 7 } },
      /PIS_RETENTION_YEARS/,
    ],
    [
      'an unknown target',
      'sandbox',
      { services: { dashboard: { reaches: ['mars'] } } },
      /dashboard reaches mars/,
    ],
    ['Kafka without brokers', 'sandbox', { kafka: { brokers: [] } }, /kafka\.brokers is empty/],
    [
      'the relay without Kafka',
      'sandbox',
      { kafka: { enabled: false } },
      /event-relay publishes to Kafka/,
    ],
    [
      'all-in-one beside others',
      'minimal',
      { services: { dashboard: { enabled: true } } },
      /turn off dashboard/,
    ],
    [
      'production without banks',
      'production',
      { banks: { fileSecret: '' } },
      /needs banks\.fileSecret/,
    ],
    [
      'the simulated bank in production',
      'production',
      { services: { 'bank-simulator': { enabled: true } } },
      /bank-simulator is for the sandbox/,
    ],
    [
      'production without named addresses',
      'production',
      { network: { targets: { postgresql: { to: [] } } } },
      /network\.targets\.postgresql\.to is empty/,
    ],
    [
      'a public address without TLS',
      'production',
      { publicUrls: { pages: 'http://pay.example.com' } },
      /must begin with https/,
    ],
    [
      'single sign-on across hosts',
      'production',
      {
        services: {
          dashboard: {
            ingress: { host: 'board.example.com' },
            env: { PIS_OIDC_ISSUER: 'https://login.example.com' },
          },
        },
        network: { strict: false },
      },
      /same host/,
    ],
    [
      'single sign-on across hosts, set for all processes',
      'production',
      {
        env: { PIS_OIDC_ISSUER: 'https://login.example.com' },
        services: { dashboard: { ingress: { host: 'board.example.com' } } },
        network: { strict: false },
      },
      /same host/,
    ],
    [
      'fewer connections than a process needs',
      'sandbox',
      { services: { dashboard: { databasePool: 4 } } },
      /databasePool/,
    ],
    [
      'scaling by CPU without a request of CPU',
      'production',
      { defaults: { resources: { requests: { cpu: null } } }, ...scaledDashboard },
      /dashboard: autoscaling\.cpuPercent is a part of resources\.requests\.cpu/,
    ],
    [
      'a pool with which the command of a job would not start',
      'sandbox',
      { jobs: { migrate: { databasePool: 8 } } },
      /migrate\/databasePool/,
    ],
    [
      'a pool besides the one that it counts',
      'sandbox',
      { services: { dashboard: { env: { PIS_DATABASE_POOL: '9' } } } },
      /dashboard: set databasePool instead of PIS_DATABASE_POOL/,
    ],
    [
      'another environment in the settings of one service, past all checks of production',
      'production',
      { services: { 'rail-executor': { env: { PIS_ENVIRONMENT: 'sandbox' } } } },
      /rail-executor: set environment instead of PIS_ENVIRONMENT/,
    ],
    [
      'a drain that the grace period does not know',
      'production',
      { services: { 'api-gateway': { env: { PIS_SHUTDOWN_DRAIN_MS: '60000' } } } },
      /api-gateway: set drainSeconds instead of PIS_SHUTDOWN_DRAIN_MS/,
    ],
    [
      'a pool of a job besides the one that it counts',
      'production',
      { jobs: { migrate: { env: { PIS_DATABASE_POOL: '90' } } } },
      /migrate: set databasePool instead of PIS_DATABASE_POOL/,
    ],
    [
      'a port that probes and Services do not know',
      'production',
      { env: { PORT: '8080' } },
      /leave out PORT/,
    ],
    [
      'KEDA without the password that Kafka asks for',
      'production',
      { keda: { enabled: true } },
      /rail-executor scales by its lag, .* set keda\.triggerAuthentication/,
    ],
    [
      'production that does not say which proxies it trusts',
      'minimal',
      { environment: 'production', banks: { fileSecret: 'pis-banks' } },
      /all-in-one needs env\.PIS_TRUSTED_PROXIES in production/,
    ],
    [
      'public services that every pod could call',
      'production',
      { network: { ingressNamespace: '' } },
      /every pod of the cluster could call api-gateway: set network\.ingressNamespace/,
    ],
    [
      'metrics that every pod could read',
      'production',
      { network: { monitoringNamespace: '' } },
      /set network\.monitoringNamespace/,
    ],
    [
      'a certificate for Kafka without TLS',
      'production',
      { kafka: { tls: false }, services: { 'event-relay': { kafkaCertificateSecret: 'relay' } } },
      /event-relay has certificates for Kafka .*: set kafka\.tls to true/,
    ],
    [
      'a ratio of traces that is none',
      'sandbox',
      { telemetry: { samplerRatio: '10%' } },
      /\/telemetry\/samplerRatio/,
    ],
    [
      'a deadline that would end migrations',
      'sandbox',
      { jobs: { migrate: { deadlineSeconds: 60 } } },
      /migrate\/deadlineSeconds/,
    ],
    [
      'fewer replicas at most than at least',
      'production',
      { services: { 'api-gateway': { autoscaling: { minReplicas: 9 } } } },
      /minReplicas is greater/,
    ],
  ])('refuses %s', (_what, profile, values, reason) => {
    expect(complaint(profile, values)).toMatch(reason);
  });

  it('sets no variable by a value that a setting could contradict', () => {
    const manifests = render('production', {
      ...{ eventStore: { kind: 'eventstoredb' }, documentStore: 's3://documents' },
      kafka: { prefix: 'eu.', caSecret: 'ca' },
      telemetry: { endpoint: 'http://collector.example.com:4318' },
      defaults: { kafkaCertificateSecret: 'kafka-user' },
      network: { strict: false },
    });
    const own = new Set(
      [...podsOf(manifests).values()]
        .flatMap(containersOf)
        .flatMap((container) => Object.keys(valuesOf(container))),
    );
    // Settings of the profiles.
    for (const name of ['PIS_RATE_LIMIT_STORE', 'PIS_TRUSTED_PROXIES']) own.delete(name);
    expect(own.size).toBeGreaterThan(15);
    const env = Object.fromEntries([...own].map((name) => [name, '1']));
    const refused = complaint('production', { env });
    for (const name of own) expect(refused).toContain(` instead of ${name}`);
  });

  it('accepts production without a proxy, if the values say so', () => {
    const values = {
      ...{ environment: 'production', banks: { fileSecret: 'pis-banks' } },
      env: { PIS_TRUSTED_PROXIES: '' },
    };
    expect(complaint('minimal', values)).toBe('');
  });

  it('refuses a pool with which an app would not start, and takes the least with which it does', () => {
    const leastOf = (env: z.ZodRawShape) => {
      const shape = z.object({ pool: env['PIS_DATABASE_POOL'] ?? platformEnv.PIS_DATABASE_POOL });
      const starts = (pool: number) => shape.safeParse({ pool: String(pool) }).success;
      return Array.from({ length: 100 }, (_, pool) => pool).find(starts) ?? 0;
    };
    const everything = { name: 'all-in-one', env: allInOneEnv };
    const least = new Map([...apps, everything].map(({ name, env }) => [name, leastOf(env)]));
    const pools = (names: readonly string[], less = 0) => ({
      services: Object.fromEntries(
        names.map((name) => [name, { databasePool: (least.get(name) ?? 0) - less }]),
      ),
    });
    const single = apps.map(({ name }) => name);
    expect(complaint('sandbox', pools(single))).toBe('');
    expect(complaint('minimal', pools(['all-in-one']))).toBe('');

    // The schema knows the least of every process, and a template that of those with more.
    const floor = Math.min(...least.values());
    const refused = complaint('sandbox', pools(single, 1));
    for (const name of single)
      if (least.get(name) === floor) expect(refused).toContain(`/services/${name}/databasePool'`);
    const others = [...least].filter(([, pool]) => pool > floor);
    expect(others.length).toBeGreaterThan(0);
    for (const [name, pool] of others)
      expect(complaint(name === 'all-in-one' ? 'minimal' : 'sandbox', pools([name], 1))).toMatch(
        `${name}: databasePool is ${pool - 1}, and the process does not start with less than ${pool}`,
      );
  });

  it('refuses more processes than PostgreSQL has connections for, and counts them', () => {
    const total = Number(
      /may need (\d+) connections/.exec(
        complaint('production', { postgresql: { maxConnections: 10, reservedConnections: 0 } }),
      )?.[1],
    );
    // Replicas or the HPA's maximum, in a rollout one that starts and one that ends, each with its pool; and one migration.
    const pods = [
      ...[7 * 20, 5 * 9, 4 * 12, 4 * 9, 4 * 15, 4 * 9, 5 * 15, 6 * 12, 2 * 9, 2 * 9, 9],
    ];
    expect(total).toBe(pods.reduce((sum, one) => sum + one, 0));
    const limits = (maxConnections: number) => ({
      postgresql: { maxConnections, reservedConnections: 20 },
    });
    expect(complaint('production', limits(total + 20))).toBe('');
    expect(complaint('production', limits(total + 19))).toMatch(/connections to PostgreSQL/);
  });
});
