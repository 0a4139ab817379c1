/** Webhooks of payments that ended well, as a receiver gets them. */
import type { HttpsReceiver } from '@pis/local-servers/testing';

/** The IDs of the `payment.completed` that arrive from now on, by payment. */
export function completedWebhooks(
  receiver: HttpsReceiver,
): ReadonlyMap<string, ReadonlySet<string>> {
  const told = new Map<string, Set<string>>();
  receiver.respondWith(({ body }) => {
    const { id, eventType, data } = JSON.parse(body) as {
      readonly id: string;
      readonly eventType: string;
      readonly data: { readonly paymentId: string };
    };
    if (eventType === 'payment.completed')
      told.set(data.paymentId, (told.get(data.paymentId) ?? new Set()).add(id));
    return {};
  });
  return told;
}
