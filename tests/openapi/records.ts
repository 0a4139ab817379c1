/** Records of the account that stand in for those of the document's examples. */
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
  const { id } = await api.data<{ readonly id: string }>(201, 'POST', '/v1/webhooks', {
    url: `${receiverUrl}/records`,
    subscribedEvents: ['payment.*'],
  });
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
  const records = { originatorId, id, contactId, paymentId };
  return Object.fromEntries(
    Object.entries(records).map(([name, record]) => [exampleOf(document, name), record]),
  );
}

function exampleOf(document: Document, name: string): string {
  const parameters = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ parameters: declared = [] }) => declared);
  const found = parameters.find((parameter) => parameter.in === 'path' && parameter.name === name);
  if (typeof found?.example !== 'string') throw new Error(`${name} has no example`);
  return found.example;
}
