/**
 * The main use case, end to end, in every setup of the service: a payment goes from the API over a rail to
 * three signed webhooks, and its account numbers appear nowhere on the way.
 */
import { createHash, randomUUID } from 'node:crypto';
import { topics } from '@pis/contracts';
import { startHttpsReceiver, until } from '@pis/local-servers/testing';
import { verify } from '@pis/webhooks';
import pg from 'pg';
import { Api } from './support/api.js';
import { type Collector, startCollector } from './support/collector.js';
import { createPastOriginator } from './support/past-originator.js';
import { pisJson } from './support/process.js';
import { readMessages, readTopics } from './support/topics.js';
import {
  allInOne,
  allInOneOnKurrent,
  allInOneOnServers,
  distributedOnEventStoreDb,
  distributedOnPostgres,
  type StartSystem,
  type System,
} from './support/systems.js';

/** Setups that need Kafka are skipped, and counted as skipped, if there is none. */
const onKafka: readonly (readonly [string, StartSystem])[] = [
  ['all in one, on Kafka and EventStoreDB', allInOneOnServers],
  ['separate processes on Kafka and the PostgreSQL event store', distributedOnPostgres],
  ['separate processes on Kafka and EventStoreDB', distributedOnEventStoreDb],
];

const startLimitMs = 240_000;
const arrivalLimitMs = 30_000;
const testLimitMs = 90_000;

type Receiver = Awaited<ReturnType<typeof startHttpsReceiver>>;

describe('all in one, embedded', () => mainJob(allInOne));
describe('all in one, on EventStoreDB through the successor of its client', () =>
  mainJob(allInOneOnKurrent));
(process.env['PIS_TEST_KAFKA_BROKERS'] ? describe : describe.skip).each(onKafka)(
  '%s',
  (_name, start) => mainJob(start),
);

function mainJob(start: StartSystem): void {
  let receiver: Receiver;
  let collector: Collector;
  let system: System;
  let api: Api;

  beforeAll(async () => {
    receiver = await startHttpsReceiver();
    collector = await startCollector();
    system = await start({
      ...collector.environment,
      PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      PIS_WEBHOOK_CA_FILE: receiver.caFile,
      LOG_LEVEL: 'debug',
    });
    api = new Api(system.apiUrl, system.apiKey);
  }, startLimitMs);

  afterAll(async () => {
    await system?.stop();
    await receiver?.close();
    await collector?.close();
  }, startLimitMs);

  it(
    'a payment is accepted, executed, and announced by three signed webhooks',
    async () => {
      const { endpointId, secret } = await registerEndpoint(api, receiver);
      const { payment, contactId } = await paymentTo(api, '000123456789');
      const created = await api.createPayment(payment, randomUUID());
      expect(created.status).toBe(201);
      const { paymentId } = created.body.data as { paymentId: string };

      const final = await until(
        async () => {
          const read = await api.data<Payment>(200, 'GET', `/v1/payments/${paymentId}`);
          return read.status === 'COMPLETED' ? read : null;
        },
        { timeoutMs: arrivalLimitMs },
      );
      expect(final).toMatchObject({
        paymentAmount: 12_345,
        direction: 'OUTBOUND',
        paymentRail: 'RTP',
        currencyCode: 'USD',
        contact: { id: contactId, bankAccount: { achAccountNumber: '********6789' } },
      });

      const received = await until(
        () => {
          const mine = receiver.requests.filter(({ body }) => body.includes(paymentId));
          return mine.length >= 3 ? mine : null;
        },
        { timeoutMs: arrivalLimitMs },
      );
      const events = received.map(({ headers, body }) => {
        expect(verify(body, headers, secret, new Date())).toBe(true);
        return JSON.parse(body) as WebhookEvent;
      });
      const byType = Object.fromEntries(
        events.map((event) => [event.eventType, event.data.previousStatus]),
      );
      expect(byType).toEqual({
        'payment.queued': null,
        'payment.processing': 'QUEUED',
        'payment.completed': 'PROCESSING',
      });
      const completed = events.find(({ eventType }) => eventType === 'payment.completed');
      expect(completed?.data).toEqual({ ...final, previousStatus: 'PROCESSING' });

      await api.data(204, 'DELETE', `/v1/webhooks/${endpointId}`);
    },
    testLimitMs,
  );

  it(
    'the payment shows in the list after its 201, and a repeated request replays it',
    async () => {
      const { payment } = await paymentTo(api, '000222333444');
      const key = randomUUID();
      const first = await api.createPayment(payment, key);
      const { paymentId } = first.body.data as { paymentId: string };
      // A list waits at most a second for recent writes, which is short on a busy machine.
      const newest = async () =>
        (await api.data<Payment[]>(200, 'GET', '/v1/payments/?limit=1'))[0]?.paymentId;
      await until(async () => (await newest()) === paymentId, { timeoutMs: arrivalLimitMs });

      const again = await api.createPayment(payment, key);
      expect(again.status).toBe(201);
      expect(again.body.data).toEqual({ paymentId });
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      const other = await api.createPayment({ ...payment, paymentAmount: 1 }, key);
      expect(other.status).toBe(409);
      expect(other.body.error?.code).toBe('IDEMPOTENCY_KEY_REUSED_WITH_DIFFERENT_BODY');
    },
    testLimitMs,
  );

  it(
    'a returned payment ends RETURNED with the code of the bank',
    async () => {
      const { payment } = await paymentTo(api, '000987650101');
      const created = await api.createPayment(payment, randomUUID());
      const { paymentId } = created.body.data as { paymentId: string };
      const final = await until(
        async () => {
          const read = await api.data<Payment>(200, 'GET', `/v1/payments/${paymentId}`);
          return read.status === 'RETURNED' ? read : null;
        },
        { timeoutMs: arrivalLimitMs },
      );
      expect(final).toMatchObject({ returnReasonCode: 'R01' });
    },
    testLimitMs,
  );

  it(
    'the statement of a month is announced by the topic, a signed webhook and the feed, and is there to download',
    async () => {
      const { id: endpointId, secret } = await api.data<{ id: string; secret: string }>(
        ...([201, 'POST', '/v1/webhooks'] as const),
        { url: `${receiver.url}/statements`, subscribedEvents: ['statement.generated'] },
      );
      const { originatorId, year, month } = await createPastOriginator(system);
      const { statements } = await pisJson<{ statements: { statementId: string }[] }>(
        [
          ...['statements', 'generate', '--originator', originatorId],
          ...['--year', String(year), '--month', String(month)],
        ],
        system.environment,
      );
      const statementId = statements[0]?.statementId ?? '';
      const data = { statementId, originatorId, periodYear: year, periodMonth: month };
      const { headers, body } = await until(
        () => receiver.requests.find((request) => request.body.includes(statementId)),
        { timeoutMs: arrivalLimitMs },
      );
      expect(verify(body, headers, secret, new Date())).toBe(true);
      const event = JSON.parse(body) as WebhookEvent;
      expect(event).toEqual({
        ...{ id: expect.any(String), version: '1', eventType: 'statement.generated' },
        ...{ createdAt: headers['x-webhook-timestamp'], synthetic: false, data },
      });

      const statement = await until(
        async () => {
          const list = `/v1/statements?originatorId=${originatorId}&year=${year}`;
          return (await api.data<Statement[]>(200, 'GET', list))[0];
        },
        { timeoutMs: arrivalLimitMs },
      );
      expect(statement).toMatchObject(data);
      const pulled = await until(
        async () => {
          const feed = '/v1/events?eventType=statement.generated&limit=100';
          const events = await api.data<WebhookEvent[]>(200, 'GET', feed);
          return events.find(({ id }) => id === event.id);
        },
        { timeoutMs: arrivalLimitMs },
      );
      expect(pulled).toMatchObject({ ...event, createdAt: statement.generatedAt });
      const response = await fetch(`${system.apiUrl}/v1/statements/${statementId}/pdf`, {
        headers: { authorization: `Bearer ${system.apiKey}` },
      });
      const pdf = Buffer.from(await response.arrayBuffer());
      expect(pdf.subarray(0, 5).toString()).toBe('%PDF-');
      expect(createHash('sha256').update(pdf).digest('hex')).toBe(statement.sha256);

      const published = (await readMessages(system.environment))
        .filter(({ topic }) => topic === topics.statements)
        .map(({ key, value }) => ({ key, value: JSON.parse(value) as unknown }));
      // The embedded broker has its topics in the event store.
      const isOnKafka = system.environment['PIS_BROKER'] === 'kafka';
      const { organizationId } = system;
      const value = { eventId: event.id, eventType: event.eventType, organizationId, data };
      expect(published).toEqual(
        isOnKafka
          ? [{ key: `statement-${statementId}`, value: expect.objectContaining(value) }]
          : [],
      );
      await api.data(204, 'DELETE', `/v1/webhooks/${endpointId}`);
    },
    testLimitMs,
  );

  it(
    'no account number is found in any table, topic, log line or trace of the run',
    async () => {
      const numbers = ['000123456789', '000222333444', '000987650101', '778899001122'];
      const tables = await everyRow(system.databaseUrl);
      const messages = await readTopics(system.environment);
      // Its last log lines and spans come while it ends.
      await system.stop();
      const texts = { tables, topics: messages, logs: system.logs(), traces: collector.text() };
      for (const span of ['POST /v1/payments', 'process pis.', 'webhook attempt'])
        expect(texts.traces).toContain(`"${span}`);
      expect(texts.logs).toContain('shutting down');
      // Node's own warnings are log lines, too.
      expect(texts.logs).not.toMatch(/^\(node:\d+\) /m);
      expect(texts.tables).toContain('********6789');
      for (const [place, text] of Object.entries(texts))
        for (const number of numbers)
          expect({ place, number, found: text.includes(number) }).toEqual({
            place,
            number,
            found: false,
          });
    },
    testLimitMs,
  );
}

interface Payment {
  readonly paymentId: string;
  readonly status: string;
  readonly [field: string]: unknown;
}

interface Statement {
  readonly statementId: string;
  readonly generatedAt: string;
  readonly sha256: string;
}

interface WebhookEvent {
  readonly id: string;
  readonly eventType: string;
  readonly data: { readonly previousStatus: string | null; readonly [field: string]: unknown };
}

async function registerEndpoint(
  api: Api,
  receiver: Receiver,
): Promise<{ endpointId: string; secret: string }> {
  const endpoint = await api.data<{ id: string; secret: string }>(201, 'POST', '/v1/webhooks', {
    url: `${receiver.url}/hook`,
    subscribedEvents: ['payment.*'],
  });
  return { endpointId: endpoint.id, secret: endpoint.secret };
}

/** A fresh contact with this account, and the body of a payment to it. */
async function paymentTo(
  api: Api,
  achAccountNumber: string,
): Promise<{ payment: Record<string, unknown>; contactId: string }> {
  const originators = await api.data<{ originatorId: string }[]>(200, 'GET', '/v1/originators/');
  const originatorId = originators[0]?.originatorId;
  const { contactId } = await api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
    originatorId,
    entityType: 'INDIVIDUAL',
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: `ada.${randomUUID()}@example.com`,
    bankAccount: { subType: 'CHECKING', achRoutingNumber: '021000021', achAccountNumber },
  });
  return {
    contactId,
    payment: {
      originatorId,
      contactId,
      paymentAmount: 12_345,
      direction: 'OUTBOUND',
      paymentNote: 'Invoice 42',
    },
  };
}

/** Every row of every table as text, the event store's included. */
async function everyRow(databaseUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string }>(
        `SELECT row_to_json(t)::text AS text FROM ${name} t`,
      );
      texts.push(...rows.map(({ text }) => text));
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}
