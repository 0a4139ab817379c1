/**
 * What a list of payments costs as the table grows: the same requests to two gateways, one over few
 * payments and one over many, in turn. A page must not cost more because there are more payments.
 */
import { migrate } from '@pis/read-models';
import pg from 'pg';
import { say } from '../workspace.mjs';
import { createKeys } from './keys.mjs';
import { busyContactId, busyLabel, contactIdOf, originatorIdOf } from './payment-rows.mjs';
import { insertPayments, middle } from './payment-rows.mjs';
import { measure, startApp } from './processes.mjs';
import { call } from './requests.mjs';
import { appSettings, withPostgres } from './with-postgres.mjs';

const ratioMax = 2;
const full = {
  rows: { small: 10_000, large: 1_000_000 },
  load: { rounds: 5, requests: 120, warmup: 20 },
};
const short = {
  rows: { small: 1_000, large: 10_000 },
  load: { rounds: 3, requests: 20, warmup: 8 },
};

/** Each filter alone, and together: combinations that are common, rare and never occur. */
const filters = {
  'no filter': {},
  'status, common': { status: 'COMPLETED' },
  'status, rare': { status: 'BLOCKED' },
  originator: { originatorId: originatorIdOf(7) },
  contact: { contactId: contactIdOf(7) },
  'contact, busy': { contactId: busyContactId },
  direction: { direction: 'INBOUND' },
  rail: { paymentRail: 'FEDWIRE' },
  'external id': { externalPaymentId: 'invoice-400' },
  'external id of many': { externalPaymentId: busyLabel },
  dates: { createdFrom: '2026-03-01', createdTo: '2026-03-31' },
  'status + direction': { status: 'RETURNED', direction: 'OUTBOUND' },
  'status + rail, never': { status: 'RETURNED', paymentRail: 'SWIFT' },
  'direction + rail, never': { direction: 'INBOUND', paymentRail: 'RTP' },
  'originator + dates': {
    originatorId: originatorIdOf(19),
    createdFrom: '2026-03-01',
    createdTo: '2026-03-31',
  },
  'originator + status, rare': { originatorId: originatorIdOf(0), status: 'BLOCKED' },
  'contact, busy + status, rare': { contactId: busyContactId, status: 'BLOCKED' },
  'contact, busy + status + rail, never': {
    contactId: busyContactId,
    status: 'RETURNED',
    paymentRail: 'SWIFT',
  },
  'contact, busy + another originator': {
    contactId: busyContactId,
    originatorId: originatorIdOf(9),
  },
  'external id of many + status + rail, never': {
    externalPaymentId: busyLabel,
    status: 'RETURNED',
    paymentRail: 'SWIFT',
  },
  'originator + direction + rail': {
    originatorId: originatorIdOf(0),
    direction: 'OUTBOUND',
    paymentRail: 'FEDWIRE',
  },
  'all but contact and external id': {
    originatorId: originatorIdOf(0),
    status: 'COMPLETED',
    direction: 'OUTBOUND',
    paymentRail: 'FEDNOW',
    createdFrom: '2026-01-01',
  },
};

export async function lists({ isShort }) {
  const scale = isShort ? short : full;
  return await withPostgres(
    async ({ databaseUrl: serverUrl, scratch, undo }) => {
      await createDatabase(serverUrl, 'large');
      const sides = {};
      for (const [side, rows] of Object.entries(scale.rows)) {
        say(`${rows.toLocaleString('en')} payments into the read model`);
        const databaseUrl = databaseOf(serverUrl, side);
        const { gateway, headers } = await prepared({ databaseUrl, rows, scratch });
        undo.push(() => gateway.stop());
        sides[side] = { origin: gateway.url, headers };
      }
      say('lists of payments, with each filter, over few payments and over many');
      const pairs = await pairsOf(sides);
      const pages = await measure('paired-load.mjs', { sides, pairs, ...scale.load });
      return { rows: scale.rows, pages };
    },
    { database: 'small' },
  );
}

function databaseOf(serverUrl, name) {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function createDatabase(connectionString, name) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
}

/** A gateway over a database that holds so many payments of one organization. */
async function prepared({ databaseUrl, rows, scratch }) {
  await migrate({ connectionString: databaseUrl });
  const {
    organizationId,
    apiKeys: [apiKey],
  } = await createKeys(databaseUrl, 1);
  await insertPayments({ connectionString: databaseUrl, organizationId, rows });
  const gateway = await startApp('api-gateway', appSettings({ databaseUrl, scratch }));
  return { gateway, headers: { authorization: `Bearer ${apiKey}` } };
}

/** The first page and one from the middle of the table, for each combination of filters. */
async function pairsOf(sides) {
  const cursors = {};
  for (const [side, { origin, headers }] of Object.entries(sides)) {
    const page = await call(origin, headers, 'GET', pathOf({ createdTo: middle, limit: 1 }));
    cursors[side] = page.meta.pagination.nextCursor;
  }
  return Object.entries(filters).flatMap(([name, filter]) => {
    const deep = (side) => [side, pathOf({ ...filter, cursor: cursors[side] })];
    return [
      { name, paths: { small: pathOf(filter), large: pathOf(filter) } },
      { name: `${name}, deep`, paths: Object.fromEntries(Object.keys(sides).map(deep)) },
    ];
  });
}

function pathOf(parameters) {
  return `/v1/payments/?${new URLSearchParams(parameters).toString()}`;
}

export function reportLists({ rows, pages }) {
  const sizes = Object.values(rows).map((count) => count.toLocaleString('en'));
  const worst = pages.toSorted((a, b) => b.p99Ratio.median - a.p99Ratio.median)[0];
  const both = (pick) => `${pick('small').toFixed(1)} : ${pick('large').toFixed(1)} ms`;
  const ratio = ({ median, min, max }) =>
    `${median.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
  console.log(`
LISTS at ${sizes.join(' and ')} payments, median (least–greatest) of the rounds
p99, many : few, worst                              ${ratio(worst.p99Ratio)}  (${worst.name})    ≤ ${ratioMax}`);
  for (const { name, p99Ratio, ...page } of pages)
    console.log(
      `${name.padEnd(50)}  p50 ${both((side) => page[side].p50Ms).padEnd(16)}  p99 ${both((side) => page[side].p99Ms).padEnd(16)}  ${ratio(p99Ratio)}`,
    );
}
