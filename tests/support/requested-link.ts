/** A payment that an operator requests by link. */
import { randomUUID } from 'node:crypto';
import type { DashboardScenario } from './dashboard.js';

export interface RequestedLink {
  readonly paymentId: string;
  readonly url: string;
}

export async function requestedLink(scenario: DashboardScenario): Promise<RequestedLink> {
  const operator = await scenario.client('operator');
  return operator.data<RequestedLink>('POST', '/payments', {
    originatorId: scenario.system.originatorId,
    direction: 'INBOUND',
    recipient: { entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
    paymentAmount: 12_345,
    idempotencyKey: randomUUID(),
  });
}
