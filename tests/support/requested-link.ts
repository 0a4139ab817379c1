/** A payment that an operator requests by link. */
import { randomUUID } from 'node:crypto';
import type { Dashboard, DashboardScenario } from './dashboard.js';

export interface RequestedLink {
  readonly paymentId: string;
  readonly url: string;
}

export async function requestedLink(scenario: DashboardScenario): Promise<RequestedLink> {
  const operator = await scenario.client('operator');
  return linked(operator, {
    originatorId: scenario.system.originatorId,
    direction: 'INBOUND',
    recipient: { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
    paymentAmount: 12_345,
    idempotencyKey: randomUUID(),
  });
}

/** Requests a payment, and is shown its link. @param request the body of `createPayment` */
export async function linked(client: Dashboard, request: object): Promise<RequestedLink> {
  const { paymentId } = await client.data<{ paymentId: string }>('POST', '/payments', request);
  const { url } = await client.data<{ url: string }>('POST', `/payments/${paymentId}/link`);
  return { paymentId, url };
}
