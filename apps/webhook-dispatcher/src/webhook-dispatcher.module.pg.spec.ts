import { jest } from '@jest/globals';
import { Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { EVENT_STORE, KEYRING, LOGGER, METRICS, PG_POOL } from '@pis/service-kit';
import { until } from '@pis/local-servers/testing';
import { MessageContext, waitingSince } from '@pis/messaging';
import { pino } from 'pino';
import { PaymentEventsController } from './payment-events.controller.js';
import { dispatcherFixture, testConfig } from './testing/dispatcher-fixture.js';
import { WebhookDispatcherModule } from './webhook-dispatcher.module.js';

jest.setTimeout(120_000);

const timeoutMs = 30_000;

function message(since?: string): MessageContext {
  const headers = since === undefined ? {} : waitingSince(new Date(since), {});
  return new MessageContext([
    { topic: 't', key: 'k', value: '', headers, offset: '0/1', attempt: 1 },
  ]);
}

describe('The webhook-dispatcher as an app', () => {
  it('delivers a message of the broker, however long it was deferred, parks an invalid one, counts both, and stops cleanly', async () => {
    const fixture = await dispatcherFixture();
    const tokens = [
      { provide: EVENT_STORE, useValue: fixture.store },
      { provide: KEYRING, useValue: fixture.keyring },
      { provide: PG_POOL, useValue: fixture.pool },
      { provide: LOGGER, useValue: pino({ level: 'silent' }) },
      { provide: METRICS, useValue: fixture.metrics },
    ];
    class Platform {}
    Global()(Platform);
    Module({ providers: tokens, exports: tokens.map(({ provide }) => provide) })(Platform);
    const config = { ...testConfig, PIS_WEBHOOK_CA_FILE: fixture.receiver.caFile };
    class App {}
    Module({ imports: [Platform, WebhookDispatcherModule.register(config)] })(App);
    const app = await NestFactory.createApplicationContext(App, { logger: false });
    await app.init();

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
    await app.close();
    await fixture.close();
  });

  it('does not start with a CA file that cannot be read, and says which variable is wrong', () => {
    expect(() =>
      WebhookDispatcherModule.register({ ...testConfig, PIS_WEBHOOK_CA_FILE: '/nowhere/ca.pem' }),
    ).toThrow(/PIS_WEBHOOK_CA_FILE/);
  });
});
