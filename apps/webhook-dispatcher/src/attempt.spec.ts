import { randomUUID } from 'node:crypto';
import { testKeyring } from '@pis/keyring/testing';
import type { Delivery } from '@pis/webhook-deliveries';
import { attemptDelivery } from './attempt.js';

const windowEndsAt = new Date('2026-03-01T12:00:00.000Z');
const endpointId = randomUUID();
const delivery: Delivery = {
  ...{ id: randomUUID(), organizationId: randomUUID(), endpointId, eventType: 'payment.queued' },
  ...{ occurredAt: new Date(0), createdAt: new Date(0), windowEndsAt, body: '{}', attempts: 3 },
  ...{ isReplay: false, redeliveryRequests: 0, traceparent: null },
};
const disabledEndpoint = {
  ...{ endpointId, url: 'https://example.com/', label: null, subscribedEvents: [] },
  ...{
    sealedSecret: '',
    secretSince: '',
    previousSecret: null,
    enabled: false,
    createdAt: '',
    updatedAt: '',
  },
};

/** The outcome of an attempt at this time, while the endpoint is disabled. */
function attemptAt(now: Date) {
  const deps: Parameters<typeof attemptDelivery>[0] = {
    endpointOf: () => Promise.resolve(disabledEndpoint),
    keyring: testKeyring(),
    client: {
      post: () => Promise.reject(new Error('nothing is sent')),
      close: () => Promise.resolve(),
    },
    retryPolicy: { initialMs: 1, maxMs: 1 },
    windowMsOf: () => 1,
    now: () => now,
    random: () => 0,
    observeAttempt: () => undefined,
  };
  return attemptDelivery(deps, delivery, () => true, new AbortController().signal);
}

describe('The retry window of a delivery', () => {
  it('lasts up to and including its end', async () => {
    expect(await attemptAt(windowEndsAt)).toBe('disabled');
    const finishedAt = new Date(windowEndsAt.getTime() + 1);
    expect(await attemptAt(finishedAt)).toEqual({ kind: 'windowEnded', attempt: null, finishedAt });
  });
});
