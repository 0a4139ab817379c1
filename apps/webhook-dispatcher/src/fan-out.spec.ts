import { randomUUID } from 'node:crypto';
import type { PaymentIntegrationEvent } from '@pis/contracts';
import type { EndpointDirectory } from './endpoint-directory.js';
import { type FanOut, fanOutsKnownSince } from '@pis/webhook-deliveries';
import { fanOut } from './fan-out.js';

const now = new Date('2026-11-22T12:00:00.000Z');
const dayMs = 24 * 3_600_000;
const kept = { retentionDays: 30, windowMs: 14 * dayMs };

async function deliveriesOf(
  occurredAt: string,
  waitingSince: Date | null = null,
): Promise<{ made: number; tooOld: number }> {
  const counted = { made: 0, tooOld: 0 };
  const receivers = [{ endpointId: '7d0f5a51-6a0f-4d39-8c0e-000000000001' }];
  const event = {
    eventId: '7d0f5a51-6a0f-4d39-8c0e-000000000002',
    eventType: 'payment.queued',
    organizationId: 'o',
    position: '1',
    occurredAt,
    data: { paymentId: 'p' },
  } as unknown as PaymentIntegrationEvent;
  await fanOut(
    {
      endpoints: {
        receiversOf: () => Promise.resolve(receivers),
      } as unknown as EndpointDirectory,
      deliver: (made: FanOut) => Promise.resolve(void (counted.made += made.receivers.length)),
      now: () => now,
      windowMsOf: () => dayMs,
      knownSince: (at) => fanOutsKnownSince(at, kept),
      onTooOld: () => (counted.tooOld += 1),
      erasedAmong: () => Promise.resolve(new Set()),
    },
    event,
    waitingSince,
  );
  return counted;
}

it('an event makes no deliveries when it is unknown whether it was delivered', async () => {
  expect(await deliveriesOf('2026-11-22T11:00:00.000Z')).toEqual({ made: 1, tooOld: 0 });
  // 30 days, a window of 14, and the day of today: one day less than the rows are kept.
  expect(await deliveriesOf('2026-10-09T00:00:00.000Z')).toEqual({ made: 1, tooOld: 0 });
  expect(await deliveriesOf('2026-10-08T23:59:59.999Z')).toEqual({ made: 0, tooOld: 1 });
});

it('an event that was deferred in time makes its deliveries a year later', async () => {
  const occurredAt = '2025-11-20T11:00:00.000Z';
  const waitingSince = new Date('2025-11-21T11:00:00.000Z');
  expect(await deliveriesOf(occurredAt, waitingSince)).toEqual({ made: 1, tooOld: 0 });
  // It was too old already when it was deferred.
  expect(await deliveriesOf('2025-10-01T00:00:00.000Z', waitingSince)).toEqual({
    made: 0,
    tooOld: 1,
  });
});

it('an event from before an erasure is delivered without the personal data of the erased party', async () => {
  const [originatorId, contactId] = [randomUUID(), randomUUID()];
  const party = (id: string) => ({
    id,
    firstName: 'Ada',
    lastName: 'Moreno',
    companyName: null,
    entityType: 'INDIVIDUAL',
    bankAccount: { bankName: 'Example Bank', achAccountNumber: '******4321' },
  });
  const bodies: string[] = [];
  const event = {
    eventId: randomUUID(),
    eventType: 'payment.completed',
    organizationId: randomUUID(),
    position: '1',
    occurredAt: now.toISOString(),
    data: { paymentId: randomUUID(), originator: party(originatorId), contact: party(contactId) },
  } as unknown as PaymentIntegrationEvent;
  await fanOut(
    {
      endpoints: {
        receiversOf: () => Promise.resolve([{ endpointId: randomUUID() }]),
      } as unknown as EndpointDirectory,
      deliver: ({ body }) => Promise.resolve(void bodies.push(body)),
      now: () => now,
      windowMsOf: () => dayMs,
      knownSince: (at) => fanOutsKnownSince(at, kept),
      onTooOld: () => undefined,
      erasedAmong: (ids) => Promise.resolve(new Set(ids.filter((id) => id === contactId))),
    },
    event,
  );
  expect(bodies.map((body) => JSON.parse(body) as unknown)).toEqual([
    expect.objectContaining({
      data: {
        ...event.data,
        contact: {
          id: contactId,
          firstName: null,
          lastName: null,
          companyName: null,
          entityType: 'INDIVIDUAL',
          bankAccount: null,
          erased: true,
        },
      },
    }),
  ]);
});
