import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { closeAfterEach, until } from '@pis/local-servers/testing';
import { MessageContext, waitingSince } from '@pis/messaging';
import { Listener, WakeUps, workChannel, type WorkKind } from '@pis/postgres';
import { EVENT_STORE, KEYRING, LOGGER, METRICS, PG_POOL, WAKE_UPS } from '@pis/service-kit';
import { replayRequests } from '@pis/webhook-deliveries';
import { pino } from 'pino';
import { PaymentEventsController } from './payment-events.controller.js';
import {
  type DispatcherFixture,
  dispatcherFixture,
  testConfig,
} from './testing/dispatcher-fixture.js';
import { WebhookDispatcherModule } from './webhook-dispatcher.module.js';

const atEnd = closeAfterEach();

jest.setTimeout(120_000);

const timeoutMs = 30_000;

function message(since?: string): MessageContext {
  const headers = since === undefined ? {} : waitingSince(new Date(since), {});
  return new MessageContext([
    { topic: 't', key: 'k', value: '', headers, offset: '0/1', attempt: 1 },
  ]);
}

/** A loop that is not woken waits longer than any test. */
const wakeUpsLimits = { idleMs: 3_600_000, idleWithoutListenMs: 5 };

let listener: Listener;
afterEach(() => listener?.stop());

async function startApp(fixture: DispatcherFixture, changes: object, wokenFor: string[] = []) {
  listener = new Listener({
    ...{ channels: [workChannel], connection: { connectionString: fixture.databaseUrl } },
    ...{ retryInitialMs: 50, retryMaxMs: 2_000, connectTimeoutMs: 10_000, senders: fixture.pool },
  });
  listener.start();
  const wakeUps = new WakeUps(listener, wakeUpsLimits);
  const wakeUpFor = (kind: WorkKind) => {
    wokenFor.push(kind);
    return wakeUps.for(kind);
  };
  const tokens = [
    { provide: EVENT_STORE, useValue: fixture.store },
    { provide: KEYRING, useValue: fixture.keyring },
    { provide: PG_POOL, useValue: fixture.pool },
    { provide: LOGGER, useValue: pino({ level: 'silent' }) },
    { provide: METRICS, useValue: fixture.metrics },
    { provide: WAKE_UPS, useValue: { for: wakeUpFor } },
  ];
  class Platform {}
  Global()(Platform);
  Module({ providers: tokens, exports: tokens.map(({ provide }) => provide) })(Platform);
  const config = { ...testConfig, PIS_WEBHOOK_CA_FILE: fixture.receiver.caFile, ...changes };
  class App {}
  Module({ imports: [Platform, WebhookDispatcherModule.register(config)] })(App);
  const app = await NestFactory.createApplicationContext(App, {
    ...{ logger: false, abortOnError: false },
  });
  await app.init();
  return app;
}

/** A bank at the address of the receiver. */
function banksFile(url: string, rails = 'RTP'): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pis-dispatcher-'));
  scratch.push(folder);
  const file = path.join(folder, 'banks.yaml');
  writeFileSync(
    file,
    `banks:
  - name: bank
    connections:
      - name: bank
        rails: [${rails}]
        https: { baseUrl: '${url}', caFile: ca, certificateFile: cert, privateKey: { file: key } }
        terms: { submissionInFlightMaxMs: 1000, referenceMemoryMs: 100000 }
        iso20022: { routingNumber: '026009593' }
`,
  );
  return file;
}
const scratch: string[] = [];
afterAll(() => scratch.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

describe('The webhook-dispatcher as an app', () => {
  it('delivers a message of the broker, however long it was deferred, parks an invalid one, counts both, and stops cleanly', async () => {
    const fixture = await dispatcherFixture();
    atEnd(() => fixture.close());
    const wokenFor: string[] = [];
    const app = await startApp(fixture, {}, wokenFor);
    atEnd(() => app.close());
    expect(wokenFor).toEqual(['replays', 'deliveries']);

    const controller = app.get(PaymentEventsController);
    await expect(
      controller.handle({ eventType: 'payment.queued' }, message()),
    ).rejects.toMatchObject({
      name: 'NonRetryable',
    });
    await fixture.createEndpoint();
    const [then, soonAfter] = ['2025-01-01T10:00:00.000Z', '2025-01-01T10:01:00.000Z'];
    const event = await fixture.paymentEvent({ occurredAt: then });
    // As it comes from the broker.
    await controller.handle(JSON.parse(JSON.stringify(event)), message(soonAfter));
    await until(
      async () =>
        (await fixture.query(`SELECT 1 FROM webhook_delivery_records WHERE state = 'delivered'`))
          .length,
      { timeoutMs },
    );
    // The row exists before its writer has the answer.
    const metrics = await until(
      async () => {
        const text = await fixture.metrics.metrics();
        return /^pis_webhook_in_flight 0$/m.test(text) && text;
      },
      { timeoutMs },
    );
    expect(metrics).toMatch(/^pis_webhook_attempts_total{outcome="success"} 1$/m);
    expect(metrics).toMatch(/^pis_webhook_backlog{state="due"} 0$/m);
  });

  it('begins a replay when it is requested', async () => {
    const fixture = await dispatcherFixture();
    atEnd(() => fixture.close());
    const app = await startApp(fixture, {});
    atEnd(() => app.close());
    const requests = replayRequests(fixture.pool);
    for (let times = 0; times < 3; times += 1) {
      // Of an endpoint that was deleted: it ends at once.
      const of = { organizationId: fixture.organizationId, endpointId: randomUUID() };
      const replayId = randomUUID();
      const time = new Date();
      await requests.create({
        ...{ ...of, id: replayId, fromAt: time, toAt: time, requestedAt: time },
        ...{ eventTypes: null, throughPosition: '' },
      });
      await until(async () => (await requests.get({ ...of, replayId }))?.state === 'canceled', {
        timeoutMs,
      });
    }
  });

  it('sends nothing to the host of a bank, though its network is allowed', async () => {
    const fixture = await dispatcherFixture();
    atEnd(() => fixture.close());
    const app = await startApp(fixture, { PIS_BANKS_FILE: banksFile(fixture.receiver.url) });
    atEnd(() => app.close());
    await fixture.createEndpoint();
    await app
      .get(PaymentEventsController)
      .handle(JSON.parse(JSON.stringify(await fixture.paymentEvent())), message());
    const errors = await until(
      async () => {
        const rows = await fixture.query<{ last_error: string | null }>(
          'SELECT last_error FROM webhook_delivery_records WHERE last_error IS NOT NULL',
        );
        return rows.length > 0 && rows.map(({ last_error: error }) => error);
      },
      { timeoutMs },
    );
    expect(errors).toEqual([expect.stringContaining('address_blocked')]);
    expect(fixture.receiver.requests).toEqual([]);
  });

  it('does not start with a banks file that is wrong, and says where', async () => {
    const fixture = await dispatcherFixture();
    atEnd(() => fixture.close());
    const file = banksFile(fixture.receiver.url, 'BITCOIN');
    await expect(startApp(fixture, { PIS_BANKS_FILE: file })).rejects.toThrow(
      /PIS_BANKS_FILE: line \d+: /,
    );
  });

  it('does not start with a CA file that cannot be read, and says which variable is wrong', () => {
    expect(() =>
      WebhookDispatcherModule.register({ ...testConfig, PIS_WEBHOOK_CA_FILE: '/nowhere/ca.pem' }),
    ).toThrow(/PIS_WEBHOOK_CA_FILE/);
  });
});
