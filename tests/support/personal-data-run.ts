/** What a run with marked parties does to a system: each method is one thing that a client, an operator or a bank does. */
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type HttpsReceiver, type ReceivedRequest, until } from '@pis/local-servers/testing';
import pg from 'pg';
import { Api } from './api.js';
import { type MarkedBank, type MarkedParty, markedParty, type Marker } from './markers.js';
import { pisJson } from './process.js';
import type { System } from './systems.js';

const arrivalLimitMs = 90_000;
/** Many wait at the same time. */
const lookEveryMs = 250;
const finalStatuses = ['COMPLETED', 'RETURNED', 'FAILED', 'BLOCKED'];

export interface ContactOptions {
  /** Default: an individual. */
  readonly entityType?: 'INDIVIDUAL' | 'BUSINESS';
  readonly ending?: string;
  readonly bank?: MarkedBank;
}

export interface Record {
  /** Of the contact or originator. */
  readonly id: string;
  /** As created, and as changed. */
  readonly parties: readonly MarkedParty[];
  readonly paymentIds: string[];
  /** The page of the payment link that the contact was sent. */
  readonly linkUrl?: string;
}

/** One run on one system. */
export class MarkedRun {
  readonly records = new Map<string, Record>();
  /** Of users and links. They belong to no contact or originator. */
  readonly secrets: Marker[] = [];
  /** The IDs of users of the dashboard. */
  readonly users = new Map<string, string>();
  readonly api: Api;
  readonly pool: pg.Pool;

  constructor(
    readonly system: System,
    private readonly receiver: HttpsReceiver,
  ) {
    this.api = new Api(system.apiUrl, system.apiKey);
    this.pool = new pg.Pool({ connectionString: system.databaseUrl, max: 2 });
  }

  /** Before its database ends. May be called again. */
  async close(): Promise<void> {
    if (!this.pool.ending) await this.pool.end();
  }

  get markers(): readonly Marker[] {
    return [...[...this.records.keys()].flatMap((tag) => this.markersOf(tag)), ...this.secrets];
  }

  markersOf(tag: string): readonly Marker[] {
    return this.record(tag).parties.flatMap((party) => party.markers);
  }

  record(tag: string): Record {
    const record = this.records.get(tag);
    if (record === undefined) throw new Error(`no record ${tag}`);
    return record;
  }

  linkOf(tag: string): string {
    return this.record(tag).linkUrl ?? '';
  }

  /** Marks what must never be in the clear. @returns the text */
  secret(tag: string, field: string, text: string): string {
    this.secrets.push({ tag, field, kind: 'secret', text: text.toLowerCase() });
    return text;
  }

  /** As an operator makes one, and then changed over the API. */
  async originator(tag: string): Promise<Record> {
    const party = markedParty({ tag, entityType: 'INDIVIDUAL' });
    const organizationId = await this.organizationId();
    const file = path.join(os.tmpdir(), `pis-${randomUUID()}.json`);
    writeFileSync(file, JSON.stringify(party.fields));
    const { originatorId } = await pisJson<{ originatorId: string }>(
      ['originator', 'create', '--organization', organizationId, '--file', file],
      this.system.environment,
    ).finally(() => rmSync(file));
    return this.changed(tag, { id: originatorId, parties: [party], paymentIds: [] }, 'originators');
  }

  async contact(tag: string, originator: Record, options: ContactOptions = {}): Promise<Record> {
    const party = markedParty({ tag, entityType: 'INDIVIDUAL', ...options });
    const { contactId } = await this.api.data<{ contactId: string }>(201, 'POST', '/v1/contacts/', {
      originatorId: originator.id,
      ...party.fields,
    });
    const record = { id: contactId, parties: [party], paymentIds: [] };
    this.records.set(tag, record);
    return record;
  }

  /** Every field has another value from now on. */
  async changed(tag: string, record: Record, kind: 'contacts' | 'originators'): Promise<Record> {
    const entityType = record.parties[0]?.fields['entityType'] as 'INDIVIDUAL' | 'BUSINESS';
    const after = markedParty({ tag: `${tag}later`, entityType });
    const { entityType: _same, ...changes } = after.fields;
    await this.api.data(200, 'PATCH', `/v1/${kind}/${record.id}`, changes);
    const next = { ...record, parties: [...record.parties, after] };
    this.records.set(tag, next);
    return next;
  }

  async pay(
    originator: Record,
    contact: Record,
    direction: 'INBOUND' | 'OUTBOUND' = 'OUTBOUND',
  ): Promise<string> {
    const parties = { originatorId: originator.id, contactId: contact.id };
    const body = { ...parties, paymentAmount: 12_345, direction };
    const { status, body: answer } = await this.api.createPayment(body, randomUUID());
    expect([status, answer.error]).toEqual([201, undefined]);
    const { paymentId } = answer.data as { paymentId: string };
    contact.paymentIds.push(paymentId);
    return paymentId;
  }

  /** Waits until it has one of these statuses. */
  async reaches(paymentId: string, ...statuses: readonly string[]): Promise<void> {
    await until(async () => statuses.includes((await this.payment(paymentId)).status), {
      timeoutMs: arrivalLimitMs,
      everyMs: lookEveryMs,
      what: `${paymentId} is ${statuses.join(' or ')}`,
    });
  }

  payment(paymentId: string): Promise<{ readonly status: string; readonly paymentRail: string }> {
    return this.api.data(200, 'GET', `/v1/payments/${paymentId}`);
  }

  /** Waits until all payments of a contact are final. */
  async isDone(tag: string): Promise<void> {
    for (const paymentId of this.record(tag).paymentIds)
      await this.reaches(paymentId, ...finalStatuses);
  }

  async endpoint(way: string): Promise<string> {
    const { id } = await this.api.data<{ id: string }>(201, 'POST', '/v1/webhooks', {
      url: `${this.receiver.url}/${way}`,
      subscribedEvents: ['payment.*'],
    });
    return id;
  }

  /** Everything of these payments has arrived at the way. */
  async arrived(way: string, paymentIds: readonly string[], events: number): Promise<void> {
    await until(
      () =>
        paymentIds.every((id) => {
          const mine = this.receiver.requests.filter(
            (request) => request.path === `/${way}` && request.body.includes(id),
          );
          return mine.length >= events;
        }),
      { timeoutMs: arrivalLimitMs, everyMs: lookEveryMs, what: `webhooks at /${way}` },
    );
  }

  async redeliver(endpointId: string, paymentId: string): Promise<void> {
    const [mine] = await this.api.data<{ deliveryId: string }[]>(
      200,
      'GET',
      `/v1/webhooks/${endpointId}/deliveries?limit=1&paymentId=${paymentId}`,
    );
    expect(mine).toBeDefined();
    await this.api.data(200, 'POST', `/v1/webhooks/deliveries/${mine?.deliveryId ?? ''}/redeliver`);
  }

  /** As an operator does it. */
  async erase(kind: 'contact' | 'originator', tag: string): Promise<void> {
    const options = ['--reason', 'asked for it', '--override-retention'];
    await pisJson(
      [kind, 'erase', '--id', this.record(tag).id, ...options],
      this.system.environment,
    );
  }

  async eraseUser(tag: string): Promise<void> {
    const id = this.users.get(tag) ?? '';
    await pisJson(['user', 'erase', '--id', id, '--reason', 'test'], this.system.environment);
  }

  /** The payments of an erased contact stay, and show nothing of it. */
  async showsErased(tag: string): Promise<void> {
    const { id, paymentIds } = this.record(tag);
    const contact = { id, entityType: 'INDIVIDUAL', erased: true, bankAccount: null };
    const names = { firstName: null, lastName: null, companyName: null };
    for (const paymentId of paymentIds)
      expect(await this.api.data(200, 'GET', `/v1/payments/${paymentId}`)).toMatchObject({
        paymentAmount: 12_345,
        contact: { ...contact, ...names },
      });
  }

  async query<Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row>(sql, values)).rows;
  }

  /** As `query`, and waits until there are rows. */
  async rows(sql: string, values: unknown[] = []): Promise<void> {
    await until(async () => (await this.query(sql, values)).length > 0, {
      timeoutMs: arrivalLimitMs,
      everyMs: lookEveryMs,
      what: sql,
    });
  }

  async organizationId(): Promise<string> {
    const [row] = await this.query<{ id: string }>(
      'SELECT organization_id AS id FROM originators ORDER BY created_at LIMIT 1',
    );
    return row?.id ?? '';
  }
}

/** Answers as the path says, with what it was told of the parties. */
export function answering(): (request: ReceivedRequest) => { status?: number; body?: string } {
  const seen = new Set<string>();
  return ({ path: at, headers, body }) => {
    const { data } = JSON.parse(body) as { data: { contact?: unknown; originator?: unknown } };
    const echo = JSON.stringify({ contact: data.contact, originator: data.originator });
    const delivery = String(headers['x-webhook-delivery']);
    const isFirst = !seen.has(delivery);
    seen.add(delivery);
    if (at === '/gone') return { status: 410, body: echo };
    if (at === '/down' || (at === '/flaky' && isFirst)) return { status: 500, body: echo };
    return { status: 200, body: echo };
  };
}
