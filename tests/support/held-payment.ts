/** A payment that stays PROCESSING until somebody moves it along by hand. */
import { randomUUID } from 'node:crypto';
import { until } from '@pis/local-servers/testing';
import type { Api } from './api.js';
import { payable } from './payable.js';

const processingLimitMs = 240_000;
/** The simulated bank takes a transfer to this account, and confirms it only when it is told to. */
const heldAccount = '000111220502';

/** @param lastName of the contact, whose first name is Patience */
export async function heldPayment(api: Api, lastName: string): Promise<string> {
  const payment = await payable(api);
  const { contactId } = await api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
    originatorId: payment['originatorId'],
    entityType: 'INDIVIDUAL',
    firstName: 'Patience',
    lastName,
    email: `${randomUUID()}@example.com`,
    bankAccount: {
      subType: 'CHECKING',
      achRoutingNumber: '021000021',
      achAccountNumber: heldAccount,
    },
  });
  const created = await api.createPayment({ ...payment, contactId }, randomUUID());
  const { paymentId } = created.body.data as { paymentId: string };
  const path = `/v1/payments/${paymentId}`;
  await until(
    async () => (await api.data<{ status: string }>(200, 'GET', path)).status === 'PROCESSING',
    { timeoutMs: processingLimitMs },
  );
  return paymentId;
}
