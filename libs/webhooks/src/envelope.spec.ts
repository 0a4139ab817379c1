import { paymentEnvelope } from './envelope.js';

it('A payment event is delivered in the envelope of the spec, created when the transition happened', () => {
  const event = {
    eventId: 'e1',
    eventType: 'payment.completed',
    organizationId: 'o1',
    position: '7',
    occurredAt: '2026-11-21T10:00:00.000Z',
    data: { paymentId: 'p1', previousStatus: 'PROCESSING' },
  };
  expect(paymentEnvelope(event)).toEqual({
    id: 'e1',
    version: '1',
    eventType: 'payment.completed',
    createdAt: '2026-11-21T10:00:00.000Z',
    synthetic: false,
    data: { paymentId: 'p1', previousStatus: 'PROCESSING' },
  });
});
