import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import type { DomainEvent } from '@pis/domain';
import {
  at,
  contactExample,
  contactParty,
  ids,
  later,
  organizationExample,
  originatorParty,
} from '@pis/domain/testing';
import { fileArchive } from '@pis/bank-rails/connections';
import { ownerOf } from '@pis/keyring';
import { until } from '@pis/local-servers/testing';
import {
  directoryQuery,
  paymentsProjection,
  paymentsQuery,
  rebuildProjection,
} from '@pis/read-models';
import { appendEvents, completePayment, queuePayment } from '@pis/read-models/testing';
import { projectorOf } from '@pis/service-kit';
import { startOnTestPlatform, type TestPlatform } from '@pis/service-kit/testing';
import { deliveryIdOf } from '@pis/webhook-deliveries';
import { DirectoryProjectorModule } from './directory-projector.module.js';

jest.setTimeout(60_000);
const timeoutMs = 30_000;

const ada = { ...contactParty, bankAccount: null };
const grace = { ...ada, id: ids.otherContact, firstName: 'Grace', lastName: 'Hopper' };
const secrets = ['Moreno', 'ada.moreno@mail.example'];
const erased = {
  id: ids.contact,
  firstName: null,
  lastName: null,
  companyName: null,
  entityType: 'INDIVIDUAL',
  erased: true,
};

const erasure: readonly DomainEvent[] = [
  {
    type: 'ContactErasureRequested',
    at: later,
    data: { reason: 'asked by letter', by: 'user:cli:op', overridesRetention: true },
  },
  { type: 'ContactErasureConfirmed', at: later, data: {} },
  {
    type: 'ContactErased',
    at: later,
    data: { organizationId: ids.organization, entityType: 'INDIVIDUAL' },
  },
];

describe('a contact that was erased', () => {
  let platform: TestPlatform;
  const endpointId = randomUUID();

  beforeEach(async () => {
    const projector = {
      module: class PaymentsProjector {},
      providers: [projectorOf(paymentsProjection)],
    };
    const directory = DirectoryProjectorModule.register({
      PIS_WEBHOOK_TIMEOUT_MS: 1_000,
      PIS_ENVIRONMENT: 'production',
      PIS_DATA_DIR: 'unused',
      PIS_AUDIT_KEY: Buffer.alloc(32, 1).toString('base64'),
    });
    platform = await startOnTestPlatform(directory, projector);
    const { store } = platform;
    await appendEvents(store, `organization-${ids.organization}`, [
      { type: 'OrganizationCreated', at, data: organizationExample() },
    ]);
    await appendEvents(store, `webhookEndpoints-${ids.organization}`, [
      {
        type: 'WebhookEndpointCreated',
        at,
        data: {
          organizationId: ids.organization,
          endpointId,
          url: 'https://hooks.example/pis',
          subscribedEvents: ['payment.*'],
          label: null,
          sealedSecret: 'v1.sealed',
        },
      },
    ]);
    await appendEvents(store, `contact-${ids.contact}`, [
      { type: 'ContactCreated', at, data: contactExample() },
    ]);
    await appendEvents(store, `contact-${ids.otherContact}`, [
      {
        type: 'ContactCreated',
        at,
        data: contactExample({ ...grace, contactId: grace.id, email: 'grace@mail.example' }),
      },
    ]);
  });
  afterEach(() => platform.close());

  const pay = async (contact: typeof ada) => {
    const { store } = platform;
    const payment = await queuePayment(store, at, { contactId: contact.id, contact });
    await completePayment(store, payment);
    return payment;
  };
  const list = async (filter = {}) =>
    (await paymentsQuery(platform.pool).list(ids.organization, filter, { limit: 300 })).items;
  const listed = async (count: number) =>
    until(
      async () => {
        const items = await list();
        return items.length === count && items.every(({ status }) => status === 'COMPLETED');
      },
      { timeoutMs },
    );
  const passes = async () => {
    const { rows } = await platform.pool.query<{ passes: number }>(
      'SELECT passes FROM erased_parties',
    );
    return rows[0]?.passes ?? 0;
  };
  /** Everything in every table of the database. */
  const everything = async () => {
    const { pool } = platform;
    const { rows } = await pool.query<{ name: string }>(
      `SELECT quote_ident(table_name) AS name FROM information_schema.tables
       WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
    );
    const texts = [];
    for (const { name } of rows)
      for (const row of (await pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`))
        .rows)
        texts.push(`${name}: ${row.row}`);
    return texts.join('\n');
  };

  /** An event of the payment as the dispatchers store it: its body, a delivery of each kind, an attempt. */
  async function deliver(paymentId: string, contact: typeof ada): Promise<string> {
    const { store, pool } = platform;
    const [event] = await store.readStream(`payment-${paymentId}`);
    if (event === undefined) throw new Error('the payment has no event');
    const { bankAccount: _, ...originator } = originatorParty;
    const data = { paymentId, status: 'QUEUED', previousStatus: null, originator, contact };
    const body = JSON.stringify({ id: event.id, version: '1', eventType: 'payment.queued', data });
    const deliveryId = deliveryIdOf(event.id, endpointId);
    const occurredAt = event.metadata.at;
    await pool.query(
      `INSERT INTO webhook_fan_outs (event_id, occurred_at, organization_id, body, created_at)
       VALUES ($1, $2, $3, $4, $2)`,
      [event.id, occurredAt, ids.organization, body],
    );
    const own = [deliveryId, ids.organization, endpointId, event.id, paymentId, occurredAt, body];
    await pool.query(
      `INSERT INTO webhook_deliveries (id, organization_id, endpoint_id, event_id, event_type, payment_id,
         occurred_at, body, created_at, next_attempt_at, window_ends_at)
       VALUES ($1, $2, $3, $4, 'payment.queued', $5, $6, $7, now(), now(), now() + interval '1 day')`,
      own,
    );
    await pool.query(
      `INSERT INTO webhook_finished_deliveries (id, organization_id, endpoint_id, event_id, event_type,
         payment_id, occurred_at, body, created_at, window_ends_at, state, finished_at)
       VALUES ($1, $2, $3, $4, 'payment.queued', $5, $6, $7, now(), now(), 'delivered', now())`,
      own,
    );
    await pool.query(
      `INSERT INTO webhook_attempts (delivery_id, attempt, id, at, duration_ms, response_excerpt)
       VALUES ($1, 1, gen_random_uuid(), now(), 5, $2)`,
      [deliveryId, `thank you, ${contact.lastName ?? ''}`],
    );
    const value = JSON.stringify({ eventId: event.id, eventType: 'payment.queued', data });
    await pool.query(
      `INSERT INTO dead_letters (consumer_group, topic, key, value, headers, "offset", attempts, error, parked_at)
       VALUES ('g', 't', $1, $2, '{}', $3, 1, 'e', now())`,
      [event.streamId, value, event.position],
    );
    await pool.query(
      'INSERT INTO deferred_keys (consumer_group, key, due_at) VALUES ($1, $2, now())',
      ['g', event.streamId],
    );
    await pool.query(
      `INSERT INTO deferred_messages (consumer_group, topic, key, value, headers, "offset", attempts, failures, deferred_at)
       VALUES ('g', 't', $1, $2, '{}', $3, 1, 1, now())`,
      [event.streamId, value, event.position],
    );
    return body;
  }

  it('is in no table any more, and everybody else still is', async () => {
    const { store, pool } = platform;
    const [ofAda, ofGrace] = [await pay(ada), await pay(grace)];
    await listed(2);
    const body = await deliver(ofAda.paymentId, ada);
    const bodyOfGrace = await deliver(ofGrace.paymentId, grace);
    await pool.query(
      `INSERT INTO stream_snapshots (stream_id, version, revision, event_id, state, code)
       VALUES ($1, '1', 0, gen_random_uuid(), '{"lastName":"Moreno"}', 'c')`,
      [`contact-${ids.contact}`],
    );
    expect(await everything()).toContain('Moreno');

    await appendEvents(store, `contact-${ids.contact}`, erasure);
    await until(async () => (await passes()) > 0, { timeoutMs });
    const texts = await everything();
    for (const secret of secrets) expect(texts).not.toContain(secret);

    const contacts = await directoryQuery(pool).contacts(ids.organization, {});
    expect(contacts.items.map(({ contactId }) => contactId)).toEqual([grace.id]);
    const { rows } = await pool.query<{ item: unknown; erased_at: Date }>(
      'SELECT item, erased_at FROM contacts WHERE contact_id = $1',
      [ids.contact],
    );
    expect(rows).toEqual([
      {
        item: expect.objectContaining({ email: null, bankAccount: null }),
        erased_at: new Date(later),
      },
    ]);
    expect((await list({ contactId: ids.contact })).map(({ contact }) => contact)).toEqual([
      erased,
    ]);
    expect((await list({ contactId: grace.id }))[0]?.contact).toMatchObject({ lastName: 'Hopper' });

    const erasedBody = JSON.parse(body) as { data: object };
    const withoutAda = JSON.stringify({
      ...erasedBody,
      data: { ...erasedBody.data, contact: { ...nulled(ada), erased: true } },
    });
    for (const table of ['webhook_fan_outs', 'webhook_deliveries', 'webhook_finished_deliveries']) {
      const bodies = await pool.query<{ body: string }>(`SELECT body FROM ${table}`);
      expect(bodies.rows.map((row) => row.body).toSorted()).toEqual(
        [withoutAda, bodyOfGrace].toSorted(),
      );
    }
    const excerpts = await pool.query<{ response_excerpt: string | null }>(
      'SELECT response_excerpt FROM webhook_attempts ORDER BY response_excerpt',
    );
    expect(excerpts.rows.map((row) => row.response_excerpt)).toEqual(['thank you, Hopper', null]);
  });

  it('is blanked in archived messages, also in those that were sealed for the originator alone', async () => {
    const { store, pool } = platform;
    const { paymentId } = await pay(ada);
    await listed(1);
    const archive = fileArchive({ pool, keyring: platform.keyring });
    const file = { connection: 'bank', rail: 'FEDNOW', way: 'in', kind: 'pacs.004' } as const;
    const owner = ownerOf.originator(ids.originator);
    const { id } = await archive.keep({
      ...{ ...file, name: 'OLD' },
      segments: [{ bytes: Buffer.from('Ada Moreno'), owner, paymentId }],
    });
    const read = async () => String((await archive.read(id))?.bytes);
    expect(await read()).toBe('Ada Moreno');
    await appendEvents(store, `contact-${ids.contact}`, erasure);
    await until(async () => (await read()).trim() === '', { timeoutMs });
  });

  it('stays erased in payments beyond the first page, in later events, and in a rebuilt list', async () => {
    const { store, pool } = platform;
    const payments = [];
    for (let n = 0; n < 205; n += 1) payments.push(await pay(ada));
    await listed(205);
    await appendEvents(store, `contact-${ids.contact}`, erasure);
    const allErased = async () =>
      (await list()).every(({ contact }) => contact?.erased === true && contact.lastName === null);
    await until(async () => (await passes()) > 0 && (await allErased()), { timeoutMs });

    const [first] = payments;
    if (first === undefined) throw new Error('there is no payment');
    await appendEvents(store, first.streamId, [
      { type: 'PaymentReturned', at: later, data: { returnReasonCode: 'R01' } },
    ]);
    await until(async () => (await list({ status: 'RETURNED' })).length === 1, { timeoutMs });
    expect(await allErased()).toBe(true);

    // The events of this test are plain: the rebuilt rows have the names again, until the worker comes.
    await rebuildProjection('payments', { store, pool });
    await until(allErased, { timeoutMs });
  });

  it('has no keys any more, although a restored backup had brought them back', async () => {
    const { store, keyring } = platform;
    const owner = ownerOf.contact(ids.contact);
    await keyring.seal(owner, 'Moreno');
    await appendEvents(store, `contact-${ids.contact}`, erasure);
    await until(async () => (await passes()) > 0, { timeoutMs });
    expect(await keyring.destroyedOf([owner])).toEqual(new Set([owner]));
  });

  it('waits for the list of payments before it is taken out of it', async () => {
    const { store, pool } = platform;
    await pay(ada);
    await listed(1);
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query("SELECT FROM projection_checkpoints WHERE name = 'payments' FOR UPDATE");
      const late = await queuePayment(store, at, { contactId: ada.id, contact: ada });
      await appendEvents(store, `contact-${ids.contact}`, erasure);
      await until(async () => (await pool.query('SELECT FROM erased_parties')).rowCount === 1, {
        timeoutMs,
      });
      expect(await passes()).toBe(0);
      await client.query('COMMIT');
      await until(async () => (await passes()) > 0, { timeoutMs });
      const items = await list();
      expect(items.map(({ paymentId }) => paymentId)).toContain(late.paymentId);
      expect(items.map(({ contact }) => contact)).toEqual([erased, erased]);
    } finally {
      client.release();
    }
  });

  it('is looked for again after an hour and after a day: a consumer that was down writes late', async () => {
    const { store, pool } = platform;
    const { paymentId } = await pay(ada);
    await listed(1);
    await appendEvents(store, `contact-${ids.contact}`, erasure);
    const pauses: number[] = [];
    for (let pass = 1; pass <= 5; pass += 1) {
      await until(async () => (await passes()) === pass, { timeoutMs });
      const { rows } = await pool.query<{ seconds: number | null }>(
        'SELECT extract(epoch FROM due_at - now())::float8 AS seconds FROM erased_parties',
      );
      const seconds = rows[0]?.seconds ?? null;
      if (seconds === null) break;
      pauses.push(seconds);
      // Late, a dispatcher stores the event with its body, and puts its message aside.
      if (pass === 4) await deliver(paymentId, ada);
      await pool.query("UPDATE erased_parties SET due_at = now() - interval '1 second'");
    }
    expect(pauses.map((seconds) => Math.ceil(seconds / 60))).toEqual([1, 1, 60, 24 * 60]);
    expect(await everything()).not.toContain('Moreno');
  });
});

function nulled(party: typeof ada): object {
  return Object.fromEntries(
    Object.entries(party).map(([field, value]) => [
      field,
      field === 'id' || field === 'entityType' ? value : null,
    ]),
  );
}
