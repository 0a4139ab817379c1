/**
 * Erasing people beside two gateways and the other processes of a system on one database. Both gateways have the keys
 * of the person in use when the keys are destroyed.
 */
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { keyAgeMaxMs } from '@pis/keyring';
import {
  type HttpsReceiver,
  openTestPool,
  startHttpsReceiver,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { Api } from './support/api.js';
import { MarkerSearch } from './support/marker-search.js';
import { type Marker, markedParty } from './support/markers.js';
import { answering } from './support/personal-data-run.js';
import { killPisOnce, pis, pisJson, type RunningProcess, startProcess } from './support/process.js';
import { distributedOnPostgres, type System } from './support/systems.js';

// Each command waits until no process uses the keys any more.
jest.setTimeout(240_000);
const startLimitMs = 300_000;
const arrivalLimitMs = 90_000;
/** For the list, which is the directory-projector's work and not the command's. */
const rewriteLimitMs = 30_000;
const lookEveryMs = 50;
const pagesMax = 100;

let system: System;
let other: RunningProcess;
let gateways: readonly [Api, Api];
let receiver: HttpsReceiver;
let pool: pg.Pool;
let endpointId: string;
let organizationId: string;

beforeAll(async () => {
  // Recorded answers hold personal data, too.
  receiver = await startHttpsReceiver({ respondWith: answering() });
  system = await distributedOnPostgres({
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
    // Both gateways are read without a pause.
    PIS_RATE_LIMIT_PER_KEY: '0',
  });
  other = await startProcess('api-gateway', system.environment);
  const apiOf = (url: string) => new Api(url, system.apiKey);
  gateways = [apiOf(system.apiUrl), apiOf(String(other.ready['url']))];
  pool = openTestPool(system.databaseUrl, 2);
  const body = { url: `${receiver.url}/hooks`, subscribedEvents: ['payment.*'] };
  ({ id: endpointId } = await gateways[0].data<{ id: string }>(201, 'POST', '/v1/webhooks', body));
  const { rows } = await pool.query<{ id: string }>(
    'SELECT organization_id AS id FROM originators LIMIT 1',
  );
  organizationId = rows[0]?.id ?? '';
}, startLimitMs);
afterAll(async () => {
  await pool?.end();
  await other?.stop();
  await system?.stop();
  await receiver?.close();
}, startLimitMs);

interface Paid {
  readonly originatorId: string;
  readonly contactId: string;
  readonly paymentIds: readonly string[];
  /** Of the last payment. */
  readonly request: { readonly body: Record<string, unknown>; readonly key: string };
  readonly markers: readonly Marker[];
}

/** Two payments over the gateways in turn, between an individual and a contact, both marked. */
async function paid(tag: string): Promise<Paid> {
  const originator = markedParty({ tag: `${tag}from`, entityType: 'INDIVIDUAL' });
  const contact = markedParty({ tag: `${tag}to`, entityType: 'INDIVIDUAL', bank: 'with RTP' });
  const file = path.join(os.tmpdir(), `pis-${randomUUID()}.json`);
  writeFileSync(file, JSON.stringify(originator.fields));
  const { originatorId } = await pisJson<{ originatorId: string }>(
    ['originator', 'create', '--organization', organizationId, '--file', file],
    system.environment,
  ).finally(() => rmSync(file));
  const [first] = gateways;
  const { contactId } = await first.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
    originatorId,
    ...contact.fields,
  });
  const body = { originatorId, contactId, paymentAmount: 12_345, direction: 'OUTBOUND' };
  const paymentIds: string[] = [];
  let key = '';
  for (const gateway of gateways) {
    key = randomUUID();
    const { body: answer } = await gateway.createPayment(body, key);
    const { paymentId } = answer.data as { paymentId: string };
    paymentIds.push(paymentId);
    await until(async () => (await paymentOf(gateway, paymentId)).status === 'COMPLETED', {
      timeoutMs: arrivalLimitMs,
      everyMs: lookEveryMs,
      what: 'a completed payment',
    });
    const isLast = (text: string) => text.includes(paymentId) && text.includes('payment.completed');
    await receiver.waitFor(({ body: text }) => isLast(text), { timeoutMs: arrivalLimitMs });
  }
  const markers = [...originator.markers, ...contact.markers];
  return { originatorId, contactId, paymentIds, request: { body, key }, markers };
}

function paymentOf(gateway: Api, paymentId: string): Promise<{ readonly status: string }> {
  return gateway.data(200, 'GET', `/v1/payments/${paymentId}`);
}

/** What a gateway opens with the keys for each answer. */
const opened = ({ paymentIds }: Paid): Readonly<Record<string, Read>> => ({
  'a payment': async (gateway) => JSON.stringify(await paymentOf(gateway, paymentIds[0] ?? '')),
  'the feed of events': (gateway) => everyPage(gateway, '/v1/events?limit=100', 'after'),
});

/** What a gateway reads from tables that hold copies. */
const copied = ({ originatorId, contactId }: Paid): Readonly<Record<string, Read>> => ({
  'the list of originators': (gateway) => everyPage(gateway, '/v1/originators/?limit=100'),
  'the list of contacts': (gateway) =>
    everyPage(gateway, `/v1/contacts/?originatorId=${originatorId}&limit=100`),
  'the list of payments': (gateway) =>
    everyPage(gateway, `/v1/payments/?contactId=${contactId}&limit=100`),
  'the answers of receivers': async (gateway) => {
    const deliveries = await gateway.data<{ deliveryId: string }[]>(
      200,
      'GET',
      `/v1/webhooks/${endpointId}/deliveries?limit=100`,
    );
    const details = deliveries.map(({ deliveryId }) =>
      gateway.data(200, 'GET', `/v1/webhooks/deliveries/${deliveryId}`),
    );
    return JSON.stringify(await Promise.all(details));
  },
});

type Read = (gateway: Api) => Promise<string>;

/** All pages as one text. */
async function everyPage(gateway: Api, first: string, parameter = 'cursor'): Promise<string> {
  const texts: string[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < pagesMax; pages += 1) {
    const at: string = cursor === null ? first : `${first}&${parameter}=${cursor}`;
    const { status, body } = await gateway.call('GET', at);
    expect(status).toBe(200);
    texts.push(JSON.stringify(body));
    const page = body.meta as { pagination?: { nextCursor: string | null } };
    const next = page.pagination?.nextCursor ?? null;
    // The feed always has a cursor, also behind its last event.
    if (next === null || next === cursor || (body.data as unknown[]).length === 0) break;
    cursor = next;
  }
  return texts.join('\n');
}

/** `gateway 1: a payment` for each answer with one of the markers. */
async function showing(
  reads: Readonly<Record<string, Read>>,
  markers: readonly Marker[],
): Promise<readonly string[]> {
  const search = new MarkerSearch(markers);
  const answers = gateways.flatMap((gateway, index) =>
    Object.entries(reads).map(async ([what, read]) => {
      const found = search.in(await read(gateway));
      return found.length > 0 ? [`gateway ${index + 1}: ${what}`] : [];
    }),
  );
  return (await Promise.all(answers)).flat();
}

const everyAnswer = (reads: Readonly<Record<string, Read>>) =>
  [1, 2].flatMap((number) => Object.keys(reads).map((what) => `gateway ${number}: ${what}`));

/** Reads at both gateways without a pause, so that they use their keys all the time. */
function reading(reads: Readonly<Record<string, Read>>, markers: readonly Marker[]) {
  const seen: { readonly sinceMs: number; readonly what: string }[] = [];
  const stop = new AbortController();
  const loop = async () => {
    while (!stop.signal.aborted) {
      const sinceMs = performance.now();
      for (const what of await showing(reads, markers)) seen.push({ sinceMs, what });
    }
  };
  const ended = loop();
  return {
    /** What was shown by requests that began after this moment. */
    shownAfter: (ms: number) =>
      new Set(seen.flatMap((one) => (one.sinceMs > ms ? [one.what] : []))),
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
}

const eraseArguments = (kind: string, id: string) => [
  ...[kind, 'erase', '--id', id, '--reason', 'asked by letter', '--override-retention'],
];

async function areKeysDestroyed(owner: string): Promise<boolean> {
  const { rows } = await pool.query(
    'SELECT FROM data_keys WHERE owner = $1 AND destroyed_at IS NOT NULL',
    [owner],
  );
  return rows.length > 0;
}

it.each(['contact', 'originator'] as const)(
  'no gateway shows anything of an erased %s from the end of the command on',
  async (kind) => {
    const party = await paid(kind.slice(0, 3));
    const { paymentIds, request } = party;
    const id = kind === 'contact' ? party.contactId : party.originatorId;
    const tag = kind === 'contact' ? 'conto' : 'orifrom';
    const markers = party.markers.filter((marker) => marker.tag === tag);
    const reads = { ...opened(party), ...copied(party) };
    // Each read shows something of the two.
    expect(await showing(reads, party.markers)).toEqual(everyAnswer(reads));
    const [, second] = gateways;
    const cursors = await Promise.all(
      ['payments', 'contacts'].map(async (list) => {
        const filter = list === 'payments' ? `contactId=${party.contactId}&` : '';
        const at = `/v1/${list}/?${filter}limit=1`;
        const { body } = await second.call('GET', at);
        const { nextCursor } = (body.meta as { pagination: { nextCursor: string | null } })
          .pagination;
        return nextCursor === null ? null : `${at}&cursor=${nextCursor}`;
      }),
    );
    const traffic = reading(reads, markers);
    const { code, stderr } = await pis(eraseArguments(kind, id), system.environment);
    const endedMs = performance.now();
    expect([code, stderr]).toEqual([0, '']);
    expect(await showing(reads, markers)).toEqual([]);

    // What a client repeats, goes on with or orders again at the other gateway.
    const search = new MarkerSearch(markers);
    const repeated = await second.createPayment(request.body, request.key);
    expect(repeated).toMatchObject({ status: 201, body: { data: { paymentId: paymentIds[1] } } });
    const answers = [JSON.stringify(repeated.body)];
    for (const at of cursors) {
      if (at === null) continue;
      const { status, body } = await second.call('GET', at);
      expect(status).toBe(200);
      answers.push(JSON.stringify(body));
    }
    const sent = receiver.requests.length;
    const deliveries = await second.data<{ deliveryId: string; paymentId: string }[]>(
      200,
      'GET',
      `/v1/webhooks/${endpointId}/deliveries?limit=100`,
    );
    const again = deliveries.filter(({ paymentId }) => paymentIds.includes(paymentId));
    expect(again.length).toBeGreaterThanOrEqual(6);
    for (const { deliveryId } of again)
      await second.data(200, 'POST', `/v1/webhooks/deliveries/${deliveryId}/redeliver`);
    await until(() => receiver.requests.length >= sent + again.length, {
      timeoutMs: arrivalLimitMs,
      everyMs: lookEveryMs,
      what: 'deliveries that were ordered again',
    });
    const bodies = receiver.requests.slice(sent).map(({ body }) => body);
    for (const body of bodies) expect(body).toContain('"erased":true');
    expect(search.in([...answers, ...bodies].join('\n'))).toEqual([]);

    await traffic.stop();
    expect([...traffic.shownAfter(endedMs)]).toEqual([]);
  },
);

it('no gateway opens anything 5 seconds after the keys were destroyed, whatever became of the command', async () => {
  const party = await paid('killed');
  const { contactId } = party;
  const markers = party.markers.filter((marker) => marker.tag === 'killedto');
  const traffic = reading(opened(party), markers);
  let destroyedMs = Infinity;
  await killPisOnce(eraseArguments('contact', contactId), system.environment, async () => {
    await until(() => areKeysDestroyed(`contact:${contactId}`), {
      timeoutMs: arrivalLimitMs,
      everyMs: lookEveryMs,
      what: 'destroyed keys',
    });
    destroyedMs = performance.now();
  });
  // Nobody has recorded the erasure.
  const { data: erasures } = await pisJson<{ data: unknown[] }>(
    ['erasures', 'list'],
    system.environment,
  );
  expect(erasures).toMatchObject([{ kind: 'contact', id: contactId, phase: 'confirmed' }]);
  await until(() => performance.now() > destroyedMs + 2 * keyAgeMaxMs, {
    timeoutMs: arrivalLimitMs,
    everyMs: lookEveryMs,
  });
  await traffic.stop();
  expect(traffic.shownAfter(0).size).toBeGreaterThan(0);
  expect([...traffic.shownAfter(destroyedMs + keyAgeMaxMs)]).toEqual([]);

  const { code } = await pis(eraseArguments('contact', contactId), system.environment);
  expect(code).toBe(0);
  const reads = { ...opened(party), ...copied(party) };
  await until(async () => (await showing(reads, markers)).length === 0, {
    timeoutMs: rewriteLimitMs,
    everyMs: lookEveryMs,
    what: 'lists without the person',
  });
});
