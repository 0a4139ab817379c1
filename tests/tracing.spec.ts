/**
 * The trace of one payment, across all processes: from the request over the event store, Kafka and the rail to its
 * webhooks. And the metrics of the same processes, as the collector gets them.
 */
import { randomUUID } from 'node:crypto';
import { startHttpsReceiver, until } from '@pis/local-servers/testing';
import { Api } from './support/api.js';
import { type CollectedSpan, type Collector, startCollector } from './support/collector.js';
import { exposedMetrics, neededMetrics } from './support/metric-names.js';
import { payable } from './support/payable.js';
import { distributedOnPostgres, type System } from './support/systems.js';

const startLimitMs = 480_000;
const arrivalLimitMs = 60_000;
const testLimitMs = 240_000;
const paymentTopic = 'pis.payment-events.v1';
/** As a client that traces its own requests sends it. */
const caller = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };

(process.env['PIS_TEST_KAFKA_BROKERS'] ? describe : describe.skip)(
  'separate processes on Kafka that export to one collector',
  () => {
    let receiver: Awaited<ReturnType<typeof startHttpsReceiver>>;
    let collector: Collector;
    let system: System;
    let paymentId: string;

    beforeAll(async () => {
      receiver = await startHttpsReceiver();
      collector = await startCollector();
      system = await distributedOnPostgres({
        ...collector.environment,
        PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        PIS_WEBHOOK_CA_FILE: receiver.caFile,
        // Only what a caller traces itself.
        OTEL_TRACES_SAMPLER: 'parentbased_always_off',
        LOG_LEVEL: 'debug',
      });
      const api = new Api(system.apiUrl, system.apiKey);
      await api.data(201, 'POST', '/v1/webhooks', {
        url: receiver.url,
        subscribedEvents: ['payment.*'],
      });
      const payment = await payable(api);
      const { traceId, spanId } = caller;
      const created = await api.call('POST', '/v1/payments/', payment, {
        'idempotency-key': randomUUID(),
        traceparent: `00-${traceId}-${spanId}-01`,
      });
      expect(created.status).toBe(201);
      ({ paymentId } = created.body.data as { paymentId: string });
      await until(() => webhooksOf(paymentId).length >= 3, { timeoutMs: arrivalLimitMs });
    }, startLimitMs);

    afterAll(async () => {
      await system?.stop();
      await receiver?.close();
      await collector?.close();
    }, startLimitMs);

    const webhooksOf = (id: string) => receiver.requests.filter(({ body }) => body.includes(id));
    const named = (name: string, app: string) =>
      collector.spans().filter((span) => span.name === name && span.app === app);
    const parentOf = ({ parentSpanId }: CollectedSpan) =>
      collector.spans().find(({ spanId }) => spanId === parentSpanId);
    /** The names from a span up to the first one of the trace. */
    const wayTo = (span: CollectedSpan): readonly string[] => {
      const parent = parentOf(span);
      return [`${span.app}: ${span.name}`, ...(parent === undefined ? [] : wayTo(parent))];
    };

    it(
      'one payment is one trace, from the request to its webhooks',
      async () => {
        const request = await until(() => named('POST /v1/payments', 'api-gateway')[0], {
          timeoutMs: arrivalLimitMs,
        });
        expect(request).toMatchObject({ kind: 'server', parentSpanId: caller.spanId });
        const attempts = await until(
          () => {
            const all = named('webhook attempt', 'webhook-dispatcher');
            return all.length >= 3 ? all : null;
          },
          { timeoutMs: arrivalLimitMs },
        );
        for (const span of collector.spans()) expect(span.traceId).toBe(caller.traceId);

        const created = 'api-gateway: POST /v1/payments';
        const queued = [`event-relay: send ${paymentTopic}`, created];
        const executed = [`rail-executor: process ${paymentTopic}`, ...queued];
        // Each process exports on its own, and a span after those that it contains.
        const exported = (way: () => readonly string[] | undefined) =>
          until(() => way()?.at(-1) === created, {
            ...{ timeoutMs: arrivalLimitMs, what: 'a way to the request' },
          });
        const submissionOf = () => named('submit to bank', 'rail-executor')[0];
        const wayOfSubmission = () => {
          const found = submissionOf();
          return found && wayTo(found);
        };
        await exported(wayOfSubmission);
        for (const attempt of attempts) await exported(() => wayTo(attempt));
        expect(submissionOf()).toMatchObject({
          kind: 'client',
          attributes: { 'pis.payment.id': paymentId, 'pis.payment.rail': 'RTP' },
        });
        expect(wayOfSubmission()).toEqual(['rail-executor: submit to bank', ...executed]);
        const ways = Object.fromEntries(
          attempts.map((span) => [String(span.attributes['pis.event.type']), wayTo(span)]),
        );
        const announced = [
          'webhook-dispatcher: webhook attempt',
          `webhook-dispatcher: process ${paymentTopic}`,
        ];
        expect(ways['payment.queued']).toEqual([...announced, ...queued]);
        expect(ways['payment.processing']).toEqual([...announced, queued[0], ...executed]);
        expect(ways['payment.completed']?.slice(0, 3)).toEqual([...announced, queued[0]]);
        expect(ways['payment.completed']?.at(-1)).toBe(created);
      },
      testLimitMs,
    );

    it('the event store, its commit and its queries are in the trace', () => {
      const [append] = named('event store append', 'api-gateway');
      expect(append?.attributes).toEqual({
        'pis.stream.category': 'payment',
        'pis.payment.id': paymentId,
      });
      const [commit] = named('group commit', 'api-gateway').filter(
        ({ parentSpanId }) => parentSpanId === append?.spanId,
      );
      const queries = collector
        .spans()
        .filter(({ parentSpanId }) => parentSpanId === commit?.spanId)
        .filter(({ attributes }) => attributes['db.system.name'] === 'postgresql');
      expect(queries).not.toEqual([]);
    });

    it('no request to a client carries a trace', () => {
      for (const { headers } of webhooksOf(paymentId))
        expect(headers).not.toHaveProperty('traceparent');
    });

    it('no span holds a query, a value, a path or an address', () => {
      const text = JSON.stringify(collector.spans());
      for (const secret of [' FROM ', ' VALUES', '$1', '/v1/payments/', '127.0.0.1', '0111222333'])
        expect({ secret, found: text.includes(secret) }).toEqual({ secret, found: false });
    });

    it('log lines of the trace name it', async () => {
      const line = await until(
        () =>
          system
            .logs()
            .split('\n')
            .find((text) => text.includes('webhook attempt') && text.includes('trace_id')),
        { timeoutMs: arrivalLimitMs },
      );
      expect(JSON.parse(line)).toMatchObject({
        app: 'webhook-dispatcher',
        trace_id: caller.traceId,
      });
    });

    it('every metric that a rule or a dashboard names is one of these processes', async () => {
      const pages = await Promise.all(
        system.urls.map(async (url) => (await fetch(`${url}/metrics`)).text()),
      );
      const exposed = new Set(pages.flatMap(exposedMetrics));
      expect([...neededMetrics()].filter((name) => !exposed.has(name))).toEqual([]);
    });

    it(
      'the collector gets the metrics, by the names of the conventions where there are any',
      async () => {
        const value = (app: string, name: string, attributes: Readonly<Record<string, unknown>>) =>
          collector
            .metrics()
            .find(
              (series) =>
                series.app === app &&
                series.name === name &&
                Object.entries(attributes).every(([key, one]) => series.attributes[key] === one),
            )?.value;
        const created = { 'http.request.method': 'POST', 'http.route': '/v1/payments' };
        const processed = {
          'messaging.destination.name': paymentTopic,
          'messaging.system': 'kafka',
        };
        await until(
          () =>
            value('api-gateway', 'http.server.request.duration', {
              ...created,
              'http.response.status_code': 201,
            }) === 1,
          { timeoutMs: arrivalLimitMs },
        );
        await until(() => value('rail-executor', 'messaging.process.duration', processed), {
          timeoutMs: arrivalLimitMs,
        });
        await until(() => value('event-relay', 'messaging.client.sent.messages', processed), {
          timeoutMs: arrivalLimitMs,
        });
        await until(() => value('api-gateway', 'db.client.operation.duration', {}), {
          timeoutMs: arrivalLimitMs,
        });
        expect(value('api-gateway', 'db.client.connection.max', {})).toBeGreaterThan(0);
        // Only what was admitted belongs to an organization. Each process exports at intervals of its own.
        const organization = { organization: system.organizationId, result: 'ok' };
        await until(
          () => (value('api-gateway', 'pis_organization_requests_total', organization) ?? 0) > 2,
          { timeoutMs: arrivalLimitMs, what: 'the requests of the organization' },
        );
        const success = { outcome: 'success' };
        await until(
          () => value('webhook-dispatcher', 'pis_webhook_attempts_total', success) === 3,
          { timeoutMs: arrivalLimitMs, what: 'three attempts' },
        );
      },
      testLimitMs,
    );
  },
);
