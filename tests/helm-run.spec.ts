/**
 * Renders the chart and runs what it says: the containers' arguments, environments and probes, with the processes of the
 * bundle, on the real PostgreSQL and Kafka and a stand-in for EventStoreDB.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type EventStoreDbStandIn, startEventStoreDbStandIn } from '@pis/event-store/testing';
import {
  createTestDatabase,
  type HttpsReceiver,
  startHttpsReceiver,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { Api } from './support/api.js';
import { sharedBundle } from './support/bundle.js';
import { helm, render } from './support/helm.js';
import { LocalCluster, probe, type Secrets } from './support/helm-run.js';
import { provision } from './support/systems.js';
import { expectToldPayment } from './support/told-payment.js';

const brokers = process.env['PIS_TEST_KAFKA_BROKERS'];
const startLimitMs = 600_000;
const testLimitMs = 120_000;
const arrivalLimitMs = 60_000;
/** The test waits for it. The chart's own is for real load balancers. */
const drainSeconds = 10;
const processes = [
  ...['migrate', 'api-gateway', 'payment-pages', 'dashboard', 'event-relay', 'bank-simulator'],
  ...['payments-projector', 'directory-projector', 'rail-executor', 'webhook-dispatcher'],
  ...['fee-collector', 'statement-generator'],
];

const suite = helm.path !== null && brokers ? describe : describe.skip;

suite('the rendered chart, run on this machine', () => {
  let bundle: string;
  let folder: string;
  let database: TestDatabase;
  let eventStore: EventStoreDbStandIn;
  let receiver: HttpsReceiver;
  let cluster: LocalCluster;
  let api: Api;

  beforeAll(async () => {
    bundle = await sharedBundle();
    folder = mkdtempSync(path.join(os.tmpdir(), 'pis-volumes-'));
    database = await createTestDatabase();
    eventStore = await startEventStoreDbStandIn();
    receiver = await startHttpsReceiver();
    cluster = new LocalCluster({
      bundle,
      folder,
      manifests: render('sandbox', values()),
      secrets: secrets(),
    });
    await cluster.runHooks();
    // Others call it by the name of its Service.
    await cluster.startServices(['bank-simulator']);
    // As `kubectl exec` in a pod of the gateway does.
    const { environment, url } = cluster.pod('api-gateway');
    const { apiKey } = await provision(environment);
    api = new Api(url, apiKey);
  }, startLimitMs);

  afterAll(async () => {
    await cluster?.stop();
    await receiver?.close();
    await eventStore?.stop();
    await database?.drop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  }, startLimitMs);

  it(
    'every probe of every container succeeds',
    async () => {
      expect([...cluster.pods.keys(), 'migrate'].sort()).toEqual(processes.toSorted());
      // A busy machine may miss one, as `failureThreshold` allows.
      for (const pod of cluster.pods.values())
        for (const name of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const)
          await until(async () => (await probe(pod, name)).status === 200, {
            ...{ timeoutMs: arrivalLimitMs, what: `the ${name} of ${pod.component}` },
          });
    },
    testLimitMs,
  );

  it(
    'a payment is accepted, executed by the simulated bank, and announced by a signed webhook',
    () => expectToldPayment(api, receiver, arrivalLimitMs),
    testLimitMs,
  );

  it(
    'without the event store pods are not ready, name it, and stay alive; with it they are ready again',
    async () => {
      const gateway = cluster.pod('api-gateway');
      const readiness = () => probe(gateway, 'readinessProbe');
      eventStore.refuseConnections(true);
      eventStore.cutConnections();
      const down = await until(
        async () => {
          const answer = await readiness();
          return answer.status === 503 ? answer.body : null;
        },
        { timeoutMs: arrivalLimitMs },
      );
      expect(down).toMatchObject({ dependencies: { 'event-store': { status: 'down' } } });
      for (const pod of cluster.pods.values())
        expect([pod.component, (await probe(pod, 'livenessProbe')).status]).toEqual([
          ...[pod.component, 200],
        ]);
      eventStore.refuseConnections(false);
      await until(async () => (await readiness()).status === 200, { timeoutMs: arrivalLimitMs });
    },
    testLimitMs,
  );

  it(
    'on SIGTERM the gateway serves on while it drains, and every process ends in time with code 0',
    async () => {
      const gateway = cluster.pod('api-gateway');
      const graceMs = new Map([...cluster.pods].map(([name, pod]) => [name, pod.graceMs]));
      const ended = cluster.stop();
      // The signal takes its time on a busy machine.
      const draining = await until(
        async () => {
          const answer = await probe(gateway, 'readinessProbe');
          return answer.status === 503 ? answer.body : null;
        },
        { timeoutMs: arrivalLimitMs, what: 'the drain' },
      );
      expect(draining).toMatchObject({ dependencies: { process: { reason: 'shutting down' } } });
      await api.data(200, 'GET', '/v1/originators/');
      for (const [component, { code, tookMs }] of await ended) {
        expect([component, code]).toEqual([component, 0]);
        expect(tookMs).toBeLessThan(graceMs.get(component) ?? 0);
      }
    },
    testLimitMs,
  );

  function values(): Record<string, unknown> {
    const webhookSettings = {
      env: {
        PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        PIS_WEBHOOK_CA_FILE: '/etc/pis/webhooks/ca.pem',
      },
      secretFiles: [{ name: 'webhook-ca', mountPath: '/etc/pis/webhooks' }],
    };
    return {
      eventStore: { kind: 'eventstoredb', namespace: `t${randomUUID().slice(0, 8)}` },
      kafka: { brokers: (brokers ?? '').split(','), prefix: `t${randomUUID().slice(0, 8)}.` },
      services: {
        'api-gateway': { ...webhookSettings, drainSeconds },
        'payment-pages': { drainSeconds: 0 },
        dashboard: { ...webhookSettings, drainSeconds: 0 },
        'webhook-dispatcher': webhookSettings,
      },
    };
  }

  /** What an operator makes by docs/kubernetes.md. */
  function secrets(): Secrets {
    const one = {
      DATABASE_URL: database.url,
      PIS_MASTER_KEY: randomBytes(32).toString('base64'),
      PIS_AUDIT_KEY: randomBytes(32).toString('base64'),
      EVENTSTOREDB_URL: eventStore.url,
    };
    const ca = { 'ca.pem': readFileSync(receiver.caFile, 'utf8') };
    return {
      ...Object.fromEntries(processes.map((name) => [`pis-${name}`, one])),
      'webhook-ca': ca,
    };
  }
});
