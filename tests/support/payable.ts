/** A fresh contact to pay, and the request that pays it. */
import { randomUUID } from 'node:crypto';
import type { PaymentCreateRequest, PisClient } from '@pis/client';
import { until } from '@pis/local-servers/testing';
import type { Api } from './api.js';

const originatorLimitMs = 120_000;
const completedLimitMs = 30_000;
const routingNumber = '021000021';

export async function paymentTo(
  client: PisClient,
  achAccountNumber = '000123456789',
): Promise<PaymentCreateRequest> {
  const { data: originators } = await client.originators.page({ limit: 1 });
  const originatorId = originators[0]?.originatorId ?? '';
  const { contactId } = await client.contacts.create({
    originatorId,
    entityType: 'INDIVIDUAL',
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: `ada.${randomUUID()}@example.com`,
    bankAccount: { subType: 'CHECKING', achRoutingNumber: routingNumber, achAccountNumber },
  });
  return { originatorId, contactId, paymentAmount: 12_345, direction: 'OUTBOUND' };
}

export async function completed(client: PisClient, paymentIds: readonly string[]): Promise<void> {
  for (const paymentId of paymentIds)
    await until(async () => (await client.payments.get(paymentId)).status === 'COMPLETED', {
      timeoutMs: completedLimitMs,
    });
}

/** Like paymentTo, without the client. Waits until the originator exists. */
export async function payable(api: Api): Promise<Record<string, unknown>> {
  const { originatorId } = await until(
    async () => (await api.data<{ originatorId: string }[]>(200, 'GET', '/v1/originators/'))[0],
    { timeoutMs: originatorLimitMs, what: 'the originator in the list' },
  );
  const { contactId } = await api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
    originatorId,
    entityType: 'BUSINESS',
    companyName: 'Supplies Ltd',
    email: `${randomUUID()}@example.com`,
    bankAccount: {
      subType: 'CHECKING',
      achRoutingNumber: routingNumber,
      achAccountNumber: '000111222333',
    },
  });
  return { originatorId, contactId, paymentAmount: 100, direction: 'OUTBOUND' };
}
