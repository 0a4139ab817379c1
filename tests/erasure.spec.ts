/** Erasing people, as an operator does it beside `npm start`: what clients, receivers and staff see of them then. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { type Contact, type Originator, PisClient, verifyWebhook } from '@pis/client';
import { connectionOf } from '@pis/local-servers';
import {
  type HttpsReceiver,
  openTestPool,
  startHttpsReceiver,
  until,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { tablePlaces } from './support/everywhere.js';
import { livingKeys, openedPlaces } from './support/living-keys.js';
import { completed } from './support/payable.js';
import { killPisOnce, pis, pisJson, type RunningProcess, startProcess } from './support/process.js';
import { provenLeaves } from './support/proofs.js';
import { expectRefusal } from './support/refusal.js';

// Each command waits until no process uses the keys any more.
jest.setTimeout(180_000);
const startLimitMs = 240_000;
const rewriteLimitMs = 10_000;
const arrivalLimitMs = 60_000;
const overriding = '--override-retention';
const fullKey = 'pis_test_erasure_spec_0001';

let dataDir: string;
let receiver: HttpsReceiver;
let running: RunningProcess;
let client: PisClient;
let databaseUrl: string;
let pool: pg.Pool;
let environment: Record<string, string>;
/** The body of a request is not taken as long as this says so. */
let isRejected: (body: string) => boolean = () => false;

beforeAll(async () => {
  dataDir = mkdtempSync(path.join(os.tmpdir(), 'pis-erasure-'));
  // Answers with what it got: the excerpts of answers hold personal data too.
  receiver = await startHttpsReceiver({
    respondWith: ({ body }) => ({ status: isRejected(body) ? 503 : 200, body }),
  });
  environment = { PIS_DATA_DIR: dataDir };
  running = await startProcess(null, {
    ...environment,
    PIS_BOOTSTRAP_API_KEY: fullKey,
    PIS_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PIS_WEBHOOK_CA_FILE: receiver.caFile,
    PIS_WEBHOOK_RETRY_INITIAL_MS: '1000',
    PIS_WEBHOOK_RETRY_MAX_MS: '1000',
  });
  client = new PisClient({ baseUrl: String(running.ready['apiUrl']), apiKey: fullKey });
  databaseUrl = connectionOf(path.join(dataDir, 'postgres'), 'pis') ?? '';
  pool = openTestPool(databaseUrl, 2);
}, startLimitMs);
afterAll(async () => {
  await pool?.end();
  await running?.stop();
  await receiver?.close();
  rmSync(dataDir, { recursive: true, force: true });
}, startLimitMs);

async function originatorOf(entityType: Originator['entityType']): Promise<Originator> {
  const { data } = await client.originators.page({ limit: 10 });
  const found = data.find((originator) => originator.entityType === entityType);
  if (found === undefined) throw new Error(`there is no ${entityType}`);
  return found;
}

/** In the sandbox's directory: a bank that takes ACH alone, and one that takes messages. */
const routingNumbers = { files: '011401533', messages: '021000021' } as const;

/** Somebody whose every field can be recognized. */
function person(originatorId: string, rail: keyof typeof routingNumbers = 'messages') {
  const mark = randomUUID().replaceAll('-', '');
  const request = {
    originatorId,
    entityType: 'INDIVIDUAL',
    firstName: `First${mark}`,
    lastName: `Last${mark}`,
    email: `${mark}@example.com`,
    phoneNumber: '+12125550177',
    legalAddress: {
      addressLine1: `${mark} Street`,
      city: `City${mark}`,
      state: 'NY',
      postalCode: '10001',
      countryCode: 'US',
    },
    bankAccount: {
      subType: 'CHECKING',
      achRoutingNumber: routingNumbers[rail],
      achAccountNumber: '000123456789',
    },
  } as const;
  return { mark, request };
}

async function pay(originatorId: string, contactId: string): Promise<string> {
  const request = { originatorId, contactId, paymentAmount: 1_234, direction: 'OUTBOUND' } as const;
  return (await client.payments.create(request)).paymentId;
}

const erase = (kind: string, id: string, ...more: string[]) =>
  pis([kind, 'erase', '--id', id, '--reason', 'asked by letter', ...more], environment);

/** How far an erasure has come: what holds it up there, and how its progress shows. */
const killedAt = {
  // About to tell the executors.
  requested: {
    lock: 'LOCK TABLE party_erasures IN EXCLUSIVE MODE',
    reached:
      "SELECT FROM events WHERE stream_id = 'contact-' || $1 AND type = 'ContactErasureRequested'",
  },
  // About to destroy the keys.
  confirmed: {
    lock: 'SELECT FROM keyring_state FOR UPDATE',
    reached: "SELECT FROM party_erasures WHERE party_id::text = $1 AND phase = 'confirmed'",
  },
  // Waiting until no process uses the keys.
  destroyed: {
    lock: 'SELECT',
    reached: "SELECT FROM data_keys WHERE owner = 'contact:' || $1 AND destroyed_at IS NOT NULL",
  },
} as const;

async function killErasure(contactId: string, at: keyof typeof killedAt): Promise<void> {
  const { lock, reached } = killedAt[at];
  const blocking = await pool.connect();
  try {
    await blocking.query('BEGIN');
    await blocking.query(lock);
    const args = ['contact', 'erase', '--id', contactId, '--reason', 'asked by letter'];
    await killPisOnce([...args, overriding], environment, () =>
      until(async () => (await pool.query(reached, [contactId])).rows.length > 0, {
        timeoutMs: arrivalLimitMs,
        what: `an erasure that is ${at}`,
      }),
    );
    await blocking.query('ROLLBACK');
  } finally {
    blocking.release();
  }
}

/** The places where the keys that are left open a text with this mark, in any case. */
async function opensWith(mark: string): Promise<string[]> {
  const keys = await livingKeys({ databaseUrl, environment });
  return [...openedPlaces(await tablePlaces(databaseUrl), keys)].flatMap(([place, text]) =>
    text.toLowerCase().includes(mark.toLowerCase()) ? [place] : [],
  );
}

/** Every row of every table that has this text. */
async function rowsWith(text: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT quote_ident(table_name) AS name FROM information_schema.tables
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const query = `SELECT t::text AS row FROM ${name} t WHERE strpos(t::text, $1) > 0`;
    for (const { row } of (await pool.query<{ row: string }>(query, [text])).rows)
      found.push(`${name}: ${row}`);
  }
  return found;
}

/** As every list and read of a payment shows them. */
function erasedParty(id: string) {
  const nothing = { firstName: null, lastName: null, companyName: null };
  return { id, ...nothing, entityType: 'INDIVIDUAL', erased: true };
}

describe('pis contact erase', () => {
  it('erases somebody from lists, payments, events, deliveries and tables, and leaves the payments', async () => {
    const { originatorId } = await originatorOf('BUSINESS');
    const endpoint = await client.webhooks.create({
      url: `${receiver.url}/${randomUUID()}`,
      subscribedEvents: ['payment.*'],
    });
    const { mark, request } = person(originatorId);
    const { contactId } = await client.contacts.create(request);
    // The last event of the payment stays pending.
    isRejected = (body) => body.includes(mark) && body.includes('payment.completed');
    const paymentId = await pay(originatorId, contactId);
    await completed(client, [paymentId]);
    await receiver.waitFor(({ body }) => isRejected(body), { timeoutMs: arrivalLimitMs });
    expect((await rowsWith(mark)).length).toBeGreaterThan(0);
    expect(await opensWith(mark)).toContain('rail_file_parts.sealed, opened');

    const erased = await pisJson<{ contactId: string; erasedAt: string }>(
      ['contact', 'erase', '--id', contactId, '--reason', 'asked by letter', overriding],
      environment,
    );
    expect(erased).toMatchObject({ contactId, alreadyErased: false });
    const list = async () => (await client.contacts.page({ originatorId })).data;
    await until(async () => (await rowsWith(mark)).length === 0, {
      timeoutMs: rewriteLimitMs,
      what: 'no table with the erased contact',
    });
    expect(await opensWith(mark)).toEqual([]);
    expect((await list()).map((contact: Contact) => contact.contactId)).not.toContain(contactId);

    const party = erasedParty(contactId);
    const shown = await client.payments.get(paymentId);
    expect(shown).toMatchObject({ paymentAmount: 1_234, status: 'COMPLETED' });
    expect(shown.contact).toEqual({ ...party, bankAccount: null });
    const { data: payments } = await client.payments.page({ contactId });
    expect(payments.map(({ contact }) => contact)).toEqual([party]);

    await expect(pay(originatorId, contactId)).rejects.toMatchObject({ status: 404 });
    await expect(client.contacts.update(contactId, { firstName: 'Eve' })).rejects.toMatchObject({
      status: 404,
    });
    const anew = await client.contacts.create(request);
    expect(anew.contactId).not.toBe(contactId);

    // What was pending is sent, signed, and without the person.
    isRejected = () => false;
    const sent = await receiver.waitFor(
      ({ body }) => body.includes(paymentId) && body.includes('"erased":true'),
      { timeoutMs: arrivalLimitMs },
    );
    expect(sent.body).not.toContain(mark);
    const event = verifyWebhook(sent.body, sent.headers, endpoint.secret);
    expect(event).toMatchObject({ data: { contact: { ...party, bankAccount: null } } });
    await client.webhooks.delete(endpoint.id);
  });

  it('records a return of a payment that was completed before, without the person', async () => {
    const { originatorId } = await originatorOf('BUSINESS');
    const { mark, request } = person(originatorId);
    const { contactId } = await client.contacts.create(request);
    const paymentId = await pay(originatorId, contactId);
    await completed(client, [paymentId]);
    const { code } = await erase('contact', contactId, overriding);
    expect(code).toBe(0);
    await client.sandbox.simulate(paymentId, { outcome: 'return', returnReasonCode: 'R01' });
    const shown = await client.payments.get(paymentId);
    expect(shown).toMatchObject({ status: 'RETURNED', returnReasonCode: 'R01' });
    expect(shown.contact).toEqual({ ...erasedParty(contactId), bankAccount: null });
    expect(await rowsWith(mark)).toEqual([]);
  });

  it('is refused while a payment is not final or the retention period runs, and needs a known contact', async () => {
    const { originatorId } = await originatorOf('BUSINESS');
    const { request } = person(originatorId);
    // The simulated bank never confirms a transfer to this account.
    const bankAccount = { ...request.bankAccount, achAccountNumber: '000123450401' };
    const { contactId } = await client.contacts.create({ ...request, bankAccount });
    const paymentId = await pay(originatorId, contactId);
    expectRefusal(
      await erase('contact', contactId),
      `1 payment is not final, for example ${paymentId}`,
    );
    const again = await erase('contact', contactId, overriding);
    expectRefusal(again, 'not final');

    const other = person(originatorId);
    const { contactId: otherId } = await client.contacts.create(other.request);
    await completed(client, [await pay(originatorId, otherId)]);
    expectRefusal(await erase('contact', otherId), /the retention period runs until \d{4}-/);
    // Nothing has changed for either.
    await completed(client, [await pay(originatorId, otherId)]);

    expectRefusal(await erase('contact', randomUUID()), 'there is no contact');
    const { code } = await pis(['contact', 'erase', '--id', otherId], environment);
    expect(code).toBe(1);
  });

  it("keeps to the retention period of the contact's organization, not to that of the installation", async () => {
    const organization = ['--id', String(running.ready['organizationId'])];
    const retention = (...args: string[]) =>
      pisJson(['organization', 'retention', 'set', ...organization, ...args], environment);
    const { originatorId } = await originatorOf('BUSINESS');
    const { contactId } = await client.contacts.create(person(originatorId).request);
    await completed(client, [await pay(originatorId, contactId)]);
    const year = new Date().getUTCFullYear();
    const unkept = { ...environment, PIS_RETENTION_YEARS: '0' };
    const args = ['contact', 'erase', '--id', contactId, '--reason', 'asked by letter'];

    await retention('--years', '10');
    expectRefusal(await pis(args, unkept), new RegExp(`runs until ${year + 10}-.*, 10 years`));
    await retention('--default');
    expectRefusal(await pis(args, environment), new RegExp(`runs until ${year + 7}-.*, 7 years`));
    await retention('--years', '0');
    expect(await pis(args, environment)).toMatchObject({ code: 0 });
    await retention('--default');
    const { rows } = await pool.query<{ outcome: unknown }>(
      `SELECT data->'outcome' AS outcome FROM events WHERE type = 'OperatorActionSucceeded'
         AND data->'outcome'->>'retentionYears' = '0'`,
    );
    expect(rows).toMatchObject([{ outcome: { alreadyErased: false, retentionYears: 0 } }]);
  });

  it('can be repeated', async () => {
    const { originatorId } = await originatorOf('BUSINESS');
    const { contactId } = await client.contacts.create(person(originatorId).request);
    const args = ['contact', 'erase', '--id', contactId, '--reason', 'asked by letter'];
    const first = await pisJson<{ erasedAt: string }>(args, environment);
    const second = await pis([...args, '--json'], environment);
    expect(JSON.parse(second.stdout)).toEqual({
      contactId,
      erasedAt: first.erasedAt,
      alreadyErased: true,
    });
    expect(second.stderr).toContain(`contact ${contactId} was erased before`);
  });
});

describe('an erasure whose command was killed', () => {
  const list = async () =>
    (await pisJson<{ data: unknown[] }>(['erasures', 'list'], environment)).data;

  it.each([
    ['requested', 'files'],
    ['confirmed', 'messages'],
    ['destroyed', 'messages'],
  ] as const)(
    'when it was %s is listed until it is run again, and nothing opens the archived %s then',
    async (at, rail) => {
      const { originatorId } = await originatorOf('BUSINESS');
      const { mark, request } = person(originatorId, rail);
      const { contactId } = await client.contacts.create(request);
      await completed(client, [await pay(originatorId, contactId)]);
      // A NACHA file has 22 characters of a name.
      const name = `First${mark}`.slice(0, 20);
      expect(await opensWith(name)).toContain('rail_file_parts.sealed, opened');
      await killErasure(contactId, at);
      const phase = at === 'requested' ? 'requested' : 'confirmed';
      const since = expect.stringMatching(/^\d{4}-.*Z$/) as unknown;
      await until(async () => (await list()).length > 0, { timeoutMs: arrivalLimitMs });
      expect(await list()).toEqual([{ kind: 'contact', id: contactId, phase, since }]);
      await expect(pay(originatorId, contactId)).rejects.toMatchObject({ status: 404 });
      expect((await erase('contact', contactId, overriding)).code).toBe(0);
      expect(await list()).toEqual([]);
      await until(async () => (await rowsWith(mark)).length === 0, {
        timeoutMs: rewriteLimitMs,
        what: 'no table with the erased contact',
      });
      expect(await opensWith(name)).toEqual([]);
      const { rows } = await pool.query<{ subject: unknown }>(
        `SELECT data->'subject' AS subject FROM events
         WHERE type = 'OperatorActionStarted' AND data->'subject'->>'contactId' = $1`,
        [contactId],
      );
      const subject = { contactId, overridesRetention: true, defaultRetentionYears: 7 };
      expect(rows).toEqual([{ subject }, { subject }]);
    },
  );
});

describe('pis originator erase', () => {
  it('is refused for a business, and erases an individual beside the contacts', async () => {
    const business = await originatorOf('BUSINESS');
    const individual = await originatorOf('INDIVIDUAL');
    const { originatorId, email } = individual;
    const name = `${String(individual.firstName)} ${String(individual.lastName)}`;
    expectRefusal(
      await erase('originator', business.originatorId),
      'is a business: only an individual can be erased',
    );
    const { contactId } = await client.contacts.create(person(originatorId).request);
    const paymentId = await pay(originatorId, contactId);
    await completed(client, [paymentId]);
    expect(await opensWith(name)).toContain('rail_file_parts.sealed, opened');
    const proof = { client, environment, dir: dataDir };
    const leaves = await provenLeaves(paymentId, proof);
    expect(await erase('originator', originatorId, overriding)).toMatchObject({ code: 0 });
    expect(await provenLeaves(paymentId, proof)).toEqual(leaves);

    await until(async () => (await rowsWith(email)).length === 0, {
      timeoutMs: rewriteLimitMs,
      what: 'no table with the erased originator',
    });
    expect(await opensWith(name)).toEqual([]);
    const { data } = await client.originators.page({ limit: 10 });
    expect(data.map((one) => one.originatorId)).toEqual([business.originatorId]);
    expect((await client.payments.get(paymentId)).originator).toEqual({
      ...erasedParty(originatorId),
      bankAccount: null,
    });
    await expect(client.contacts.create(person(originatorId).request)).rejects.toMatchObject({
      status: 404,
    });
  });
});

it('after all of these erasures an audit finds nothing in the log and in the read models', async () => {
  const report = await pisJson<object>(['audit', 'verify'], environment);
  expect(report).toMatchObject({
    findings: [],
    readModels: { personalData: true, webhookBodies: { ofOtherShape: 0 } },
  });
  const { webhookBodies } = (report as { readModels: { webhookBodies: { compared: number } } })
    .readModels;
  expect(webhookBodies.compared).toBeGreaterThan(0);
});
