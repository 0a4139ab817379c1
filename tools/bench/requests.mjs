/** The requests that the bench sends: what a client sends, with distinct keys. */
import { randomUUID } from 'node:crypto';
import { answered } from './answers.mjs';

/** A contact that can be paid; the result says where and what to POST. */
export async function createPayable({ url, apiKey }) {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const originators = await call(url, headers, 'GET', '/v1/originators/');
  const [{ originatorId }] = originators.data;
  const contact = await call(url, headers, 'POST', '/v1/contacts/', {
    originatorId,
    entityType: 'BUSINESS',
    companyName: 'Bench Supplies',
    email: `bench.${randomUUID()}@example.com`,
    bankAccount: {
      subType: 'CHECKING',
      achRoutingNumber: '021000021',
      achAccountNumber: '000123456789',
    },
  });
  const payment = {
    originatorId,
    contactId: contact.data.contactId,
    paymentAmount: 12_345,
    direction: 'OUTBOUND',
    paymentNote: 'Invoice 42',
    externalPaymentId: 'bench',
  };
  return { url, headers, payment };
}

export async function call(url, headers, method, path, body) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok)
    throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

export function paymentLoad({ url, headers, payment }, { connections, seconds, warmupSeconds }) {
  return {
    origin: url,
    method: 'POST',
    path: '/v1/payments/',
    headers,
    body: JSON.stringify(payment),
    keyed: true,
    connections,
    seconds,
    warmupSeconds,
  };
}

const pageSize = 100;
const deepPages = 50;

/** First page and a deep page, one client, once the list holds `atLeast` payments. */
export async function listLatency(target, { atLeast, connections }) {
  await fill(target, { atLeast, connections });
  const { url, headers } = target;
  let cursor = null;
  for (let page = 0; page < deepPages; page += 1) {
    const path = `/v1/payments/?limit=${pageSize}${cursor === null ? '' : `&cursor=${cursor}`}`;
    const next = (await call(url, headers, 'GET', path)).meta.pagination.nextCursor;
    if (next === null) break;
    cursor = next;
  }
  const page = (path) => ({
    origin: url,
    method: 'GET',
    path,
    headers,
    connections: 1,
    seconds: 5,
    warmupSeconds: 1,
  });
  return {
    payments: atLeast,
    firstPage: await answered(200, page('/v1/payments/?limit=20')),
    deepPage: await answered(200, page(`/v1/payments/?limit=20&cursor=${cursor}`)),
  };
}

/** Creates payments until the list holds at least so many. */
async function fill(target, { atLeast, connections }) {
  for (;;) {
    const missing = atLeast - (await listed(target));
    if (missing <= 0) return;
    const load = paymentLoad(target, { connections, seconds: 10, warmupSeconds: 0 });
    await answered(201, load);
  }
}

/** How many payments the list can show, as the projector counts them. */
async function listed({ databaseUrl }) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT count(*)::int AS payments FROM payments');
    return rows[0].payments;
  } finally {
    await client.end();
  }
}
