/**
 * Two replicas of the payment pages and two of the dashboard, behind an address that asks them in turn, as an Ingress
 * does. Each is killed while an operator asks for money and payers answer.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import {
  createTestDatabase,
  openTestPool,
  type TestDatabase,
  until,
} from '@pis/local-servers/testing';
import type { ApiResponse } from './support/api.js';
import { Dashboard } from './support/dashboard.js';
import { type FrontProxy, startFrontProxy } from './support/front-proxy.js';
import { pis, pisJson, type RunningProcess, startProcess } from './support/process.js';
import { provision } from './support/systems.js';
import { startApp, Victim } from './support/victim.js';

const startLimitMs = 300_000;
const testLimitMs = 300_000;
const stepLimitMs = 90_000;
const password = 'correct horse battery';
const workers = 3;
/** Payments that are answered between two deaths. */
const progress = 6;

const answers = {
  ...{ subType: 'CHECKING', achRoutingNumber: '021000021' },
  ...{ achAccountNumber: '000123456789', achAccountNumberConfirmation: '000123456789' },
  ...{ addressLine1: '12 St James Square', city: 'Sacramento', state: 'CA' },
  ...{ postalCode: '95814', countryCode: 'US' },
};

/** One address for two replicas. A request that fails goes to the other one. */
class Line {
  private turn = 0;

  constructor(
    readonly proxy: FrontProxy,
    readonly replicas: readonly Victim[],
  ) {}

  /** The first answer below 500 from a replica that lives. */
  async ask<Answer extends { readonly status: number }>(
    request: () => Promise<Answer>,
  ): Promise<Answer> {
    return until(
      async () => {
        const url = this.replicas[this.turn++ % this.replicas.length]?.url ?? '';
        if (!URL.canParse(url)) return null;
        this.proxy.passTo(url);
        const answer = await request().catch((): null => null);
        return answer !== null && answer.status < 500 ? answer : null;
      },
      { timeoutMs: stepLimitMs, what: 'an answer', everyMs: 20 },
    );
  }
}

let database: TestDatabase;
let projector: RunningProcess;
let lines: Record<'dashboard' | 'payment-pages', Line>;
let dashboard: Dashboard;
let originatorId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const environment = {
    DATABASE_URL: database.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: path.join(os.tmpdir(), 'unused'),
    PIS_RATE_LIMIT_PER_KEY: '0',
  };
  await pisJson(['migrate'], environment);
  const provisioned = await provision(environment);
  originatorId = provisioned.originatorId;
  const email = 'operator@scenario.example';
  const user = ['--organization', provisioned.organizationId, '--email', email];
  const created = await pis(
    ['user', 'create', ...user, '--role', 'operator', '--json'],
    environment,
    `${password}\n`,
  );
  expect(created).toMatchObject({ code: 0 });
  projector = await startProcess('directory-projector', environment);
  const line = async (app: string) => {
    const proxy = await startFrontProxy();
    const known = { ...environment, PIS_PUBLIC_URL: proxy.url };
    const replicas = [1, 2].map(() => new Victim(() => startApp(app, known)));
    await Promise.all(replicas.map((replica) => replica.up()));
    return new Line(proxy, replicas);
  };
  lines = { dashboard: await line('dashboard'), 'payment-pages': await line('payment-pages') };
  dashboard = new Dashboard(lines.dashboard.proxy.url);
  lines.dashboard.proxy.passTo(lines.dashboard.replicas[0]?.url ?? '');
  await dashboard.signIn(email, password);
}, startLimitMs);
afterAll(async () => {
  for (const { proxy, replicas } of Object.values(lines ?? {})) {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await proxy.close();
  }
  await projector?.stop();
  await database?.drop();
}, startLimitMs);

/** As the operator, with the session of the first sign-in. */
function act(method: 'GET' | 'POST', path: string, body?: unknown): Promise<ApiResponse> {
  return lines.dashboard.ask(() => dashboard.call(method, path, body));
}

/** A payment by link. @returns its ID, and the path of the link */
async function requested(): Promise<{ readonly paymentId: string; readonly path: string }> {
  const created = await act('POST', '/payments', {
    ...{ originatorId, direction: 'INBOUND', paymentAmount: 12_345 },
    recipient: { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
    idempotencyKey: randomUUID(),
  });
  expect(created).toMatchObject({ status: 200 });
  const { paymentId } = created.body.data as { paymentId: string };
  const shown = await act('POST', `/payments/${paymentId}/link`);
  expect(shown).toMatchObject({ status: 200 });
  return { paymentId, path: new URL((shown.body.data as { url: string }).url).pathname };
}

/** What a payer does whose browser shows an error: opens the link again, and sends the form unless it was taken. */
async function answered(path: string): Promise<void> {
  const url = `${lines['payment-pages'].proxy.url}${path}`;
  const fetched = async (init: RequestInit = {}) => {
    const response = await fetch(url, { ...init, redirect: 'manual' });
    return { status: response.status, text: await response.text() };
  };
  await until(
    async () => {
      const shown = await lines['payment-pages'].ask(() => fetched());
      expect(shown.status).toBe(200);
      const formToken = /name="formToken" value="([0-9a-f]{64})"/.exec(shown.text)?.[1];
      if (formToken === undefined) return true;
      const body = new URLSearchParams({ formToken, ...answers });
      await fetched({ method: 'POST', body }).catch(() => undefined);
      return false;
    },
    { timeoutMs: stepLimitMs, what: 'a link that was answered', everyMs: 1 },
  );
}

it(
  'a replica that is killed loses no session, no answer and no payment, and doubles none',
  async () => {
    const paymentIds: string[] = [];
    let isEnding = false;
    const work = async () => {
      while (!isEnding) {
        const { paymentId, path } = await requested();
        await answered(path);
        paymentIds.push(paymentId);
      }
    };
    const working = Promise.all(Array.from({ length: workers }, work));
    working.catch(() => undefined);
    const moved = async (what: string) => {
      const enough = paymentIds.length + progress;
      const options = { timeoutMs: stepLimitMs, what, everyMs: 5 };
      await Promise.race([until(() => paymentIds.length >= enough, options), working]);
    };
    await moved('payments answered');
    for (const index of [0, 1])
      for (const [app, { replicas }] of Object.entries(lines)) {
        // One of each runs at all times.
        await Promise.all(replicas.map((replica) => replica.up()));
        await replicas[index]?.kill();
        await moved(`payments answered after the death of ${app} ${index + 1}`);
      }
    isEnding = true;
    await working;

    const pool = openTestPool(database.url, 1);
    const { rows } = await pool.query<{ id: string; types: readonly string[] }>(
      `SELECT substr(stream_id, 9) AS id, array_agg(type ORDER BY revision) AS types FROM events
        WHERE stream_id LIKE 'payment-%' GROUP BY stream_id`,
    );
    await pool.end();
    const made = new Map(rows.map(({ id, types }) => [id, types]));
    for (const paymentId of paymentIds)
      expect([paymentId, made.get(paymentId)]).toEqual([
        ...[paymentId, ['PaymentAwaitingConfirmation', 'PaymentQueued']],
      ]);
    // A request that was repeated has made no second one.
    expect(made.size).toBe(paymentIds.length);
    const page = await act('GET', `/payments/${paymentIds[0]}`);
    expect(page.body.data).toMatchObject({
      payment: { status: 'QUEUED' },
      link: { state: 'used' },
    });
  },
  testLimitMs,
);
