/**
 * For the walk over all operations and roles: what each operation needs to be called on real records, and the least
 * role that may call it. The roles are written here a second time on purpose: who changes the table of the
 * server must change this one, too.
 */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { postgresDocuments, statementKey } from '@pis/documents';
import { statement as statements, type UserRole } from '@pis/domain';
import { repository } from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { deliveryIdOf, DeliveryTable } from '@pis/webhook-deliveries';
import type { OperationName } from '../operations.js';
import { type Board, type BoardReply, by, password } from './board.js';

const none = { count: 0, amountMinor: 0 };
const open = { inProgressIn: none, inProgressOut: none, feesDueMinor: 0 };
const figures = {
  ...{ opening: open, closing: open, paymentsIn: none, paymentsOut: none, withoutMovement: none },
  ...{ returnsIn: none, returnsOut: none, collections: none, collectionReturns: none, fees: none },
};
export const amountAbove = 50_000;
const hourMs = 3_600_000;
/** One for each role; the walk itself creates one more. */
const endpointsMax = 4;
const bankAccount = {
  subType: 'CHECKING',
  achRoutingNumber: '021000021',
  achAccountNumber: '000123456789',
};

export interface Caller {
  readonly role: UserRole;
  readonly userId: string;
  readonly email: string;
  readonly cookie: string;
}

export interface Tenant {
  readonly organizationId: string;
  readonly originatorId: string;
  readonly callers: Readonly<Record<UserRole, Caller>>;
}

export interface Given {
  readonly ids?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface RoleRow {
  readonly least: UserRole | 'anyone';
  /** Fresh records, so that a caller can use them once. Of the tenant; of its operator if there is no other caller. */
  readonly given?: (tenant: Tenant, caller: Caller) => Promise<Given> | Given;
  /** What a caller gets whose role is enough; 200 when absent. */
  readonly allowed?: number;
  /** `mentions nothing`: it has no ID of the other organization, and shows nothing of it. Absent: 404. */
  readonly elsewhere?: 'mentions nothing';
}

const listing = { least: 'viewer', elsewhere: 'mentions nothing' } as const;

export function roleRows(board: Board, receiverUrl: string): Record<OperationName, RoleRow> {
  const post = async <Data>(path: string, { cookie }: Caller, body?: unknown) =>
    dataOf<Data>(await board.call(path, { method: 'POST', cookie, body }));
  const paymentBody = ({ originatorId }: Tenant, paymentAmount = 10_000) => ({
    ...{ originatorId, direction: 'INBOUND', paymentAmount, idempotencyKey: randomUUID() },
    recipient: { entityType: 'INDIVIDUAL', firstName: 'Grace', lastName: 'Hopper' },
  });
  const contactBody = ({ originatorId }: Tenant) => ({
    ...{ originatorId, entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
    ...{ email: `${randomUUID()}@example.com`, bankAccount },
  });
  const endpointBody = () => ({
    ...{ url: `${receiverUrl}/${randomUUID()}`, subscribedEvents: ['payment.*'], label: null },
  });
  const payment = async (tenant: Tenant) => {
    const { operator } = tenant.callers;
    const body = paymentBody(tenant);
    const { paymentId } = await post<{ paymentId: string }>('/payments', operator, body);
    return { ids: { paymentId } };
  };
  const approvalOf = async (tenant: Tenant, caller: Caller) => {
    const body = paymentBody(tenant, amountAbove + 1);
    const { approvalId } = await post<{ approvalId: string }>('/payments', caller, body);
    return { ids: { approvalId } };
  };
  /** Of the operator: everybody else may decide on it. */
  const approval = (tenant: Tenant) => approvalOf(tenant, tenant.callers.operator);
  const contact = async (tenant: Tenant) => {
    const body = contactBody(tenant);
    const { operator } = tenant.callers;
    const { contactId } = await post<{ contactId: string }>('/contacts', operator, body);
    return { ids: { contactId } };
  };
  const correction = async (tenant: Tenant) => ({
    ...(await contact(tenant)),
    body: { paymentId: randomUUID(), changeCode: 'C01' },
  });
  const originator = ({ originatorId }: Tenant) => ({ ids: { originatorId } });
  /** An organization has five for an event type. The oldest one goes. */
  const endpoints = new Map<Tenant, string[]>();
  const webhook = async (tenant: Tenant) => {
    const { admin } = tenant.callers;
    const made = endpoints.get(tenant) ?? [];
    endpoints.set(tenant, made);
    const oldest = made.length < endpointsMax ? undefined : made.shift();
    if (oldest !== undefined)
      await board.call(`/webhooks/${oldest}`, { method: 'DELETE', cookie: admin.cookie });
    const { id } = await post<{ id: string }>('/webhooks', admin, endpointBody());
    made.push(id);
    return { ids: { webhookId: id } };
  };
  const replayBody = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
  const replay = async (tenant: Tenant) => {
    const { webhookId } = (await webhook(tenant)).ids;
    const path = `/webhooks/${webhookId}/replays`;
    const { operator } = tenant.callers;
    const { replayId } = await post<{ replayId: string }>(path, operator, replayBody);
    return { ids: { webhookId, replayId } };
  };
  const delivery = async (tenant: Tenant) => {
    const { organizationId } = tenant;
    const { webhookId: endpointId } = (await webhook(tenant)).ids;
    const [eventId, at] = [randomUUID(), new Date()];
    const deliveryId = deliveryIdOf(eventId, endpointId);
    const fanOut = {
      ...{ eventId, organizationId, eventType: 'payment.completed' as const },
      ...{ paymentId: randomUUID(), traceparent: null, occurredAt: at, createdAt: at },
      ...{ windowEndsAt: new Date(at.getTime() + hourMs) },
      ...{ body: '{}', bodyHash: '00'.repeat(32) },
      receivers: [{ deliveryId, endpointId }],
    };
    const leasedUntil = [new Date(Date.now() + hourMs)];
    await new DeliveryTable(board.pool, randomUUID()).insert([{ fanOut, leasedUntil }]);
    return { ids: { deliveryId } };
  };
  const statement = async ({ organizationId, originatorId }: Tenant) => {
    const statementId = randomUUID();
    const subject = { statementId, organizationId, originatorId };
    const period = { periodYear: 2026, periodMonth: 10, timeZone: 'America/New_York' };
    const written = await postgresDocuments(board.pool, board.keyring).write(
      statementKey(subject),
      ownerOf.originator(originatorId),
      Readable.from([Buffer.from('%PDF-')]),
    );
    const cutoff = { to: '2026-11-01T04:00:00.000Z', through: '1', after: null };
    const data = { ...subject, ...period, ...written, ...cutoff, figures };
    await repository(board.store, statements).create(
      statementId,
      { type: 'RecordStatement', at: new Date().toISOString(), data },
      by,
    );
    return { ids: { statementId } };
  };
  /** Of an empty file: a download reads no document. */
  const exported = async (tenant: Tenant) => {
    const { operator } = tenant.callers;
    const body = { kind: 'payments', format: 'jsonl' };
    const { exportId } = await post<{ exportId: string }>('/exports', operator, body);
    await board.pool.query(
      `UPDATE exports SET status = 'completed', sha256 = '\\x00', finished_at = now(),
        expires_at = now() + interval '7 days' WHERE id = $1`,
      [exportId],
    );
    return { ids: { exportId } };
  };
  const apiKey = async ({ callers: { admin } }: Tenant) => {
    const type = 'read_only';
    const { apiKeyId } = await post<{ apiKeyId: string }>('/api-keys', admin, { type });
    return { ids: { apiKeyId } };
  };
  const user = async ({ organizationId }: Tenant) => {
    const { userId } = await board.newUser('viewer', organizationId);
    return { ids: { userId } };
  };
  const session = async (_tenant: Tenant, caller: Caller) => {
    await board.signedIn(caller);
    const reply = await board.call('/me/sessions', { cookie: caller.cookie });
    const own = dataOf<{ sessionId: string; isCurrent: boolean }[]>(reply);
    return { ids: { sessionId: own.find(({ isCurrent }) => !isCurrent)?.sessionId ?? '' } };
  };
  const with_ =
    (given: (tenant: Tenant) => Promise<Given> | Given, body: unknown) =>
    async (tenant: Tenant) => ({
      ...(await given(tenant)),
      body,
    });
  const wrong = { password: 'not the password', code: '000000' };
  return {
    signInOptions: { least: 'anyone' },
    // This board has no provider.
    beginOidc: { least: 'anyone', given: () => ({ body: { next: null } }), allowed: 404 },
    signIn: {
      least: 'anyone',
      given: (_tenant, { email }) => ({ body: { email, password } }),
    },
    signOut: { least: 'anyone' },
    session: { least: 'anyone' },
    me: listing,
    changePassword: {
      ...listing,
      given: () => ({ body: { ...wrong, newPassword: 'another long password' } }),
      allowed: 400,
    },
    prepareOneTimeCodes: { ...listing, given: () => ({ body: wrong }), allowed: 400 },
    confirmOneTimeCodes: { ...listing, given: () => ({ body: { code: '000000' } }), allowed: 400 },
    disableOneTimeCodes: { ...listing, given: () => ({ body: wrong }), allowed: 400 },
    listSessions: listing,
    endSession: { least: 'viewer', given: session },
    endOtherSessions: listing,
    live: listing,

    getLogo: listing,
    getOverview: listing,
    listPayments: listing,
    exportPayments: listing,
    getPayment: { least: 'viewer', given: payment },
    createPayment: { least: 'operator', given: (tenant) => ({ body: paymentBody(tenant) }) },
    cancelPayment: { least: 'operator', given: payment },
    showLink: { least: 'operator', given: payment },
    downloadEvidence: { least: 'operator', given: payment },
    // A payment that awaits its counterparty has nothing to simulate.
    simulatePayment: {
      ...{ least: 'operator', given: with_(payment, { outcome: 'complete' }), allowed: 409 },
    },

    listApprovals: listing,
    countApprovals: listing,
    getApproval: { least: 'viewer', given: approval },
    approve: { least: 'approver', given: approval },
    reject: { least: 'approver', given: with_(approval, { reason: 'no' }) },
    withdraw: {
      least: 'operator',
      given: (tenant, caller) =>
        caller.role === 'viewer' ? approval(tenant) : approvalOf(tenant, caller),
    },
    getApprovalSettings: listing,
    changeApprovalSettings: {
      ...{ least: 'admin', given: () => ({ body: { amountAbove } }) },
      elsewhere: 'mentions nothing',
    },

    getFees: listing,
    setFees: {
      // Others have set them since.
      ...{ least: 'admin', given: () => ({ body: { schedules: [], shown: [] } }), allowed: 409 },
      elsewhere: 'mentions nothing',
    },

    listContacts: listing,
    getContact: { least: 'viewer', given: contact },
    createContact: { least: 'operator', given: (tenant) => ({ body: contactBody(tenant) }) },
    changeContact: { least: 'operator', given: with_(contact, { firstName: 'Augusta' }) },
    // The bank has corrected nothing.
    applyCorrection: { least: 'operator', given: correction, allowed: 409 },
    dismissCorrection: { least: 'operator', given: correction, allowed: 409 },
    listOriginators: listing,
    getOriginator: { least: 'viewer', given: originator },
    changeOriginator: { least: 'admin', given: with_(originator, { phoneNumber: '+12125550123' }) },

    listWebhooks: listing,
    createWebhook: {
      ...{ least: 'admin', given: () => ({ body: endpointBody() }) },
      elsewhere: 'mentions nothing',
    },
    getWebhook: { least: 'viewer', given: webhook },
    changeWebhook: { least: 'admin', given: with_(webhook, { label: 'Books' }) },
    deleteWebhook: { least: 'admin', given: webhook },
    rotateWebhookSecret: { least: 'admin', given: with_(webhook, {}) },
    testWebhook: {
      ...{ least: 'operator', given: with_(webhook, { eventType: 'payment.completed' }) },
    },
    replayWebhook: { least: 'operator', given: with_(webhook, replayBody) },
    cancelReplay: { least: 'operator', given: replay },
    listDeliveries: { least: 'viewer', given: webhook },
    getDelivery: { least: 'viewer', given: delivery },
    redeliver: { least: 'operator', given: delivery },

    listExports: listing,
    createExport: {
      ...{ least: 'operator', elsewhere: 'mentions nothing' },
      given: async () => {
        // Five may be open.
        await board.pool.query("UPDATE exports SET status = 'canceled' WHERE status = 'queued'");
        return { body: { kind: 'fees', format: 'csv' } };
      },
    },
    cancelExport: { least: 'operator', given: exported },
    downloadExport: { least: 'viewer', given: exported },

    listStatements: listing,
    downloadStatement: { least: 'viewer', given: statement },

    listApiKeys: { ...listing, least: 'admin' },
    createApiKey: {
      ...{ least: 'admin', given: () => ({ body: { type: 'read_only' } }) },
      elsewhere: 'mentions nothing',
    },
    revokeApiKey: { least: 'admin', given: apiKey },
    listUsers: { ...listing, least: 'admin' },
    createUser: {
      least: 'admin',
      given: () => ({ body: { email: `${randomUUID()}@board.example`, role: 'viewer' } }),
      elsewhere: 'mentions nothing',
    },
    changeUserRole: { least: 'admin', given: with_(user, { role: 'operator' }) },
    disableUser: { least: 'admin', given: user },
    enableUser: { least: 'admin', given: user },
    resetUser: { least: 'admin', given: user },
  };
}

function dataOf<Data>({ body, text, status }: BoardReply): Data {
  if (status !== 200) throw new Error(text);
  return body.data as Data;
}
