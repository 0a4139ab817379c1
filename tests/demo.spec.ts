/** What `npm start` shows on a new data directory: a user of the dashboard, and a payment in every status. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { paymentStatuses } from '@pis/domain';
import { until } from '@pis/local-servers/testing';
import { Api } from './support/api.js';
import { Dashboard } from './support/dashboard.js';
import { pis, type RunningProcess, startProcess } from './support/process.js';

const startLimitMs = 240_000;
const testLimitMs = 60_000;
const demoUserId = '00000000-0000-4000-8000-00000000de10';

interface Ready {
  readonly apiUrl: string;
  readonly apiKey: string | null;
  readonly dashboardUrl: string;
  readonly dashboardUser: { readonly email: string; readonly password: string } | null;
}
interface Payment {
  readonly paymentId: string;
  readonly status: string;
  readonly direction: string;
  readonly createdAt: string;
}

let dataDir: string;
let environment: Record<string, string>;
let system: RunningProcess;
let first: Ready;
let readyAt: string;

const ready = () => system.ready as unknown as Ready;

beforeAll(async () => {
  dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-demo-'));
  environment = { PIS_DATA_DIR: dataDir, PIS_DEMO_PAYMENTS: 'true' };
  system = await startProcess(null, environment);
  readyAt = new Date().toISOString();
  first = ready();
}, startLimitMs);
afterAll(async () => {
  await system?.stop();
  rmSync(dataDir, { recursive: true, force: true });
}, startLimitMs);

async function listed(): Promise<readonly Payment[]> {
  const api = new Api(ready().apiUrl, first.apiKey ?? '');
  return api.data<readonly Payment[]>(200, 'GET', '/v1/payments/?limit=100');
}

async function signedIn(password: string): Promise<Dashboard> {
  const dashboard = new Dashboard(ready().apiUrl);
  await dashboard.signIn(first.dashboardUser?.email ?? '', password);
  return dashboard;
}

it(
  'shows a payment in every status, in both directions, to the user of the ready line',
  async () => {
    const { dashboardUser, dashboardUrl, apiUrl } = first;
    expect(dashboardUrl).toBe(`${apiUrl}/dashboard/`);
    expect((await fetch(dashboardUrl)).status).toBe(200);
    const dashboard = await signedIn(dashboardUser?.password ?? '');
    expect(await dashboard.data('GET', '/me')).toMatchObject({ role: 'admin' });
    const payments = await until(
      async () => {
        const shown = await dashboard.data<readonly Payment[]>('GET', '/payments?limit=100');
        const statuses = new Set(shown.map(({ status }) => status));
        return paymentStatuses.every((status) => statuses.has(status)) && shown;
      },
      { timeoutMs: 30_000 },
    );
    expect(new Set(payments.map(({ direction }) => direction)).size).toBe(2);
  },
  testLimitMs,
);

it('all of it was made before the ready line, so new payments are the first of every list', async () => {
  for (const { createdAt } of await listed()) expect(createdAt < readyAt).toBe(true);
});

it('the password is in the ready line and in the banner, and in no log', () => {
  const { password = '' } = first.dashboardUser ?? {};
  expect(password.length).toBeGreaterThan(10);
  expect(system.stdout().split('\n')).toHaveLength(1);
  const lines = system.stderr().split('\n');
  const named = lines.filter((line) => line.includes(password));
  expect(named).toEqual([expect.stringContaining('  user  ')]);
});

it(
  'a later start shows no password and makes no payments, and a new password is one command away',
  async () => {
    const before = await listed();
    await system.stop();
    system = await startProcess(null, environment);
    expect(ready()).toMatchObject({ apiKey: null, dashboardUser: null });
    expect((await listed()).map(({ paymentId }) => paymentId)).toEqual(
      before.map(({ paymentId }) => paymentId),
    );
    expect(system.stderr()).toContain(`./pis user reset --id ${demoUserId}`);
    const reset = await pis(['user', 'reset', '--id', demoUserId, '--json'], environment);
    const { password } = JSON.parse(reset.stdout) as { password: string };
    await signedIn(password);
  },
  startLimitMs,
);
