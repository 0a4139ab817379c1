/**
 * SIGTERM under load, to processes as in production. Every request gets an answer. Every payment with a 201
 * exists afterwards, and no payment exists without an answer.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { createTestDatabase, type TestDatabase, until } from '@pis/local-servers/testing';
import { Api } from './support/api.js';
import { payable } from './support/payable.js';
import { type RunningProcess, startProcess } from './support/process.js';

const startLimitMs = 240_000;
const loadLimitMs = 60_000;
/** Rule stop-1. */
const endLimitMs = 10_000;
const connections = 50;
const answersBefore = 400;

const apiKey = `pis_test_${randomBytes(24).toString('base64url')}`;
let database: TestDatabase;
let environment: Readonly<Record<string, string>>;
let payment: Record<string, unknown> = {};
const started: RunningProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  environment = {
    DATABASE_URL: database.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_BOOTSTRAP_API_KEY: apiKey,
    PIS_RATE_LIMIT_PER_KEY: '0',
    PIS_SHUTDOWN_DRAIN_MS: '500',
  };
});
afterEach(async () => {
  await Promise.all(started.splice(0).map((running) => running.stop()));
}, startLimitMs);
afterAll(() => database?.drop());

async function start(app: string | null): Promise<{ running: RunningProcess; url: string }> {
  const running = await startProcess(app, environment);
  started.push(running);
  return { running, url: String(running.ready['apiUrl'] ?? running.ready['url']) };
}

interface Outcome {
  readonly idempotencyKey: string;
  /** Null when there was no answer. */
  readonly status: number | null;
  readonly error: string | null;
  /** The connection had answered before. */
  readonly wasOpen: boolean;
  readonly closes: boolean;
}

/** Creates payments one after another on one persistent connection until the server stops listening. */
async function keepPaying(url: string, outcomes: Outcome[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (;;) {
    const outcome = await pay(url, agent);
    outcomes.push(outcome);
    if (outcome.status === null) break;
  }
  agent.destroy();
}

async function pay(url: string, agent: Agent): Promise<Outcome> {
  const idempotencyKey = randomUUID();
  const sent = request(`${url}/v1/payments/`, {
    agent,
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey,
    },
  });
  sent.end(JSON.stringify(payment));
  try {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    const { statusCode = 0, headers } = response;
    const closes = headers.connection === 'close';
    return { idempotencyKey, status: statusCode, error: null, wasOpen: sent.reusedSocket, closes };
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    return {
      idempotencyKey,
      status: null,
      error: code,
      wasOpen: sent.reusedSocket,
      closes: false,
    };
  }
}

it.each([
  ['everything in one process', null],
  ['the gateway as a process of its own', 'api-gateway'],
])(
  '%s that gets SIGTERM under load answers all accepted requests, and ends in time with code 0',
  async (_what, app) => {
    const { running, url } = await start(app);
    if (app === null) payment = await payable(new Api(url, apiKey));
    const outcomes: Outcome[] = [];
    const load = Array.from({ length: connections }, () => keepPaying(url, outcomes));
    await until(() => outcomes.length >= answersBefore, { timeoutMs: loadLimitMs });

    const signaledAtMs = performance.now();
    const code = await running.stop();
    const tookMs = performance.now() - signaledAtMs;
    await Promise.all(load);
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(endLimitMs);

    const answered = outcomes.filter(({ status }) => status !== null);
    expect(new Set(answered.map(({ status }) => status))).toEqual(
      new Set([201, ...(answered.some(({ status }) => status === 503) ? [503] : [])]),
    );
    // Each connection ended with an answer that said so, or without a request on it for half a second. None was cut off.
    expect(outcomes.filter(({ status, wasOpen }) => status === null && wasOpen)).toEqual([]);
    // New connections were refused before anything was sent.
    const unanswered = outcomes.filter(({ status }) => status === null);
    expect(unanswered.map(({ error }) => error)).toEqual(
      Array.from({ length: connections }, () => 'ECONNREFUSED'),
    );

    const again = new Api((await start('api-gateway')).url, apiKey);
    const replayed = async ({ idempotencyKey }: Outcome) => {
      const response = await again.createPayment(payment, idempotencyKey);
      expect(response.status).toBe(201);
      return response.headers.get('idempotent-replayed') === 'true';
    };
    for (const outcome of outcomes)
      expect([outcome, await replayed(outcome)]).toEqual([outcome, outcome.status === 201]);
  },
  startLimitMs,
);

it(
  'silent connections, and one with an endless request, do not delay the end',
  async () => {
    const { running, url } = await start('api-gateway');
    const { port } = new URL(url);
    const silent = Array.from({ length: 10 }, () => connect(Number(port), '127.0.0.1'));
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    for (const socket of silent) socket.on('error', () => socket.destroy());
    silent[0]?.write('POST /v1/payments/ HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n');
    // An idle connection that has had its answer.
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    const signaledAtMs = performance.now();
    expect(await running.stop()).toBe(0);
    expect(performance.now() - signaledAtMs).toBeLessThan(endLimitMs);
  },
  startLimitMs,
);
