/** Renders the profile of one node and runs what it says: every app in one process of the bundle, on PostgreSQL alone. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  createTestDatabase,
  type HttpsReceiver,
  startHttpsReceiver,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import { Api } from './support/api.js';
import { sharedBundle } from './support/bundle.js';
import { commandsIn, commandsUnder } from './support/guide.js';
import { describeWithHelm, type Manifest, ofKind, render } from './support/helm.js';
import { LocalCluster, probe } from './support/helm-run.js';
import { runCommand } from './support/process.js';
import { provision } from './support/systems.js';
import { expectToldPayment } from './support/told-payment.js';

const startLimitMs = 600_000;
const testLimitMs = 240_000;
const arrivalLimitMs = 100_000;
const name = 'all-in-one';

describeWithHelm('the chart for one node, run on this machine', () => {
  let bundle: string;
  let folder: string;
  let database: TestDatabase;
  let receiver: HttpsReceiver;
  let manifests: readonly Manifest[];
  let cluster: LocalCluster;
  let api: Api;

  beforeAll(async () => {
    bundle = await sharedBundle();
    folder = mkdtempSync(path.join(os.tmpdir(), 'pis-volumes-'));
    database = await createTestDatabase();
    receiver = await startHttpsReceiver();
    manifests = render('minimal', { services: { [name]: receiving() } });
    cluster = new LocalCluster({ bundle, folder, manifests, secrets: secrets() });
    // There are no hooks: the process migrates the schema itself.
    await cluster.startServices([]);
    const { environment, url } = cluster.pod(name);
    const { apiKey } = await provision(environment);
    api = new Api(url, apiKey);
  }, startLimitMs);

  afterAll(async () => {
    await cluster?.stop();
    await receiver?.close();
    await database?.drop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  }, startLimitMs);

  it('is one Deployment without jobs, and needs neither Kafka nor EventStoreDB', () => {
    expect([...cluster.pods.keys()]).toEqual([name]);
    expect(ofKind(manifests, 'Job')).toEqual([]);
    const { environment } = cluster.pod(name);
    expect(environment).toMatchObject({ PIS_BROKER: 'embedded' });
    for (const variable of ['KAFKA_BROKERS', 'PIS_EVENT_STORE', 'EVENTSTOREDB_URL'])
      expect(environment).not.toHaveProperty(variable);
  });

  it(
    'every probe succeeds',
    async () => {
      for (const kind of ['startupProbe', 'livenessProbe', 'readinessProbe'] as const)
        await until(async () => (await probe(cluster.pod(name), kind)).status === 200, {
          ...{ timeoutMs: arrivalLimitMs, what: `the ${kind}` },
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
    'the commands of the guide lead to a first payment',
    async () => {
      const known = new Map([['/tmp/', `${folder}/`]]);
      let settings = '';
      let last = '';
      const words = ['run', 'curl', 'kubectl', 'api=', 'API_KEY='];
      for (const written of commandsIn(commandsUnder('5. A first payment'), words)) {
        // The port is the pod's own here.
        if (written.includes('port-forward')) continue;
        const command = [...known].reduce((text, [from, to]) => text.replaceAll(from, to), written);
        if (/^(run\(\)|api=|API_KEY=)/.test(command)) {
          settings += `${command}\n`;
          continue;
        }
        last = `${settings}${command}`;
        for (const [placeholder, value] of idsIn(await inTerminal(last)))
          known.set(placeholder, value);
      }
      expect(last).toContain(known.get('PAYMENT_ID'));
      await until(async () => (await inTerminal(last)).includes('"COMPLETED"'), {
        ...{ timeoutMs: arrivalLimitMs, what: 'the completed payment of the guide' },
      });
    },
    testLimitMs,
  );

  it(
    'ends in order on SIGTERM',
    async () => {
      const ended = await cluster.stop();
      expect(ended.get(name)).toMatchObject({ code: 0 });
    },
    testLimitMs,
  );

  /** Runs commands of the guide. `kubectl exec` runs them beside the pod, with its settings and secrets. */
  async function inTerminal(commands: string): Promise<string> {
    const bin = path.join(folder, 'bin');
    mkdirSync(bin, { recursive: true });
    const kubectl = `#!/bin/sh
      [ "$1 $2 $3 $4 $5 $6" = "-n payments exec -i deployment/pis-${name} --" ] || exit 64
      shift 6
      exec "$@"
    `;
    writeFileSync(path.join(bin, 'kubectl'), kubectl, { mode: 0o755 });
    const { environment, url } = cluster.pod(name);
    const PATH = [bin, bundle, path.dirname(process.execPath), process.env['PATH']].join(':');
    const here = commands
      .replaceAll('deployment/pis-api-gateway', `deployment/pis-${name}`)
      .replaceAll('http://127.0.0.1:3000', url);
    const { code, stdout, stderr } = await runCommand('bash', ['-ec', here], {
      ...{ cwd: folder, env: { ...environment, PATH } },
    });
    expect({ here, code, stderr }).toEqual({ here, code: 0, stderr: expect.any(String) });
    return stdout;
  }

  /** What a command printed, by the words that stand for it in the guide. */
  function idsIn(printed: string): readonly (readonly [string, string])[] {
    const answer = JSON.parse(printed) as Record<string, unknown>;
    const fields = { ...answer, ...(answer['data'] as Record<string, unknown> | undefined) };
    const placeholders = {
      organizationId: 'ORGANIZATION_ID',
      originatorId: 'ORIGINATOR_ID',
      apiKey: 'pis_test_…',
      contactId: 'CONTACT_ID',
      paymentId: 'PAYMENT_ID',
    };
    return Object.entries(placeholders).flatMap(([field, placeholder]) => {
      const value = fields[field];
      return typeof value === 'string' ? [[placeholder, value] as const] : [];
    });
  }

  /** The receiver is on this machine. The drain is short, because the test waits for it. */
  function receiving() {
    return {
      drainSeconds: 0,
      env: {
        PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        PIS_WEBHOOK_CA_FILE: '/etc/pis/webhooks/ca.pem',
      },
      secretFiles: [{ name: 'webhook-ca', mountPath: '/etc/pis/webhooks' }],
    };
  }

  /** What an operator makes by docs/kubernetes.md. */
  function secrets() {
    const masterKey = randomBytes(32).toString('base64');
    return {
      [`pis-${name}`]: {
        DATABASE_URL: database.url,
        PIS_MASTER_KEY: masterKey,
        PIS_AUDIT_KEY: masterKey,
      },
      'webhook-ca': { 'ca.pem': readFileSync(receiver.caFile, 'utf8') },
    };
  }
});
