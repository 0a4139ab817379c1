/** The Helm chart, rendered by helm: what is right in every profile, and which values are refused with which reason. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { loadConfig, platformEnv } from '@pis/service-kit';
import { parse } from 'yaml';
import {
  chart,
  componentOf,
  containerIn,
  containersOf,
  describeWithHelm,
  manifestsOf,
  ofKind,
  podsOf,
  type Profile,
  profiles,
  render,
  runHelm,
  secretsOf,
  valuesOf,
} from './support/helm.js';
import { apps } from './support/helm-apps.js';
import { dashboardsFolder, rulesFolder } from './support/metric-names.js';
import { root } from './support/process.js';

const everyProfile = Object.keys(profiles) as Profile[];
interface Board {
  readonly uid: string;
  readonly title: string;
}

/** The dashboards of a release, with the names of their files. */
function boardsOf(release: string, namespace: string) {
  const manifests = render('production', {}, { release, namespace });
  return ofKind(manifests, 'ConfigMap').flatMap(({ data }) =>
    Object.entries(data as Readonly<Record<string, string>>).map(([file, text]) => ({
      file,
      content: JSON.parse(text) as Board,
    })),
  );
}

/** Not apps of their own: the command, and the files that the dashboard serves. */
const noProcess = ['cli', 'dashboard-web'];

describeWithHelm('the Helm chart', () => {
  const production = () => manifestsOf('production');
  const containerOf = (component: string, manifests = production()) =>
    containerIn(manifests, component);

  it.each(everyProfile)('%s passes helm lint --strict', (profile) => {
    const { ok, stdout, stderr } = runHelm(['lint', '--strict'], profile);
    expect(ok ? '' : stdout + stderr).toBe('');
  });

  it('has a service for every app, and its version is that of the package', () => {
    const folders = readdirSync(path.join(root, 'apps')).filter((app) => !noProcess.includes(app));
    const { services } = yamlOf('values.yaml') as { services: object };
    expect(Object.keys(services).sort()).toEqual(folders.sort());
    const { version, appVersion } = yamlOf('Chart.yaml') as Record<string, string>;
    const text = readFileSync(path.join(root, 'package.json'), 'utf8');
    const manifest = JSON.parse(text) as { version: string };
    expect([version, appVersion]).toEqual([manifest.version, manifest.version]);
  });

  it('runs a new app with one line of values', () => {
    const manifests = render('sandbox', { services: { 'fraud-watch': {} } });
    expect(containerOf('fraud-watch', manifests).args).toEqual(['fraud-watch']);
    const kinds = manifests
      .filter((one) => componentOf(one) === 'fraud-watch')
      .map(({ kind }) => kind);
    expect(kinds.sort()).toEqual(['Deployment', 'NetworkPolicy', 'Service', 'ServiceAccount']);
  });

  it('gives each app settings that it accepts, and no setting that nobody knows', () => {
    const known = new Set<string>(
      apps.flatMap(({ env }) => Object.keys({ ...platformEnv, ...env })),
    );
    for (const profile of ['sandbox', 'production'] as const)
      for (const app of apps) {
        const container = podsOf(manifestsOf(profile)).get(app.name)?.containers[0];
        if (container === undefined) continue;
        const values = valuesOf(container);
        for (const name of Object.keys(values))
          expect(`${app.name}: ${known.has(name) ? name : `unknown ${name}`}`).toBe(
            `${app.name}: ${name}`,
          );
        const secrets = secretsOf(container).required.map((name) => [name, secretFor(name)]);
        const environment = { ...values, ...Object.fromEntries(secrets) };
        expect(() => loadConfig({ ...platformEnv, ...app.env }, environment)).not.toThrow();
      }
  });

  it.each(everyProfile)(
    '%s runs no process as root, with a token, or with a writable root',
    (profile) => {
      const pods = podsOf(manifestsOf(profile));
      expect(pods.size).toBeGreaterThan(0);
      for (const pod of pods.values()) {
        expect(pod).toMatchObject({
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: {
            ...{ runAsNonRoot: true, runAsUser: 1000 },
            seccompProfile: { type: 'RuntimeDefault' },
          },
        });
        for (const container of containersOf(pod)) {
          expect(container.securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
          const mounted = container.volumeMounts.map(({ mountPath }) => mountPath);
          expect(mounted).toEqual(expect.arrayContaining(['/tmp', '/data']));
          expect(container['resources']).toMatchObject({ limits: { memory: expect.any(String) } });
        }
      }
      for (const account of ofKind(manifestsOf(profile), 'ServiceAccount'))
        expect(account['automountServiceAccountToken']).toBe(false);
    },
  );

  it('takes secrets by reference, from one Secret for each process, and renders none', () => {
    expect(ofKind(production(), 'Secret')).toEqual([]);
    const owners = [...podsOf(production())].map(([component, pod]) => {
      const names = new Set(containersOf(pod).flatMap((one) => secretsOf(one).names));
      return [component, [...names]];
    });
    for (const [component, names] of owners) expect(names).toEqual([`pis-${String(component)}`]);
    const given = render('production', {
      services: { dashboard: { existingSecret: 'from-vault' } },
    });
    expect(secretsOf(containerOf('dashboard', given)).names).toEqual(['from-vault']);
  });

  it('gives no process a secret that it does not need', () => {
    const requiredOf = (component: string) => secretsOf(containerOf(component)).required;
    expect(requiredOf('migrate')).toEqual([
      ...['DATABASE_URL', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'],
    ]);
    for (const component of ['api-gateway', 'payment-pages', 'dashboard', 'fee-collector'])
      expect(requiredOf(component)).toEqual(['DATABASE_URL', 'PIS_MASTER_KEY']);
    expect(requiredOf('directory-projector')).toContain('PIS_AUDIT_KEY');
    expect(requiredOf('event-relay')).toContain('KAFKA_SASL_PASSWORD');
    const mounted = [...podsOf(production())].filter(([, { volumes }]) =>
      volumes.some(({ name }) => name === 'bank-credentials'),
    );
    expect(mounted.map(([component]) => component)).toEqual(['rail-executor']);
  });

  it('takes temporary credentials, too, of each process that uses the object store, and of no other', () => {
    const users = ['api-gateway', 'dashboard', 'statement-generator', 'operator', 'all-in-one'];
    const both = [render('production', { operator: { enabled: true } }), manifestsOf('minimal')];
    const given = both.flatMap((manifests) =>
      [...podsOf(manifests).keys()].map((component) => {
        const { optional } = secretsOf(containerOf(component, manifests));
        return [component, optional.filter((name) => name.startsWith('AWS_'))] as const;
      }),
    );
    const whole = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'];
    expect(given.map(([component]) => component)).toEqual(expect.arrayContaining(users));
    for (const [component, names] of given)
      expect([component, names]).toEqual([component, users.includes(component) ? whole : []]);
  });

  it('proves each process to Kafka by its own certificate, mounted where its settings say', () => {
    const manifests = render('production', {
      defaults: { kafkaCertificateSecret: 'kafka-user' },
      services: { 'event-relay': { kafkaCertificateSecret: 'kafka-relay' } },
    });
    const certificateOf = (component: string) => {
      const container = containerOf(component, manifests);
      const { KAFKA_SSL_CERT_FILE, KAFKA_SSL_KEY_FILE, KAFKA_SSL } = valuesOf(container);
      if (KAFKA_SSL_CERT_FILE === undefined) return null;
      expect(KAFKA_SSL).toBe('true');
      const folder = path.dirname(KAFKA_SSL_CERT_FILE);
      // The keys of a Secret of type kubernetes.io/tls.
      expect(KAFKA_SSL_CERT_FILE).toBe(`${folder}/tls.crt`);
      expect(KAFKA_SSL_KEY_FILE).toBe(`${folder}/tls.key`);
      const mount = container.volumeMounts.find(({ mountPath }) => mountPath === folder);
      const volumes = podsOf(manifests).get(component)?.volumes;
      return volumes?.find(({ name }) => name === mount?.name)?.['secret'];
    };
    expect(certificateOf('event-relay')).toEqual({ secretName: 'kafka-relay' });
    for (const component of ['rail-executor', 'webhook-dispatcher', 'migrate'])
      expect(certificateOf(component)).toEqual({ secretName: 'kafka-user' });
    expect(certificateOf('api-gateway')).toBeNull();
  });

  it('traces the part of the requests that the values ask for, in every process', () => {
    const telemetry = { endpoint: 'http://collector.observability:4318' };
    const samplerOf = (given: object, component: string) => {
      const manifests = render('sandbox', { telemetry: { ...telemetry, ...given } });
      const container = containerOf(component, manifests);
      const app = apps.find(({ name }) => name === component);
      const secrets = secretsOf(container).required.map((name) => [name, secretFor(name)]);
      const env = { ...valuesOf(container), ...Object.fromEntries(secrets) };
      const config = loadConfig({ ...platformEnv, ...app?.env }, env);
      return [config.OTEL_TRACES_SAMPLER, config.OTEL_TRACES_SAMPLER_ARG];
    };
    const ratio = { sampler: 'traceidratio', samplerRatio: '0.1' };
    for (const component of ['api-gateway', 'fee-collector']) {
      expect(samplerOf({}, component)).toEqual(['parentbased_always_on', 1]);
      expect(samplerOf(ratio, component)).toEqual(['traceidratio', 0.1]);
    }
    const without = valuesOf(containerOf('api-gateway', manifestsOf('sandbox')));
    expect(without).not.toHaveProperty('OTEL_TRACES_SAMPLER');
  });

  it('gives a ServiceAccount the annotations by which a cloud knows its role', () => {
    const role = { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::123456789012:role/documents' };
    const owner = { serviceAccountAnnotations: role };
    const manifests = render('production', {
      services: { 'statement-generator': owner },
      jobs: { migrate: owner },
      cronJobs: { check: { schedule: '0 5 * * *', args: ['pis', 'quarantine', 'list'], ...owner } },
    });
    for (const account of ofKind(manifests, 'ServiceAccount')) {
      const has = ['statement-generator', 'migrate', 'check'].includes(componentOf(account));
      if (has) expect(account.metadata.annotations).toMatchObject(role);
      else expect(account.metadata.annotations).toBeUndefined();
    }
  });

  it('does not restart a process for the outage of a dependency, and gives it time to start', () => {
    for (const [component, { containers }] of podsOf(production())) {
      if (component === 'migrate') continue;
      const [container] = containers;
      expect(container?.['livenessProbe']).toMatchObject({ httpGet: { path: '/health/live' } });
      expect(container?.['startupProbe']).toMatchObject({ httpGet: { path: '/health/live' } });
      // Health answers within 2 s when a dependency hangs: a shorter limit would hide its name.
      expect(container?.['readinessProbe']).toMatchObject({
        ...{ httpGet: { path: '/health/ready' }, timeoutSeconds: 4 },
      });
    }
  });

  it('lets a process behind a Service serve on while nodes forget it, and waits for its end', () => {
    for (const [component, pod] of podsOf(production())) {
      const [container] = pod.containers;
      const drainMs = Number(container && valuesOf(container)['PIS_SHUTDOWN_DRAIN_MS']);
      const isPublic = ['api-gateway', 'payment-pages', 'dashboard'].includes(component);
      expect({ component, drainMs }).toEqual({ component, drainMs: isPublic ? 15_000 : 0 });
      // docs/operations.md: it ends at most 4 s after the drain, and 9 s after the signal.
      const needsMs = Math.max(9_000, drainMs + 4_000);
      expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(needsMs + 1_000);
    }
    expect(valuesOf(containerOf('all-in-one', manifestsOf('minimal')))).toMatchObject({
      PIS_SHUTDOWN_DRAIN_MS: '15000',
    });
  });

  it('migrates before an installation and an upgrade, the schema before the topics', () => {
    const [job] = ofKind(production(), 'Job');
    expect(job?.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' });
    // A Job of the revision before is not in the way, so helm does not delete it while it works.
    expect(job?.metadata.name).toBe('pis-migrate-1');
    expect(job?.['spec']).toMatchObject({ ttlSecondsAfterFinished: 604_800 });
    const pod = podsOf(production()).get('migrate');
    expect(pod?.initContainers?.map(({ args }) => args)).toEqual([['pis', 'migrate']]);
    expect(pod?.containers.map(({ args }) => args)).toEqual([['pis', 'kafka', 'apply']]);
    // Hooks run before the rest of the release exists.
    const hooks = production().filter((one) => componentOf(one) === 'migrate');
    for (const { metadata } of hooks) expect(metadata.annotations).toHaveProperty(['helm.sh/hook']);
    const without = podsOf(
      render('sandbox', {
        kafka: { enabled: false },
        services: { 'event-relay': { enabled: false } },
      }),
    );
    expect(without.get('migrate')?.containers.map(({ args }) => args)).toEqual([
      ['pis', 'migrate'],
    ]);
  });

  it('puts the API, the pages and the dashboard behind an Ingress each', () => {
    const rules = ofKind(production(), 'Ingress').map((one) => [componentOf(one), one['spec']]);
    const rule = (host: string, prefix: string, name: string) =>
      expect.objectContaining({
        ingressClassName: 'nginx',
        rules: [
          {
            host,
            http: {
              paths: [
                {
                  ...{ path: prefix, pathType: 'Prefix' },
                  backend: { service: { name, port: { name: 'http' } } },
                },
              ],
            },
          },
        ],
      });
    expect(Object.fromEntries(rules)).toEqual({
      'api-gateway': rule('api.example.com', '/', 'pis-api-gateway'),
      'payment-pages': rule('pay.example.com', '/pay', 'pis-payment-pages'),
      dashboard: rule('pay.example.com', '/dashboard', 'pis-dashboard'),
    });
    const url = (component: string) => valuesOf(containerOf(component))['PIS_PUBLIC_URL'];
    expect(url('api-gateway')).toBe('https://api.example.com');
    expect(url('payment-pages')).toBe('https://pay.example.com');
    expect(url('dashboard')).toBe('https://pay.example.com');
  });

  it('loads every alert and every dashboard of its files', () => {
    const alertsIn = (text: string) => [...text.matchAll(/alert: (\w+)/g)].map(([, name]) => name);
    const rules = readdirSync(rulesFolder).filter((file) => file.endsWith('.rules.yaml'));
    const wanted = rules.map(
      (file) => parse(readFileSync(path.join(rulesFolder, file), 'utf8')) as unknown,
    );
    expect(
      alertsIn(rules.map((file) => readFileSync(path.join(rulesFolder, file), 'utf8')).join())
        .length,
    ).toBeGreaterThan(20);
    const made = ofKind(production(), 'PrometheusRule').map(({ spec }) => spec);
    const plain = (value: unknown) =>
      JSON.stringify(value).replaceAll('https://runbooks.example.com/docs/', 'docs/');
    const parsed = made.map((one) => JSON.parse(plain(one)) as unknown);
    expect(parsed).toEqual(expect.arrayContaining(wanted));
    expect(parsed).toHaveLength(wanted.length);
    expect(JSON.stringify(made)).toContain(
      'https://runbooks.example.com/docs/runbooks/webhooks.md#',
    );

    const dashboards = readdirSync(dashboardsFolder).filter((file) => file.endsWith('.json'));
    const boards = boardsOf('pis', 'payments');
    expect(boards).toHaveLength(dashboards.length);
    for (const file of dashboards) {
      const board = JSON.parse(readFileSync(path.join(dashboardsFolder, file), 'utf8')) as Board;
      const title = `${board.title} (payments/pis)`;
      const uid = expect.stringContaining(`${board.uid}-`) as unknown;
      expect(boards.map(({ content }) => content)).toContainEqual({ ...board, title, uid });
    }
  });

  it('gives the dashboards of each release names of their own: a Grafana takes each once', () => {
    const boards = [
      ...boardsOf('pis', 'payments'),
      ...boardsOf('pis', 'sandbox'),
      ...boardsOf('other', 'payments'),
    ];
    const distinct = (values: readonly string[]) => new Set(values).size;
    expect(distinct(boards.map(({ file }) => file))).toBe(boards.length);
    expect(distinct(boards.map(({ content }) => content.uid))).toBe(boards.length);
    expect(distinct(boards.map(({ content }) => content.title))).toBe(boards.length);
    for (const { content } of boards) expect(content.uid.length).toBeLessThanOrEqual(40);
  });

  it('scrapes every service at the port that serves its metrics', () => {
    const monitors = ofKind(production(), 'ServiceMonitor');
    const deployments = ofKind(production(), 'Deployment').map(componentOf);
    expect(monitors.map(componentOf).sort()).toEqual(deployments.sort());
    for (const monitor of monitors) {
      const component = componentOf(monitor);
      const { endpoints } = monitor['spec'] as { endpoints: { port: string }[] };
      const ports = containerOf(component).ports?.map(({ name }) => name);
      expect(ports).toContain(endpoints[0]?.port);
      const isPublic = apps.some(({ name, publicPort }) => name === component && publicPort);
      const port = isPublic ? 'metrics' : 'http';
      expect({ component, port: endpoints[0]?.port }).toEqual({ component, port });
    }
  });

  it('runs commands by the clock where values ask for it', () => {
    const manifests = render('production', {
      cronJobs: {
        'stream-check': {
          schedule: '0 5 * * *',
          args: ['pis', 'quarantine', 'list'],
          reaches: ['postgresql'],
        },
      },
    });
    const [job] = ofKind(manifests, 'CronJob');
    expect(job?.['spec']).toMatchObject({ concurrencyPolicy: 'Forbid', schedule: '0 5 * * *' });
    expect(containerOf('stream-check', manifests).args).toEqual(['pis', 'quarantine', 'list']);
  });

  it('keeps a pod for operators, with what `pis` needs, that nothing asks and that goes on alone', () => {
    expect(podsOf(production()).has('operator')).toBe(false);
    const manifests = render('production', {
      ...{ operator: { enabled: true }, documentStore: 's3://documents' },
      network: { strict: false },
    });
    const own = manifests.filter((one) => componentOf(one) === 'operator');
    const kinds = ['Deployment', 'NetworkPolicy', 'ServiceAccount'];
    expect(own.map(({ kind }) => kind).sort()).toEqual(kinds);
    const [deployment] = ofKind(own, 'Deployment');
    expect(deployment?.['spec']).toMatchObject({ replicas: 1 });
    const pod = podsOf(manifests).get('operator');
    // A Deployment restarts its pods, which is the default.
    expect(pod).not.toHaveProperty('restartPolicy');
    const container = containerOf('operator', manifests);
    expect(container['command']).toEqual(['/usr/bin/tini', '--', 'sleep', 'infinity']);
    for (const field of ['args', 'ports', 'livenessProbe'])
      expect(container).not.toHaveProperty(field);
    expect(secretsOf(container)).toMatchObject({
      names: ['pis-operator'],
      required: [
        ...['DATABASE_URL', 'PIS_MASTER_KEY', 'KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD'],
      ],
    });
    expect(valuesOf(container)).toMatchObject({
      PIS_BANKS_FILE: '/etc/pis/banks/banks.yaml',
      PIS_DOCUMENT_STORE: 's3://documents',
    });
    expect(pod?.volumes.map(({ name }) => name)).not.toContain('bank-credentials');
  });

  it('upgrades one service alone, for releases that upgrade in steps', () => {
    const manifests = render('production', {
      services: { 'api-gateway': { image: { tag: '1.3.2' } } },
    });
    const image = (component: string) => containerOf(component, manifests).image;
    expect(image('api-gateway')).toBe('registry.example.com/payment-initiation-service:1.3.2');
    // As installed, by its digest.
    expect(image('rail-executor')).toBe(containerOf('rail-executor').image);
    expect(containerOf('api-gateway').image).toMatch(/service@sha256:0{64}$/);
  });
});

function yamlOf(file: string): unknown {
  return parse(readFileSync(path.join(chart, file), 'utf8'));
}

/** A value of the right form. */
function secretFor(name: string): string {
  if (name === 'DATABASE_URL') return 'postgres://pis:secret@db.example.com/pis';
  if (name === 'PIS_MASTER_KEY' || name === 'PIS_AUDIT_KEY')
    return Buffer.alloc(32, 1).toString('base64');
  return 'secret';
}
