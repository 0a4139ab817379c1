/** The rendered manifests before the schemas of Kubernetes itself, of the oldest and the newest supported version. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { pythonEnvironment } from './openapi/python.js';
import {
  describeWithHelm,
  kubernetesVersions,
  type Manifest,
  manifestsOf,
  type Profile,
  profiles,
  render,
} from './support/helm.js';
import { root } from './support/process.js';

interface Finding {
  readonly version: string;
  readonly name: string;
  readonly problem: string;
}

/** Kinds of other projects, which Kubernetes has no schema of. */
const foreign = ['PrometheusRule', 'ScaledObject', 'ServiceMonitor'];
const environment = pythonEnvironment('tests/kubernetes/requirements.txt', 'pis-kubernetes');

describeWithHelm('the manifests of the Helm chart', () => {
  const everyProfile = Object.keys(profiles) as Profile[];

  if (environment.python === null)
    it.skip(`are valid by the schemas of Kubernetes (not here: ${environment.missing})`, () =>
      undefined);
  else {
    const { python } = environment;
    const findingsIn = (manifests: readonly Manifest[]): readonly Finding[] => {
      const script = path.join(root, 'tests/kubernetes/check.py');
      const { status, stdout, stderr } = spawnSync(python, [script, ...kubernetesVersions], {
        encoding: 'utf8',
        input: JSON.stringify(manifests),
      });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      return stdout
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Finding);
    };
    const kubernetesOwn = (manifests: readonly Manifest[]) =>
      manifests.filter(({ kind }) => !foreign.includes(kind));

    it.each(everyProfile)('of the profile %s are valid by the schemas of Kubernetes', (profile) => {
      const own = kubernetesOwn(manifestsOf(profile));
      expect(own.length).toBeGreaterThan(3);
      expect(findingsIn(own)).toEqual([]);
    });

    it('are valid with every option turned on', () => {
      const manifests = render('production', {
        eventStore: { kind: 'eventstoredb' },
        documentStore: 's3://documents/prefix?region=eu-central-1',
        telemetry: { endpoint: 'http://collector.example.com:4318' },
        image: { pullSecrets: ['registry'] },
        kafka: { caSecret: 'kafka-ca' },
        defaults: {
          kafkaCertificateSecret: 'kafka-user',
          serviceAccountAnnotations: { 'example.com/role': 'payments' },
        },
        keda: { enabled: true, triggerAuthentication: 'kafka' },
        operator: { enabled: true },
        services: {
          'rail-executor': {
            secretFiles: [{ name: 'review-rules', mountPath: '/etc/pis/review' }],
            nodeSelector: { pool: 'payments' },
            tolerations: [{ key: 'payments', operator: 'Exists', effect: 'NoSchedule' }],
            priorityClassName: 'payments',
            podAnnotations: { 'example.com/team': 'rails' },
          },
        },
        cronJobs: { check: { schedule: '0 5 * * *', args: ['pis', 'quarantine', 'list'] } },
        network: {
          strict: false,
          ingressPeers: [{ ipBlock: { cidr: '10.9.0.0/16' } }],
          dns: { ports: [53, 5353], peers: [{ ipBlock: { cidr: '169.254.20.10/32' } }] },
        },
      });
      expect(findingsIn(kubernetesOwn(manifests))).toEqual([]);
      const without = manifests.filter(({ kind }) => foreign.includes(kind));
      expect([...new Set(without.map(({ kind }) => kind))].sort()).toEqual(foreign);
    });

    it('and of the stores for trying are valid, too', () => {
      const text = readFileSync(
        path.join(root, 'deploy/kubernetes/stores-for-trying.yaml'),
        'utf8',
      );
      const stores = parseAllDocuments(text).map((one) => one.toJS() as Manifest);
      expect(stores).toHaveLength(4);
      expect(findingsIn(stores)).toEqual([]);
    });

    it('are refused by the schemas if they are wrong, so the schemas do look', () => {
      const [deployment] = manifestsOf('minimal').filter(({ kind }) => kind === 'Deployment');
      const wrong = { ...(deployment as Manifest), spec: { replicas: 'two', replica: 2 } };
      expect(findingsIn([wrong]).length).toBeGreaterThanOrEqual(kubernetesVersions.length);
    });
  }
});
