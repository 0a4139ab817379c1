/** What docs/api-decisions.md decides about webhooks: hosts, redirects, pauses, deletion, records. */
import type { PaymentEvent, WebhookEndpoint } from '@pis/client';
import { type ReceivedRequest, until } from '@pis/local-servers/testing';
import { call, data } from '../support/http.js';
import { arrivalLimitMs, itOnOwn, itWithReceiver, receiver, target } from '../support/target.js';
import {
  createEndpoint,
  createPayment,
  deleteEndpoint,
  type Endpoint,
  isoTime,
  paymentIn,
  withEndpoint,
} from '../support/things.js';

const paymentOf = ({ body }: ReceivedRequest) => (JSON.parse(body) as PaymentEvent).data.paymentId;

const arrived = ({ received }: Endpoint, count: number) =>
  until(() => (received().length >= count ? received() : null), { timeoutMs: arrivalLimitMs });

/** One event for each payment that is blocked. */
const withBlocked = (use: (endpoint: Endpoint) => Promise<void>) =>
  withEndpoint(use, { subscribedEvents: ['payment.blocked'] });

const patch = (id: string, body: object) =>
  data<WebhookEndpoint>(200, 'PATCH', `/v1/webhooks/${id}`, { body });

interface Delivery {
  readonly deliveryId: string;
  readonly state: string;
  readonly finishedReason: string | null;
  readonly attempts: readonly {
    readonly attempt: number;
    readonly at: string;
    readonly statusCode: number | null;
    readonly durationMs: number;
    readonly error: string | null;
    readonly responseExcerpt: string | null;
  }[];
}

/** The record of the delivery that the request belongs to, as soon as `isAwaited`. */
function deliveryOf(
  request: ReceivedRequest | undefined,
  isAwaited: (delivery: Delivery) => boolean,
): Promise<Delivery> {
  const path = `/v1/webhooks/deliveries/${String(request?.headers['x-webhook-delivery'])}`;
  return until(
    async () => {
      const delivery = await data<Delivery>(200, 'GET', path);
      return isAwaited(delivery) && delivery;
    },
    { timeoutMs: arrivalLimitMs },
  );
}

const attempted = (request: ReceivedRequest | undefined) =>
  deliveryOf(request, ({ attempts }) => attempts.length > 0);
const ended = (request: ReceivedRequest | undefined) =>
  deliveryOf(request, ({ state }) => state !== 'pending');

/** Answers 500 to all of these endpoints. */
function failing(...endpoints: readonly Endpoint[]): void {
  const paths = endpoints.map(({ url }) => new URL(url).pathname);
  receiver().respondWith(({ path }) => ({ status: paths.includes(path) ? 500 : 200 }));
}

/**
 * Nothing comes to `silent` any more, while one that fares alike but for that is tried twice. What was
 * under way, or began in the moment of the change, may still have come before.
 */
async function untilSilent(silent: Endpoint, tried: Endpoint): Promise<void> {
  await until(
    async () => {
      const count = silent.received().length;
      await arrived(tried, tried.received().length + 2);
      return silent.received().length === count;
    },
    { timeoutMs: arrivalLimitMs },
  );
}

afterEach(() => target().receiver?.respondWith(() => ({})));

describe('Webhooks', () => {
  it('webhook-decision-3 takes a host name that does not resolve', async () => {
    const { id, url } = await createEndpoint({ url: 'https://not-yet.invalid/hook' });
    expect(url).toBe('https://not-yet.invalid/hook');
    await deleteEndpoint(id);
  });

  itWithReceiver('webhook-decision-4 follows no redirect: that is a failed attempt', () =>
    withBlocked(async (endpoint) => {
      const { pathname } = new URL(endpoint.url);
      receiver().respondWith(({ path }) =>
        path === pathname ? { redirect: `${endpoint.url}/moved` } : {},
      );
      await createPayment({}, '0301');
      const [first] = await arrived(endpoint, 1);
      const { attempts, state } = await attempted(first);
      expect(attempts[0]).toMatchObject({ attempt: 1, statusCode: 302 });
      expect(state).toBe('pending');
      expect(endpoint.received().filter(({ path }) => path !== pathname)).toEqual([]);
    }),
  );

  itWithReceiver(
    'webhook-decision-5 never delivers what occurred while an endpoint was disabled or not subscribed',
    () =>
      withBlocked(async (endpoint) => {
        await patch(endpoint.id, { enabled: false });
        const disabled = await paymentIn('BLOCKED', '0301');
        await patch(endpoint.id, { enabled: true, subscribedEvents: ['payment.failed'] });
        const unsubscribed = await paymentIn('BLOCKED', '0301');
        await patch(endpoint.id, { subscribedEvents: ['payment.*'] });
        const last = await paymentIn('BLOCKED', '0301');
        const seen = await until(
          () => {
            const ids = endpoint.received().map(paymentOf);
            return ids.filter((id) => id === last.paymentId).length >= 2 && ids;
          },
          { timeoutMs: arrivalLimitMs },
        );
        expect(new Set(seen)).toEqual(new Set([last.paymentId]));
        const { text } = await call('GET', `/v1/webhooks/${endpoint.id}/deliveries`);
        for (const { paymentId } of [disabled, unsubscribed]) expect(text).not.toContain(paymentId);
      }),
  );

  itOnOwn('webhook-decision-6 lets retries wait while the endpoint is disabled', () =>
    withBlocked((endpoint) =>
      withBlocked(async (other) => {
        failing(endpoint, other);
        await createPayment({}, '0301');
        const [first] = await arrived(endpoint, 1);
        await patch(endpoint.id, { enabled: false });
        await untilSilent(endpoint, other);
        expect(await attempted(first)).toMatchObject({ state: 'pending' });
      }),
    ),
  );

  itOnOwn('webhook-decision-7 ends retries when the endpoint is deleted', () =>
    withBlocked((endpoint) =>
      withBlocked(async (other) => {
        failing(endpoint, other);
        await createPayment({}, '0301');
        const [first] = await arrived(endpoint, 1);
        await deleteEndpoint(endpoint.id);
        await untilSilent(endpoint, other);
        const { state, finishedReason } = await ended(first);
        expect([state, finishedReason]).toEqual(['canceled', 'endpoint_deleted']);
      }),
    ),
  );

  itOnOwn('webhook-decision-8 records every attempt', () =>
    withBlocked(async (endpoint) => {
      const { pathname } = new URL(endpoint.url);
      const answers = [
        { status: 503, body: 'x'.repeat(3_000) },
        { hang: true },
        { status: 200, body: 'thanks' },
      ];
      let index = 0;
      receiver().respondWith(({ path }) => (path === pathname ? (answers[index++] ?? {}) : {}));
      await createPayment({}, '0301');
      const [first] = await arrived(endpoint, answers.length);
      const { attempts, state } = await ended(first);
      expect(state).toBe('delivered');
      // An error is what kept an answer from coming; a status speaks for itself.
      const common = { at: expect.stringMatching(isoTime), durationMs: expect.any(Number) };
      expect(attempts).toEqual([
        { ...common, attempt: 1, statusCode: 503, error: null, responseExcerpt: 'x'.repeat(1_024) },
        {
          ...common,
          attempt: 2,
          statusCode: null,
          error: expect.stringMatching(/\S/),
          responseExcerpt: null,
        },
        { ...common, attempt: 3, statusCode: 200, error: null, responseExcerpt: 'thanks' },
      ]);
      expect(attempts[1]?.durationMs).toBeGreaterThanOrEqual(990);
      expect(attempts.map(({ at }) => at)).toEqual(attempts.map(({ at }) => at).sort());
    }),
  );
});
