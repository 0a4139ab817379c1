import { paymentIdOf } from './payment-creation.js';
import { requestedPaymentId } from './payment-links/link-requests.js';

// A request that is repeated after an upgrade would make a second payment under another ID.
it('an Idempotency-Key leads to the same payment in every release', () => {
  const organizationId = '0d4ae1a2-64c1-4d58-93a2-6f0d7d2b6a11';
  expect(paymentIdOf(organizationId, 'order-1042')).toBe('d23387e1-4963-5cce-8d38-63b7620bea65');
  expect(requestedPaymentId(organizationId, 'order-1042')).toBe(
    'b048f185-0574-5e65-92a4-0f7e350b2c38',
  );
});
