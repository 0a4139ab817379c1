import type { PaymentEvent, WebhookTestResult } from '@pis/client';
import { verifyWebhook } from '@pis/client';
import { call, data, expectError, problemsOf } from '../support/http.js';
import { itWithReceiver, receiver } from '../support/target.js';
import {
  createEndpoint,
  deleteEndpoint,
  type Endpoint,
  listPayments,
  uuid,
  withEndpoint,
} from '../support/things.js';

const test = (id: string, body: unknown) =>
  data<WebhookTestResult>(200, 'POST', `/v1/webhooks/${id}/test`, { body });

const eventTypes = [
  'awaiting_confirmation',
  'queued',
  'processing',
  'completed',
  'failed',
  'failed_in_flight',
  'canceled',
  'returned',
  'blocked',
].map((suffix) => `payment.${suffix}`);

/** The event that the endpoint received last, its signature checked. */
function lastEvent({ received, secret }: Endpoint): PaymentEvent {
  const request = received().at(-1);
  if (request === undefined) throw new Error('nothing was received');
  return verifyWebhook(request.body, request.headers, secret) as PaymentEvent;
}

describe('Test (POST /v1/webhooks/:id/test)', () => {
  itWithReceiver('webhook-test-1 takes {} or {eventType}', () =>
    withEndpoint(async ({ id, received }) => {
      for (const body of [{}, { eventType: 'payment.completed' }])
        expect(await test(id, body)).toMatchObject({ success: true, statusCode: 200 });
      expect(received()).toHaveLength(2);
      const path = `/v1/webhooks/${id}/test`;
      expect(problemsOf(await call('POST', path, { body: { eventType: 7 } }))).toEqual([
        'eventType validation_type',
      ]);
    }),
  );

  itWithReceiver('webhook-test-2 delivers a TEST event with a sample for {}', () =>
    withEndpoint(async (endpoint) => {
      await test(endpoint.id, {});
      expect(lastEvent(endpoint)).toMatchObject({
        id: expect.stringMatching(uuid),
        version: '1',
        eventType: 'TEST',
        synthetic: true,
        data: expect.any(Object),
      });
    }),
  );

  itWithReceiver('webhook-test-3 delivers a synthetic payment event of each type', () =>
    withEndpoint(async (endpoint) => {
      const fields = (data: object) => Object.keys(data).sort();
      const shape = new Set<string>();
      for (const eventType of eventTypes) {
        await test(endpoint.id, { eventType });
        const event = lastEvent(endpoint);
        const status = eventType.slice('payment.'.length).toUpperCase();
        expect(event).toMatchObject({ version: '1', eventType, synthetic: true, data: { status } });
        const { failureCode, returnReasonCode } = event.data;
        expect(failureCode !== null).toBe(eventType === 'payment.failed');
        expect(returnReasonCode !== null).toBe(eventType === 'payment.returned');
        shape.add(fields(event.data).join());
      }
      expect([...shape]).toHaveLength(1);
      expect([...shape][0]).toContain('previousStatus');
    }),
  );

  it('webhook-test-4 refuses payment.*, statement.generated and what is no event', async () => {
    const { id } = await createEndpoint();
    for (const eventType of ['payment.*', 'statement.generated', 'TEST', '*', ''])
      expect(
        problemsOf(await call('POST', `/v1/webhooks/${id}/test`, { body: { eventType } })),
      ).toEqual(['eventType validation_event_type']);
    await deleteEndpoint(id);
    expectError(await call('POST', `/v1/webhooks/${id}/test`, { body: {} }), 404, 'NOT_FOUND');
  });

  itWithReceiver('webhook-test-5 delivers whatever the endpoint is subscribed to', () =>
    withEndpoint(
      async ({ id, received }) => {
        await test(id, { eventType: 'payment.completed' });
        await data(200, 'PATCH', `/v1/webhooks/${id}`, { body: { subscribedEvents: [] } });
        await test(id, { eventType: 'payment.failed' });
        expect(received().map(({ headers }) => headers['x-webhook-event'])).toEqual([
          'payment.completed',
          'payment.failed',
        ]);
      },
      { subscribedEvents: ['payment.blocked'] },
    ),
  );

  itWithReceiver('webhook-test-6 stores nothing, neither a payment nor a delivery', () =>
    withEndpoint(async (endpoint) => {
      await test(endpoint.id, { eventType: 'payment.completed' });
      const { paymentId } = lastEvent(endpoint).data;
      expectError(await call('GET', `/v1/payments/${paymentId}`), 404, 'NOT_FOUND');
      const listed = await listPayments('limit=100');
      expect(listed.map((item) => item.paymentId)).not.toContain(paymentId);
      expect(await data(200, 'GET', `/v1/webhooks/${endpoint.id}/deliveries`)).toEqual([]);
    }),
  );

  itWithReceiver('webhook-test-7 answers with success, statusCode, error and durationMs', () =>
    withEndpoint(async ({ id, url }) => {
      const path = new URL(url).pathname;
      expect(await test(id, {})).toEqual({
        success: true,
        statusCode: 200,
        error: null,
        durationMs: expect.any(Number),
      });
      receiver().respondWith((request) => (request.path === path ? { status: 503 } : {}));
      expect(await test(id, {})).toMatchObject({ success: false, statusCode: 503 });
      receiver().respondWith((request) => (request.path === path ? { cut: true } : {}));
      const cut = await test(id, {});
      expect(cut).toMatchObject({ success: false, statusCode: null, error: expect.any(String) });
      expect(Number.isInteger(cut.durationMs)).toBe(true);
      receiver().respondWith(() => ({}));
    }),
  );

  itWithReceiver('event-rule-9 has a TEST event for tests alone: nobody can subscribe to it', () =>
    withEndpoint(async ({ id, received }) => {
      const body = { url: 'https://receiver.invalid/', subscribedEvents: ['TEST'] };
      expectError(await call('POST', '/v1/webhooks', { body }), 400, 'VALIDATION_ERROR');
      await test(id, {});
      expect(received().map(({ headers }) => headers['x-webhook-event'])).toEqual(['TEST']);
    }),
  );

  itWithReceiver('event-envelope-7 refers to sample entities that are not in the account', () =>
    withEndpoint(async (endpoint) => {
      await test(endpoint.id, { eventType: 'payment.returned' });
      const { paymentId, originator, contact } = lastEvent(endpoint).data;
      expectError(await call('GET', `/v1/payments/${paymentId}`), 404, 'NOT_FOUND');
      const patch = (path: string) => call('PATCH', path, { body: {} });
      expectError(await patch(`/v1/originators/${originator.id}`), 404, 'NOT_FOUND');
      expectError(await patch(`/v1/contacts/${contact?.id}`), 404, 'NOT_FOUND');
    }),
  );

  itWithReceiver('event-type-1 names AWAITING_CONFIRMATION payment.awaiting_confirmation', () =>
    withEndpoint(async (endpoint) => {
      await test(endpoint.id, { eventType: 'payment.awaiting_confirmation' });
      expect(lastEvent(endpoint).data).toMatchObject({
        status: 'AWAITING_CONFIRMATION',
        previousStatus: null,
      });
    }),
  );

  itWithReceiver('event-data-3 has the nulls of a counterparty that is not known yet', () =>
    withEndpoint(async (endpoint) => {
      for (const eventType of ['payment.awaiting_confirmation', 'payment.canceled']) {
        await test(endpoint.id, { eventType });
        const { originator, contact } = lastEvent(endpoint).data;
        expect(originator.bankAccount).not.toBeNull();
        expect(contact?.bankAccount ?? null).toBeNull();
      }
    }),
  );
});
