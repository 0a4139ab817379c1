/**
 * The delivering part of the system as processes, with a separate PostgreSQL and optionally Kafka. A test may
 * kill each of them. `Books` records what the receiver gets meanwhile.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Kafka, type Postgres, startKafka, startPostgres } from '@pis/local-servers';
import {
  type HttpsReceiver,
  openTestPool,
  type ReceivedRequest,
  type ReceiverAnswer,
  startHttpsReceiver,
  until,
} from '@pis/local-servers/testing';
import { verify } from '@pis/webhooks';
import type pg from 'pg';
import { Api } from './api.js';
import { payable } from './payable.js';
import { pisJson, type RunningProcess, startProcess } from './process.js';
import { provision } from './systems.js';
import { startedWhole, type Undo } from './undo.js';

const databaseConnections = 5;
/** Longer than the recovery of anything that a test kills. */
const acceptLimitMs = 120_000;

export interface ChaosSystem {
  readonly api: Api;
  readonly pool: pg.Pool;
  readonly receiver: HttpsReceiver;
  /** The current server. restartPostgres() replaces it. */
  readonly server: { readonly postgres: Postgres };
  readonly kafka: Kafka | null;
  /** Null without Kafka. */
  readonly relay: RunningProcess | null;
  startDispatcher(settings?: Readonly<Record<string, string>>): Promise<RunningProcess>;
  /** A clean restart on the same port. */
  restartPostgres(): Promise<void>;
  /** The body of every payment. */
  readonly payment: Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

/** Starts everything except a dispatcher. */
export function startChaosSystem(options: ChaosOptions): Promise<ChaosSystem> {
  return startedWhole((undo) => startParts(options, undo));
}

interface ChaosOptions {
  readonly onKafka: boolean;
  readonly settings: Readonly<Record<string, string>>;
}

async function startParts(
  { onKafka, settings }: ChaosOptions,
  undo: Undo,
): Promise<Omit<ChaosSystem, 'stop'>> {
  const base = mkdtempSync(path.join(os.tmpdir(), 'pis-chaos-'));
  undo.push(() => rm(base, { recursive: true, force: true }));
  const receiver = await startHttpsReceiver();
  undo.push(() => receiver.close());
  const postgresAt = { dataDir: path.join(base, 'postgres'), database: 'pis', supervise: true };
  const server = { postgres: await startPostgres(postgresAt) };
  undo.push(() => server.postgres.stop());
  const kafka = onKafka ? await startKafka({ dir: path.join(base, 'kafka') }) : null;
  if (kafka !== null) undo.push(() => kafka.stop());
  const environment: Record<string, string> = {
    DATABASE_URL: server.postgres.url,
    PIS_MASTER_KEY: randomBytes(32).toString('base64'),
    PIS_DATA_DIR: path.join(base, 'data'),
    PIS_RATE_LIMIT_PER_KEY: '0',
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
    ...(kafka === null ? {} : { PIS_BROKER: 'kafka', KAFKA_BROKERS: kafka.brokers.join(',') }),
    ...settings,
  };
  await pisJson(['migrate'], environment);
  if (kafka !== null) await pisJson(['kafka', 'apply'], environment);
  const { apiKey } = await provision(environment);
  const start = async (app: string, more: Readonly<Record<string, string>> = {}) => {
    const process = await startProcess(app, { ...environment, ...more });
    undo.push(() => process.stop());
    return process;
  };
  const relay = kafka === null ? null : await start('event-relay');
  await start('directory-projector');
  const gateway = await start('api-gateway');
  const api = new Api(String(gateway.ready['url']), apiKey);
  const pool = openTestPool(server.postgres.url, databaseConnections);
  undo.push(() => pool.end());
  return {
    api,
    pool,
    receiver,
    server,
    kafka,
    relay,
    startDispatcher: (more) => start('webhook-dispatcher', more),
    async restartPostgres() {
      const { port } = server.postgres;
      await server.postgres.stop();
      server.postgres = await startPostgres({ ...postgresAt, port });
    },
    payment: await payable(api),
  };
}

interface Arrival {
  readonly request: ReceivedRequest;
  readonly isAnswered: boolean;
}

interface Envelope {
  readonly id: string;
  readonly data: { readonly paymentId: string };
}

/** Records the requests at the endpoints of one test, and their answers. */
export class Books {
  /** Arrivals by delivery ID, in order. */
  readonly arrivals = new Map<string, Arrival[]>();
  /** IDs of deliveries that arrived since the last call of underWay(). */
  private readonly fresh = new Set<string>();
  private readonly secrets = new Map<string, string>();
  private readonly endpointIds = new Map<string, string>();

  constructor(private readonly system: ChaosSystem) {}

  /** Sets how requests of this test are answered from now on. Default: 200. */
  answer(script: (request: ReceivedRequest) => ReceiverAnswer = () => ({})): void {
    this.system.receiver.respondWith((request) => {
      if (!this.secrets.has(request.path)) return {};
      const answer = script(request);
      const isAnswered =
        answer.hang !== true && answer.cut !== true && (answer.status ?? 200) < 300;
      const id = String(request.headers['x-webhook-delivery']);
      this.fresh.add(id);
      this.arrivals.set(id, [...(this.arrivals.get(id) ?? []), { request, isAnswered }]);
      return answer;
    });
  }

  /** @returns the path of the new endpoint, subscribed to all payment events */
  async subscribe(): Promise<string> {
    const { api, receiver } = this.system;
    const path = `/${randomUUID()}`;
    const body = { url: `${receiver.url}${path}`, subscribedEvents: ['payment.*'] };
    const made = await api.data<{ id: string; secret: string }>(201, 'POST', '/v1/webhooks', body);
    this.endpointIds.set(path, made.id);
    this.secrets.set(path, made.secret);
    return path;
  }

  async unsubscribeAll(): Promise<void> {
    for (const id of this.endpointIds.values())
      await this.system.api.data(204, 'DELETE', `/v1/webhooks/${id}`);
    this.endpointIds.clear();
  }

  /** Payments with an event that the endpoint accepted with 200. */
  taken(path: string): Set<string> {
    const all = [...this.arrivals.values()].flat();
    return new Set(
      all
        .filter(({ request, isAnswered }) => isAnswered && request.path === path)
        .map(({ request }) => envelopeOf(request).data.paymentId),
    );
  }

  /** Deliveries that were accepted more than once, with their counts. */
  takenAgain(): Map<string, number> {
    const counts = [...this.arrivals].map(
      ([id, arrivals]) => [id, arrivals.filter(({ isAnswered }) => isAnswered).length] as const,
    );
    return new Map(counts.filter(([, count]) => count > 1));
  }

  /**
   * Deliveries that were under way when their dispatcher died: those that arrived since the last call and are
   * not recorded as finished.
   */
  async underWay(): Promise<Set<string>> {
    const { rows } = await this.system.pool.query<{ id: string }>(
      'SELECT id FROM webhook_deliveries',
    );
    const pending = new Set(rows.map(({ id }) => id).filter((id) => this.fresh.has(id)));
    this.fresh.clear();
    return pending;
  }

  /** The pending deliveries of an endpoint, and the number of their finished attempts. */
  async stateOf(path: string): Promise<{ pending: number; attempts: number } | undefined> {
    const { rows } = await this.system.pool.query<{ pending: number; attempts: number }>(
      `SELECT count(DISTINCT d.id)::int AS pending, count(a.id)::int AS attempts
         FROM webhook_deliveries d LEFT JOIN webhook_attempts a ON a.delivery_id = d.id
        WHERE d.endpoint_id = $1`,
      [this.endpointIds.get(path)],
    );
    return rows[0];
  }

  /** Checks that every attempt is signed, and that all attempts of a delivery send the same bytes to the same endpoint. */
  expectSound(): void {
    for (const [id, arrivals] of this.arrivals) {
      const [first] = arrivals;
      for (const { request } of arrivals) {
        expect({ id, path: request.path }).toEqual({ id, path: first?.request.path });
        expect({ id, body: request.body }).toEqual({ id, body: first?.request.body });
        const secret = this.secrets.get(request.path) ?? '';
        const isSigned = verify(request.body, request.headers, secret, request.receivedAt);
        expect({ id, isSigned }).toEqual({ id, isSigned: true });
      }
    }
    // An event has the same envelope at every endpoint, and a delivery belongs to one event.
    const bodies = new Map<string, string>();
    for (const { request } of [...this.arrivals.values()].flat()) {
      const { id } = envelopeOf(request);
      expect(bodies.get(id) ?? request.body).toBe(request.body);
      bodies.set(id, request.body);
    }
  }
}

function envelopeOf({ body }: ReceivedRequest): Envelope {
  return JSON.parse(body) as Envelope;
}

/**
 * Creates payments one after another in a few workers. Pauses while more than `aheadMax` payments have no
 * webhook yet.
 */
export class PaymentStream {
  readonly paymentIds: string[] = [];
  private isEnding = false;
  private readonly working: Promise<unknown>;

  constructor(
    private readonly system: ChaosSystem,
    private readonly delivered: () => number,
    { workers = 2, aheadMax = 30 } = {},
  ) {
    this.working = Promise.all(Array.from({ length: workers }, () => this.work(aheadMax)));
    // Callers that wait for the stream get the error. Until then it must not crash the process.
    this.working.catch(() => undefined);
  }

  private async work(aheadMax: number): Promise<void> {
    while (!this.isEnding) {
      const hasRoom = () => this.isEnding || this.paymentIds.length - this.delivered() < aheadMax;
      await until(hasRoom, { timeoutMs: acceptLimitMs, what: 'webhooks to arrive', everyMs: 5 });
      if (!this.isEnding) await this.create();
    }
  }

  /** Repeats a request with the same key until the answer is 201. */
  private async create(): Promise<void> {
    const key = randomUUID();
    const { api, payment } = this.system;
    const created = await until(
      async () => {
        const { status, body } = await api.createPayment(payment, key);
        return status === 201 ? (body.data as { paymentId: string }) : null;
      },
      { timeoutMs: acceptLimitMs, what: 'a payment accepted' },
    );
    this.paymentIds.push(created.paymentId);
  }

  /** Resolves when `by` more payments have been accepted. */
  async grown(by: number): Promise<void> {
    const goal = this.paymentIds.length + by;
    const isGrown = until(() => this.paymentIds.length >= goal, {
      timeoutMs: acceptLimitMs,
      what: `${by} more payments`,
    });
    // Before end(), workers end only by failing.
    await Promise.race([isGrown, this.working]);
  }

  async end(): Promise<void> {
    this.isEnding = true;
    await this.working;
  }
}
