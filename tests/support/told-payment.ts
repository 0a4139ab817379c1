/** The main job of the whole system, once: a payment, its execution, and a webhook that its receiver can verify. */
import { randomUUID } from 'node:crypto';
import { type HttpsReceiver, until } from '@pis/local-servers/testing';
import { verify } from '@pis/webhooks';
import type { Api } from './api.js';
import { payable } from './payable.js';

/** Fails unless the payment is accepted, becomes COMPLETED, and is announced by a signed webhook within the limit each. */
export async function expectToldPayment(
  api: Api,
  receiver: HttpsReceiver,
  timeoutMs: number,
): Promise<void> {
  const endpoint = { url: `${receiver.url}/hook`, subscribedEvents: ['payment.completed'] };
  const { secret } = await api.data<{ secret: string }>(201, 'POST', '/v1/webhooks', endpoint);
  const created = await api.createPayment(await payable(api), randomUUID());
  expect(created.status).toBe(201);
  const { paymentId } = created.body.data as { paymentId: string };
  const status = async () =>
    (await api.data<{ status: string }>(200, 'GET', `/v1/payments/${paymentId}`)).status;
  await until(async () => (await status()) === 'COMPLETED', { timeoutMs });
  const { headers, body } = await receiver.waitFor((one) => one.body.includes(paymentId), {
    timeoutMs,
  });
  expect(verify(body, headers, secret, new Date())).toBe(true);
}
