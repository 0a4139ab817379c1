import { paymentEnvelope, stampedBody } from './envelope.js';

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

it('A statement event is stamped anew at each signing, a payment event never', () => {
  const at = '2026-11-22T00:00:00.000Z';
  const body = '{"id":"e1","createdAt":"2026-11-21T10:00:00.000Z","data":{"createdAt":"then"}}';
  expect(stampedBody(body, 'payment.completed', at)).toBe(body);
  expect(JSON.parse(stampedBody(body, 'statement.generated', at))).toEqual({
    id: 'e1',
    createdAt: at,
    data: { createdAt: 'then' },
  });
});
