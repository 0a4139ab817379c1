/** Envelope, event data, headers, signature and the contract of retries, seen at the receiver. */
import { createHmac } from 'node:crypto';
import type { PaymentEvent } from '@pis/client';
import { type ReceivedRequest, type ReceiverAnswer, until } from '@pis/local-servers/testing';
import { data } from '../support/http.js';
import { arrivalLimitMs, itOnOwn, itWithReceiver, receiver, target } from '../support/target.js';
import {
  createPayment,
  type Endpoint,
  getPayment,
  inStatus,
  isoTime,
  paymentIn,
  uuid,
  withEndpoint,
} from '../support/things.js';

const eventOf = ({ body }: ReceivedRequest) => JSON.parse(body) as PaymentEvent;

/** At least that many requests at the endpoint, in the order of their arrival. */
const arrived = ({ received }: Endpoint, count: number) =>
  until(() => (received().length >= count ? received() : null), { timeoutMs: arrivalLimitMs });

/** How the receiver answers the requests of one endpoint, counted from 0; others get 200. */
function answering(endpoint: Endpoint, answer: (index: number) => ReceiverAnswer): void {
  const { pathname } = new URL(endpoint.url);
  let index = 0;
  receiver().respondWith((request) => (request.path === pathname ? answer(index++) : {}));
}

/** An endpoint that only receives payment.blocked: one event for each payment. */
const withBlocked = (use: (endpoint: Endpoint) => Promise<void>) =>
  withEndpoint(use, { subscribedEvents: ['payment.blocked'] });

/** All that came of one payment to an endpoint for everything, when the payment was completed. */
const completedPayment = () =>
  withEndpoint(async (endpoint) => {
    const paymentId = await createPayment();
    const payment = await inStatus(paymentId, 'COMPLETED');
    return { payment, requests: await arrived(endpoint, 3), secret: endpoint.secret };
  });

const header = ({ headers }: ReceivedRequest, name: string) => String(headers[name]);

afterEach(() => target().receiver?.respondWith(() => ({})));

describe('Events', () => {
  itWithReceiver('event-1 are delivered by HTTP POST of JSON to each subscribed endpoint', () =>
    withEndpoint((first) =>
      withEndpoint(async (second) => {
        await createPayment({}, '0501');
        for (const endpoint of [first, second]) {
          const [request] = await arrived(endpoint, 1);
          expect(request?.method).toBe('POST');
          expect(request?.headers['content-type']).toMatch(/^application\/json\b/);
          expect(JSON.parse(request?.body ?? '')).toMatchObject({ eventType: 'payment.queued' });
        }
      }),
    ),
  );
});

describe('Envelope', () => {
  itWithReceiver('event-envelope-1 has an id that stays the same across retries', () =>
    withBlocked(async (endpoint) => {
      answering(endpoint, (index) => ({ status: index === 0 ? 503 : 200 }));
      await createPayment({}, '0301');
      const [first, second] = (await arrived(endpoint, 2)).map(eventOf);
      expect(first?.id).toMatch(uuid);
      expect(second?.id).toBe(first?.id);
    }),
  );

  itWithReceiver('event-envelope-2 has version 1', async () => {
    for (const request of (await completedPayment()).requests)
      expect(eventOf(request).version).toBe('1');
  });

  itWithReceiver('event-envelope-3 has the type of the event', async () => {
    const types = (await completedPayment()).requests.map((request) => eventOf(request).eventType);
    expect(types.sort()).toEqual(['payment.completed', 'payment.processing', 'payment.queued']);
  });

  itWithReceiver('event-envelope-4 has the time of emission, the same in a retry', () =>
    withBlocked(async (endpoint) => {
      answering(endpoint, (index) => ({ status: index === 0 ? 500 : 200 }));
      const { createdAt } = await getPayment(await createPayment({}, '0301'));
      const [first, second] = (await arrived(endpoint, 2)).map(eventOf);
      expect(first?.createdAt).toMatch(isoTime);
      expect(Date.parse(first?.createdAt ?? '')).toBeGreaterThanOrEqual(Date.parse(createdAt));
      expect(second?.createdAt).toBe(first?.createdAt);
    }),
  );

  itWithReceiver('event-envelope-5 says synthetic of tests alone', () =>
    withEndpoint(async (endpoint) => {
      await createPayment({}, '0501');
      await arrived(endpoint, 1);
      await data(200, 'POST', `/v1/webhooks/${endpoint.id}/test`, { body: {} });
      const flags = endpoint.received().map((request) => eventOf(request).synthetic);
      expect(flags).toEqual([false, true]);
    }),
  );

  itWithReceiver('event-envelope-6 has the payload in data', async () => {
    const { requests, payment } = await completedPayment();
    for (const request of requests)
      expect(eventOf(request).data).toMatchObject({ paymentId: payment.paymentId });
  });
});

describe('Event types', () => {
  itWithReceiver('event-rule-1 fires once for each transition', async () => {
    const { requests } = await completedPayment();
    const steps = requests
      .map(eventOf)
      .map(({ data: { previousStatus, status } }) => `${previousStatus} ${status}`);
    expect(steps.sort()).toEqual(['PROCESSING COMPLETED', 'QUEUED PROCESSING', 'null QUEUED']);
    expect(new Set(requests.map((request) => eventOf(request).id)).size).toBe(3);
  });

  itWithReceiver('event-rule-2 names the event after the status', async () => {
    for (const request of (await completedPayment()).requests) {
      const { eventType, data: payload } = eventOf(request);
      expect(eventType).toBe(`payment.${payload.status.toLowerCase()}`);
    }
  });

  itWithReceiver(
    'event-rule-5 announces a return as payment.returned of the original payment',
    () =>
      withEndpoint(
        async (endpoint) => {
          const paymentId = await createPayment({}, '0101');
          const [returned] = await arrived(endpoint, 1);
          expect(returned && eventOf(returned)).toMatchObject({
            eventType: 'payment.returned',
            data: { paymentId, status: 'RETURNED', previousStatus: 'COMPLETED' },
          });
        },
        { subscribedEvents: ['payment.returned'] },
      ),
  );

  itWithReceiver('event-rule-7 sends all payment events to payment.*', () =>
    withEndpoint(async (endpoint) => {
      for (const ending of ['0101', '0201', '0301', '0401']) await createPayment({}, ending);
      const types = await until(
        () => {
          const seen = new Set<string>(endpoint.received().map((r) => eventOf(r).eventType));
          return seen.size >= 7 ? [...seen].sort() : null;
        },
        { timeoutMs: arrivalLimitMs },
      );
      expect(types).toEqual(
        [
          'blocked',
          'completed',
          'failed',
          'failed_in_flight',
          'processing',
          'queued',
          'returned',
        ].map((suffix) => `payment.${suffix}`),
      );
    }),
  );
});

describe('Payment event data', () => {
  itWithReceiver('event-data-1 is the single read at that moment, with previousStatus', () =>
    withEndpoint(async (endpoint) => {
      const ids = {
        'payment.failed': (await paymentIn('FAILED', '0201')).paymentId,
        'payment.returned': (await paymentIn('RETURNED', '0107')).paymentId,
        'payment.blocked': (await paymentIn('BLOCKED', '0301')).paymentId,
      };
      for (const [eventType, paymentId] of Object.entries(ids)) {
        const event = await until(
          () =>
            endpoint
              .received()
              .map(eventOf)
              .find((each) => each.eventType === eventType && each.data.paymentId === paymentId),
          { timeoutMs: arrivalLimitMs },
        );
        const { previousStatus, ...payment } = event.data;
        expect(payment).toEqual(await getPayment(paymentId));
        expect(previousStatus).toEqual(expect.any(String));
      }
    }),
  );

  itWithReceiver(
    'event-data-2 is frozen: a retry carries the same bytes, whatever came after',
    () =>
      withEndpoint(
        async (endpoint) => {
          let completed = false;
          // Refused until the payment has gone on.
          answering(endpoint, () => ({ status: completed ? 200 : 500 }));
          const paymentId = await createPayment();
          await arrived(endpoint, 1);
          await inStatus(paymentId, 'COMPLETED');
          completed = true;
          const count = endpoint.received().length;
          const requests = await arrived(endpoint, count + 1);
          expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
          expect(requests.map(eventOf)[0]?.data.status).toBe('QUEUED');
        },
        { subscribedEvents: ['payment.queued'] },
      ),
  );

  itWithReceiver(
    'event-data-4 has contact and bank account from payment.queued onward',
    async () => {
      for (const request of (await completedPayment()).requests)
        for (const party of ['originator', 'contact'] as const)
          expect(eventOf(request).data[party]?.bankAccount).toMatchObject({
            achAccountNumber: expect.stringMatching(/^\*+\d+$/),
          });
    },
  );
});

describe('Delivery headers', () => {
  itWithReceiver('delivery-header-1 has the signature', async () => {
    for (const request of (await completedPayment()).requests)
      expect(header(request, 'x-webhook-signature-256')).toMatch(/^sha256=[0-9a-f]{64}$/);
  });

  itWithReceiver('delivery-header-2 has the time of signing', async () => {
    for (const request of (await completedPayment()).requests) {
      expect(header(request, 'x-webhook-timestamp')).toMatch(isoTime);
      const signedAt = Date.parse(header(request, 'x-webhook-timestamp'));
      expect(Math.abs(request.receivedAt.getTime() - signedAt)).toBeLessThan(300_000);
    }
  });

  itWithReceiver('delivery-header-3 has the type of the event', async () => {
    for (const request of (await completedPayment()).requests)
      expect(header(request, 'x-webhook-event')).toBe(eventOf(request).eventType);
  });

  itWithReceiver(
    'delivery-header-4 has an id of its own per event and endpoint, kept in retries',
    () =>
      withBlocked((first) =>
        withBlocked(async (second) => {
          answering(first, (index) => ({ status: index === 0 ? 500 : 200 }));
          await createPayment({}, '0301');
          const ids = (await arrived(first, 2)).map((each) => header(each, 'x-webhook-delivery'));
          const others = (await arrived(second, 1)).map((each) =>
            header(each, 'x-webhook-delivery'),
          );
          expect(ids[0]).toBe(ids[1]);
          expect(others[0]).not.toBe(ids[0]);
          await createPayment({}, '0301');
          const next = (await arrived(second, 2)).map((each) => header(each, 'x-webhook-delivery'));
          expect(new Set(next).size).toBe(2);
        }),
      ),
  );
});

describe('Signature', () => {
  const signature = (request: ReceivedRequest, secret: string) =>
    createHmac('sha256', secret)
      .update(`${header(request, 'x-webhook-timestamp')}.${request.body}`)
      .digest('hex');

  itWithReceiver('signature-1 signs the timestamp, a period and the raw body', async () => {
    const { requests, secret } = await completedPayment();
    for (const request of requests)
      expect(header(request, 'x-webhook-signature-256')).toContain(signature(request, secret));
  });

  itWithReceiver(
    'signature-2 signs with the secret as it was shown, in hex behind sha256=',
    async () => {
      const { requests, secret } = await completedPayment();
      for (const request of requests) {
        const expected = `sha256=${signature(request, secret)}`;
        expect(header(request, 'x-webhook-signature-256')).toBe(expected);
      }
    },
  );
});

describe('Delivery contract', () => {
  itWithReceiver('delivery-1 delivers an event again that was not acknowledged, with its id', () =>
    withBlocked(async (endpoint) => {
      answering(endpoint, (index) => (index === 0 ? { cut: true } : {}));
      await createPayment({}, '0301');
      const [first, second] = await arrived(endpoint, 2);
      expect(second?.body).toBe(first?.body);
    }),
  );

  itOnOwn('delivery-2 keeps no order: an event does not wait for one that is stuck', () =>
    withEndpoint(async (endpoint) => {
      const { pathname } = new URL(endpoint.url);
      receiver().respondWith((request) =>
        request.path === pathname && header(request, 'x-webhook-event') === 'payment.queued'
          ? { status: 500 }
          : {},
      );
      await createPayment();
      const types = await until(
        () => {
          const seen = endpoint.received().map((request) => eventOf(request).eventType);
          return seen.includes('payment.completed') ? seen : null;
        },
        { timeoutMs: arrivalLimitMs },
      );
      expect(types).toContain('payment.processing');
    }),
  );

  itOnOwn('delivery-3 takes anything but a 2xx, and no response in time, for a failure', () =>
    withBlocked(async (endpoint) => {
      const answers: ReceiverAnswer[] = [
        { status: 500 },
        { redirect: `${endpoint.url}/moved` },
        { hang: true },
      ];
      answering(endpoint, (index) => answers[index] ?? { status: 204 });
      await createPayment({}, '0301');
      const requests = await arrived(endpoint, answers.length + 1);
      expect(new Set(requests.map(({ path }) => path)).size).toBe(1);
      await expectNoMore(endpoint, answers.length + 1);
    }),
  );

  itOnOwn('delivery-4 doubles the pause between attempts up to the cap', () =>
    withBlocked(async (endpoint) => {
      answering(endpoint, (index) => ({ status: index < 4 ? 500 : 200 }));
      await createPayment({}, '0301');
      const times = (await arrived(endpoint, 5)).map(({ receivedAt }) => receivedAt.getTime());
      // Pauses of 200, 400, 800 and again 800 ms: never earlier, save for the clock's grain.
      const pausesMs = times.slice(1).map((time, index) => time - (times[index] ?? 0));
      [200, 400, 800, 800].forEach((atLeastMs, index) =>
        expect(pausesMs[index]).toBeGreaterThanOrEqual(atLeastMs - 15),
      );
    }),
  );

  itOnOwn('delivery-5 gives up when the window is over', () =>
    withBlocked(async (endpoint) => {
      answering(endpoint, () => ({ status: 500 }));
      await createPayment({}, '0301');
      await arrived(endpoint, 4);
      const deliveries = await until(
        async () => {
          const found = await data<{ state: string }[]>(
            200,
            'GET',
            `/v1/webhooks/${endpoint.id}/deliveries`,
          );
          return found.every(({ state }) => state === 'failed') ? found : null;
        },
        { timeoutMs: arrivalLimitMs },
      );
      expect(deliveries).toHaveLength(1);
      await expectNoMore(endpoint, endpoint.received().length);
    }),
  );

  itWithReceiver('delivery-6 does not repeat after a 4xx other than 408, 425 and 429', async () => {
    const attempts = async (status: number) =>
      withBlocked(async (endpoint) => {
        answering(endpoint, (index) => ({ status: index === 0 ? status : 200 }));
        await createPayment({}, '0301');
        if ([408, 425, 429].includes(status)) await arrived(endpoint, 2);
        else await arrived(endpoint, 1);
        await expectNoMore(endpoint, endpoint.received().length);
      });
    for (const status of [400, 401, 404, 410, 422, 408, 425, 429]) await attempts(status);
  });
});

/**
 * That nothing comes any more cannot be waited for: but what was due before a later event arrives
 * is there when that one is.
 */
async function expectNoMore(endpoint: Endpoint, count: number): Promise<void> {
  receiver().respondWith(() => ({}));
  const later = await createPayment({}, '0301');
  const isLater = (request: ReceivedRequest) => eventOf(request).data.paymentId === later;
  await until(() => endpoint.received().some(isLater), { timeoutMs: arrivalLimitMs });
  expect(endpoint.received().filter((request) => !isLater(request))).toHaveLength(count);
}
