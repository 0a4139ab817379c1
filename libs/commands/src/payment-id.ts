import { v5 as uuidV5 } from 'uuid';

/** Id of the payment that this Idempotency-Key created or will create. Each organization has its own keys. */
export function paymentIdOf(organizationId: string, idempotencyKey: string): string {
  return uuidV5(idempotencyKey, organizationId);
}
