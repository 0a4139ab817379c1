/** Contacts, payments and endpoints for the tests, each test its own. */
import { randomInt, randomUUID } from 'node:crypto';
import type {
  Contact,
  CreatedWebhookEndpoint,
  Originator,
  Payment,
  PaymentListItem,
} from '@pis/client';
import { until } from '@pis/local-servers/testing';
import { type Answer, call, data } from './http.js';
import { arrivalLimitMs, type KeyKind, receiver } from './target.js';

export type Json = Readonly<Record<string, unknown>>;

export const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
export const unknownId = '0197a5f0-0000-7000-8000-00000000ffff';

/** Real ones: their checksums are right. */
export const routingNumber = '021000021';
export const otherRoutingNumber = '011401533';

export async function originators(as: KeyKind = 'full_access'): Promise<Originator[]> {
  return data(200, 'GET', '/v1/originators/', { as });
}

export async function originatorId(as: KeyKind = 'full_access'): Promise<string> {
  const first = (await originators(as))[0];
  if (first === undefined) throw new Error('the organization has no originator');
  return first.originatorId;
}

/** Of our own system as of every fresh sandbox: the demo organization has two. */
export async function secondOriginatorId(): Promise<string> {
  const second = (await originators())[1];
  if (second === undefined) throw new Error('the organization needs two originators');
  return second.originatorId;
}

/** A number of twelve digits that ends as the simulated bank understands it; by default it succeeds. */
export function accountNumber(ending = '1234'): string {
  return `${randomInt(10_000_000, 99_999_999)}${ending}`;
}

export function bankAccount(ending?: string): Json {
  return {
    subType: 'CHECKING',
    achRoutingNumber: routingNumber,
    achAccountNumber: accountNumber(ending),
  };
}

/** The body of a contact nobody has created yet. */
export async function contactBody(changes: Json = {}): Promise<Json> {
  return {
    originatorId: await originatorId(),
    entityType: 'INDIVIDUAL',
    firstName: 'Ada',
    lastName: 'Lovelace',
    email: `ada.${randomUUID()}@example.com`,
    bankAccount: bankAccount(),
    ...changes,
  };
}

export async function createContact(changes: Json = {}): Promise<string> {
  const body = await contactBody(changes);
  return (await data<{ contactId: string }>(201, 'POST', '/v1/contacts/', { body })).contactId;
}

export async function contactOf(contactId: string): Promise<Contact> {
  const contacts = await data<Contact[]>(200, 'GET', '/v1/contacts/');
  const found = contacts.find((contact) => contact.contactId === contactId);
  if (found === undefined) throw new Error(`no contact ${contactId}`);
  return found;
}

/** The body of a payment to a fresh contact. */
export async function paymentBody(changes: Json = {}, ending?: string): Promise<Json> {
  return {
    originatorId: await originatorId(),
    contactId: changes['contactId'] ?? (await createContact({ bankAccount: bankAccount(ending) })),
    paymentAmount: 12_345,
    direction: 'OUTBOUND',
    ...changes,
  };
}

export function postPayment(
  body: unknown,
  idempotencyKey: string = randomUUID(),
  as: KeyKind = 'full_access',
): Promise<Answer> {
  const headers = { 'idempotency-key': idempotencyKey };
  return call('POST', '/v1/payments/', { body, headers, as });
}

/** Of a payment that was accepted. */
export function idOf({ status, text, body }: Answer): string {
  if (status !== 201) throw new Error(`${status} ${text}`);
  return (body.data as { paymentId: string }).paymentId;
}

/** Creates a payment to a contact whose account ends like this; its id. */
export async function createPayment(changes: Json = {}, ending?: string): Promise<string> {
  return idOf(await postPayment(await paymentBody(changes, ending)));
}

export function getPayment(paymentId: string): Promise<Payment> {
  return data(200, 'GET', `/v1/payments/${paymentId}`);
}

/** The payment, as soon as it has come to this status. */
export function inStatus(paymentId: string, status: Payment['status']): Promise<Payment> {
  return until(
    async () => {
      const payment = await getPayment(paymentId);
      return payment.status === status ? payment : null;
    },
    { timeoutMs: arrivalLimitMs, what: `payment ${paymentId} in ${status}` },
  );
}

/** A fresh payment in this status, by the outcome that the ending stands for. */
export async function paymentIn(
  status: Payment['status'],
  ending?: string,
  changes: Json = {},
): Promise<Payment> {
  return inStatus(await createPayment(changes, ending), status);
}

export function simulate(paymentId: string, outcome: Json): Promise<Answer> {
  return call('POST', `/v1/sandbox/payments/${paymentId}/simulate`, { body: outcome });
}

export function listPayments(query: string): Promise<PaymentListItem[]> {
  return data(200, 'GET', `/v1/payments/?${query}`);
}

export function idsOf(items: readonly { readonly paymentId: string }[]): string[] {
  return items.map(({ paymentId }) => paymentId);
}

export interface Endpoint extends CreatedWebhookEndpoint {
  /** What it received so far. */
  received(): ReturnType<typeof receiver>['requests'];
}

/** An endpoint at our receiver for as long as `use` takes: their number is limited. */
export async function withEndpoint<Result>(
  use: (endpoint: Endpoint) => Promise<Result>,
  changes: Json = {},
): Promise<Result> {
  const path = `/${randomUUID()}`;
  const endpoint = await data<CreatedWebhookEndpoint>(201, 'POST', '/v1/webhooks', {
    body: { url: `${receiver().url}${path}`, subscribedEvents: ['payment.*'], ...changes },
  });
  const received = () => receiver().requests.filter((request) => request.path.startsWith(path));
  try {
    return await use({ ...endpoint, received });
  } finally {
    await call('DELETE', `/v1/webhooks/${endpoint.id}`);
  }
}

/** An endpoint that nothing is ever sent to: its host does not exist. */
export async function createEndpoint(changes: Json = {}): Promise<CreatedWebhookEndpoint> {
  return data(201, 'POST', '/v1/webhooks', {
    body: {
      url: 'https://receiver.invalid/hook',
      subscribedEvents: ['payment.failed'],
      ...changes,
    },
  });
}

export async function deleteEndpoint(id: string): Promise<void> {
  await data(204, 'DELETE', `/v1/webhooks/${id}`);
}
