/**
 * A dispatcher on a real database with a real HTTPS receiver, an event store in memory and a clock
 * that the test moves.
 */
import { randomUUID } from 'node:crypto';
import type { PaymentIntegrationEvent, StatementIntegrationEvent } from '@pis/contracts';
import { type Subscription, webhookEndpoints, type WebhookEndpointsCommand } from '@pis/domain';
import {
  type EventStore,
  memoryEventStore,
  postgresEventStore,
  repository,
} from '@pis/event-store';
import { type Keyring, ownerOf } from '@pis/keyring';
import { testKeyringOn } from '@pis/keyring/testing';
import {
  createTestDatabase,
  type HttpsReceiver,
  openTestPool,
  startHttpsReceiver,
} from '@pis/local-servers/testing';
import { Partitions } from '@pis/webhook-deliveries';
import { createSecret } from '@pis/webhooks';
import type pg from 'pg';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../dispatcher.js';
import { dispatcherLimits } from '../limits.js';

export interface TestEndpoint {
  readonly endpointId: string;
  readonly secret: string;
}

export interface DispatcherFixture {
  readonly organizationId: string;
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly databaseUrl: string;
  readonly receiver: HttpsReceiver;
  readonly keyring: Keyring;
  readonly metrics: Registry;
  /** The options of a dispatcher. Each call describes another process. */
  dispatcher(changes?: Partial<DispatcherOptions>): Dispatcher;
  now(): Date;
  advance(ms: number): void;
  createEndpoint(options?: {
    organizationId?: string;
    url?: string;
    subscribedEvents?: readonly Subscription[];
  }): Promise<TestEndpoint>;
  change(command: WebhookEndpointsCommand): Promise<void>;
  /** A payment event appended to the log now, as the broker would bring it. */
  paymentEvent(changes?: Partial<PaymentIntegrationEvent>): Promise<PaymentIntegrationEvent>;
  /** The event of a statement that is generated now, as the broker would bring it. */
  statementEvent(): Promise<StatementIntegrationEvent>;
  query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

const all: readonly Subscription[] = ['payment.*'];
const context = {
  actor: 'system:test',
  requestId: null,
  correlationId: randomUUID(),
  causationId: null,
  traceparent: null,
};

export const testConfig = {
  PIS_WEBHOOK_ALLOWED_NETWORKS: ['127.0.0.0/8'],
  PIS_WEBHOOK_CA_FILE: undefined,
  PIS_WEBHOOK_RETRY_INITIAL_MS: 30_000,
  PIS_WEBHOOK_RETRY_MAX_MS: 3_600_000,
  // Not reached even on a busy machine. The resulting lease ends before a retry is due.
  PIS_WEBHOOK_TIMEOUT_MS: 14_000,
  PIS_WEBHOOK_RETRY_WINDOW_PAYMENTS_MS: 72 * 3_600_000,
  PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS: 14 * 24 * 3_600_000,
  PIS_WEBHOOK_RETENTION_DAYS: 30,
};

/** Frequent polls of the table and of endpoints: the test's clock wakes no loop. */
export const testLimits = {
  pollMaxMs: 10,
  disabledRecheckMs: 10,
  endpointFreshForMs: 0,
  errorPauseMinMs: 10,
  errorPauseMaxMs: 50,
};

/** @param isShared with an event store that other processes see too */
export async function dispatcherFixture({ isShared = false } = {}): Promise<DispatcherFixture> {
  const [database, receiver] = await Promise.all([createTestDatabase(), startHttpsReceiver()]);
  const pool = openTestPool(database.url, 5);
  const store = isShared
    ? postgresEventStore({ pool, listenConnectionString: database.url })
    : memoryEventStore();
  const keyring = await testKeyringOn(pool);
  const metrics = new Registry();
  const organizationId = randomUUID();
  const endpoints = repository(store, webhookEndpoints);
  const running: Dispatcher[] = [];
  // An odd offset: so a failure shows whether a time is of an event, of a row or of the wall clock.
  let time = Date.parse('2026-11-21T10:00:00.123Z');
  const now = () => new Date(time);
  // The database has only days around its own. Without a day for this clock, the first dispatcher would move
  // rows between partitions while the test reads them.
  await new Partitions({
    pool,
    now,
    retentionDays: testConfig.PIS_WEBHOOK_RETENTION_DAYS,
    windowMs: testConfig.PIS_WEBHOOK_RETRY_WINDOW_STATEMENTS_MS,
    limits: dispatcherLimits.partitions,
    onDropped: () => undefined,
  }).maintain(new AbortController().signal);

  const change = async (command: WebhookEndpointsCommand) => {
    const owner = command.data.organizationId;
    const executed = await endpoints.execute(owner, command, context);
    if ('refused' in executed) throw new Error(executed.refused);
  };
  return {
    organizationId,
    store,
    pool,
    databaseUrl: database.url,
    receiver,
    keyring,
    metrics,
    now,
    change,
    dispatcher(changes = {}) {
      const dispatcher = createDispatcher({
        config: testConfig,
        extraCaPem: receiver.caPem,
        store,
        keyring,
        pool,
        logger: pino({ level: 'silent' }),
        metrics: new Registry(),
        now,
        random: () => 0,
        limits: testLimits,
        ...changes,
      });
      running.push(dispatcher);
      return dispatcher;
    },
    advance: (ms) => void (time += ms),
    async createEndpoint(options = {}) {
      const { url = `${receiver.url}/hook`, subscribedEvents = all } = options;
      const endpointId = randomUUID();
      const secret = createSecret();
      const sealedSecret = await keyring.seal(ownerOf.webhookEndpoint(endpointId), secret);
      await change({
        type: 'CreateWebhookEndpoint',
        at: now().toISOString(),
        data: {
          organizationId: options.organizationId ?? organizationId,
          endpointId,
          url,
          subscribedEvents,
          label: null,
          sealedSecret,
        },
      });
      return { endpointId, secret };
    },
    async paymentEvent(changes = {}) {
      const eventId = randomUUID();
      const paymentId = randomUUID();
      const metadata = {
        ...context,
        at: now().toISOString(),
        schemaVersion: 1,
        previousHash: null,
      };
      const { position } = await store.append(`payment-${paymentId}`, 'noStream', [
        { id: eventId, type: 'PaymentQueued', data: {}, metadata },
      ]);
      const data = { paymentId, status: 'QUEUED', previousStatus: null, paymentNote: 'Zażółć 💸' };
      return {
        eventId,
        eventType: 'payment.queued',
        organizationId,
        position,
        occurredAt: now().toISOString(),
        data: data as unknown as PaymentIntegrationEvent['data'],
        ...changes,
      };
    },
    async statementEvent() {
      const eventId = randomUUID();
      const statementId = randomUUID();
      const at = now().toISOString();
      const metadata = { ...context, at, schemaVersion: 1, previousHash: null };
      const data = { statementId, originatorId: randomUUID(), periodYear: 2026, periodMonth: 10 };
      const { position } = await store.append(`statement-${statementId}`, 'noStream', [
        { id: eventId, type: 'StatementGenerated', data: { organizationId, ...data }, metadata },
      ]);
      return {
        ...{ eventId, eventType: 'statement.generated', organizationId, position },
        ...{ occurredAt: at, data },
      };
    },
    async query(sql, values = []) {
      return (await pool.query(sql, values)).rows;
    },
    async close() {
      await receiver.close();
      await Promise.all(running.map((dispatcher) => dispatcher.stop()));
      await store.close();
      await pool.end();
      await database.drop();
    },
  };
}
