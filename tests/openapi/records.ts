/** Records of the account that stand in for those of the document's examples. */
import { until } from '@pis/local-servers/testing';
import type { Api } from '../support/api.js';

export interface Document {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly parameters?: readonly Parameter[] }>>>
  >;
}
interface Parameter {
  readonly name?: string;
  readonly in?: string;
  readonly example?: unknown;
}

/** Ends in 0502: its payments stay in PROCESSING, so that they can be moved along by hand. */
const bankAccount = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '4417000502',
};

/** A start of the whole system on a busy machine is behind it: this is one payment and one delivery, or one export. */
const doneWithinMs = 60_000;

/** By the id in the examples, the id of a record of the same kind. */
export async function recordsForExamples(
  document: Document,
  api: Api,
  receiverUrl: string,
): Promise<Readonly<Record<string, string>>> {
  const [originator] = await api.data<readonly { readonly originatorId: string }[]>(
    200,
    'GET',
    '/v1/originators/',
  );
  if (originator === undefined) throw new Error('the account has no originator');
  const { originatorId } = originator;
  // Its deliveries can be sent again as long as it is there, and the example of DELETE deletes the other.
  const kept = await endpoint(api, `${receiverUrl}/kept`, ['payment.queued']);
  const id = await endpoint(api, `${receiverUrl}/records`, ['payment.*']);
  const { contactId } = await api.data<{ readonly contactId: string }>(
    201,
    'POST',
    '/v1/contacts/',
    {
      ...{ originatorId, entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Moreno' },
      ...{ email: 'ada.moreno@example.com', bankAccount },
    },
  );
  const { paymentId } = await api.data<{ readonly paymentId: string }>(
    201,
    'POST',
    '/v1/payments/',
    { originatorId, contactId, paymentAmount: 125_000, direction: 'OUTBOUND' },
    { 'Idempotency-Key': 'the payment of the examples' },
  );
  const { replayId } = await api.data<{ readonly replayId: string }>(
    202,
    'POST',
    `/v1/webhooks/${id}/replay`,
    { from: '2026-01-01' },
  );
  const deliveryId = await deliveredTo(kept, api);
  await deliveredTo(id, api);
  const records = { originatorId, id, contactId, paymentId, deliveryId, replayId };
  return Object.fromEntries(
    Object.entries(records).map(([name, record]) => [exampleOf(document, name), record]),
  );
}

/** As `recordsForExamples`, of an export with its file. */
export async function exportForExamples(
  document: Document,
  api: Api,
): Promise<Readonly<Record<string, string>>> {
  const exportId = await completedExport(api);
  return { [exampleOf(document, 'exportId')]: exportId };
}

export async function completedExport(api: Api): Promise<string> {
  const body = { kind: 'payments', format: 'csv' };
  const { exportId } = await api.data<{ readonly exportId: string }>(
    ...([202, 'POST', '/v1/exports', body] as const),
  );
  const isCompleted = async () => {
    const { status } = await api.data<{ readonly status: string }>(
      ...([200, 'GET', `/v1/exports/${exportId}`] as const),
    );
    return status === 'completed';
  };
  await until(isCompleted, { timeoutMs: doneWithinMs, what: 'a completed export' });
  return exportId;
}

async function endpoint(api: Api, url: string, subscribedEvents: readonly string[]) {
  const body = { url, subscribedEvents };
  const { id } = await api.data<{ readonly id: string }>(201, 'POST', '/v1/webhooks', body);
  return id;
}

async function deliveredTo(webhookId: string, api: Api): Promise<string> {
  const { deliveryId } = await until(
    async () => {
      const deliveries = await api.data<readonly { readonly deliveryId: string }[]>(
        200,
        'GET',
        `/v1/webhooks/${webhookId}/deliveries?state=delivered`,
      );
      return deliveries[0];
    },
    { timeoutMs: doneWithinMs, what: 'the payment of the examples is delivered' },
  );
  return deliveryId;
}

function exampleOf(document: Document, name: string): string {
  const parameters = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ parameters: declared = [] }) => declared);
  const found = parameters.find((parameter) => parameter.in === 'path' && parameter.name === name);
  if (typeof found?.example !== 'string') throw new Error(`${name} has no example`);
  return found.example;
}
