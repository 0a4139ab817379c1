import { randomUUID } from 'node:crypto';
import { contactParty, ids } from '@pis/domain/testing';
import { memoryEventStore } from '@pis/event-store';
import { createTestDatabase, openTestPool, type TestDatabase } from '@pis/local-servers/testing';
import type pg from 'pg';
import { ApprovalsQuery } from './approvals-query.js';
import { directoryProjection } from './directory.projection.js';
import { ProjectionRunner } from './projection-runner.js';
import { rebuildProjection } from './rebuild.js';
import { appendEvents } from './testing.js';

const timeoutMs = 60_000;
const [user, other] = [randomUUID(), randomUUID()];

let database: TestDatabase;
let pool: pg.Pool;
let query: ApprovalsQuery;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 3);
  query = new ApprovalsQuery(pool);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

const at = (minute: number) => new Date(Date.UTC(2026, 10, 23, 0, minute)).toISOString();

it('approvals are listed by state, counted, found again to be settled, and rebuilt', async () => {
  const store = memoryEventStore();
  const begin = async (minute: number, requestedBy: string, ...more: object[]) => {
    const approvalId = randomUUID();
    const data = {
      ...{ approvalId, organizationId: ids.organization, originatorId: ids.originator },
      ...{ direction: 'OUTBOUND', contactId: null, recipient: contactParty, amountMinor: 1 },
      ...{ paymentNote: null, externalPaymentId: null, requestedBy },
    };
    const requested = { type: 'ApprovalRequested', at: at(minute), data };
    await appendEvents(store, `approval-${approvalId}`, [requested, ...more] as never);
    return approvalId;
  };
  const granted = { type: 'ApprovalGranted', at: at(10), data: { grantedBy: other } };
  const created = { type: 'ApprovedPaymentCreated', at: at(20), data: {} };
  const refused = {
    type: 'ApprovedPaymentRefused',
    at: at(20),
    data: { refused: 'X', problems: [] },
  };
  const rejected = {
    type: 'ApprovalRejected',
    at: at(10),
    data: { rejectedBy: other, reason: 'x' },
  };
  const old = await begin(0, user);
  const fresh = await begin(5, user);
  const isGranted = await begin(6, user, granted);
  const isCreated = await begin(7, user, granted, created);
  const isRefused = await begin(8, user, granted, refused);
  const isRejected = await begin(9, user, rejected);
  const runner = new ProjectionRunner({ projection: directoryProjection, store, pool });
  runner.start();
  expect(await runner.waitFor(await store.lastPosition(), timeoutMs)).toBe(true);

  const expiredBefore = at(1);
  const statuses = ['WAITING', 'EXPIRED', 'GRANTED', 'CREATED', 'REFUSED', 'REJECTED'] as const;
  const check = async () => {
    const list = async (status?: (typeof statuses)[number]) =>
      (await query.list(ids.organization, { status, expiredBefore }, { limit: 10 })).items;
    expect(await list()).toEqual([isRejected, isRefused, isCreated, isGranted, fresh, old]);
    expect(await Promise.all(statuses.map((status) => list(status)))).toEqual([
      ...[[fresh], [old], [isGranted], [isCreated], [isRefused], [isRejected]],
    ]);
    const page = { limit: 10, after: null };
    expect(await query.unsettled(at(9), page)).toEqual([]);
    expect(await query.unsettled(at(10), page)).toEqual([isGranted]);
    expect(await query.unsettled(at(10), { ...page, after: isGranted })).toEqual([]);
    const between = (after: number) => ({ grantedAfter: at(after), grantedBefore: at(10) });
    expect(await query.refused(between(9), page)).toEqual([isRefused]);
    expect(await query.refused(between(9), { ...page, after: isRefused })).toEqual([]);
    expect(await query.refused(between(10), page)).toEqual([]);
    const count = (userId: string) =>
      query.countWaiting(ids.organization, { userId, expiredBefore });
    expect([await count(user), await count(other)]).toEqual([0, 1]);
    expect(await query.ofUnsavedRecipient(contactParty.id)).toHaveLength(6);
    expect(await query.ofErasedParties(expiredBefore, page)).toEqual([]);
  };
  await check();
  const { items, next } = await query.list(ids.organization, { expiredBefore }, { limit: 4 });
  expect(items).toHaveLength(4);
  const rest = { limit: 4, after: next ?? undefined };
  expect((await query.list(ids.organization, { expiredBefore }, rest)).items).toEqual([fresh, old]);
  expect((await query.list(randomUUID(), { expiredBefore }, { limit: 4 })).items).toEqual([]);
  await pool.query('UPDATE approvals SET status = $1', ['lost']);
  await rebuildProjection('directory', { store, pool });
  await check();
  await runner.stop();
});

const uuids = (count: number) => Array.from({ length: count }, () => randomUUID());

/** Rows as the projection writes them. */
async function addWaiting(
  rows: readonly { readonly recipientId: string; readonly createdAt: string }[],
  approvalIds = uuids(rows.length),
): Promise<readonly string[]> {
  await pool.query(
    `INSERT INTO approvals (approval_id, organization_id, originator_id, recipient_id, is_unsaved, requested_by,
       status, decided_at, created_at, revision)
     SELECT approval_id, $1, $2, recipient_id, true, $3, 'WAITING', NULL, created_at, 0
     FROM unnest($4::uuid[], $5::uuid[], $6::timestamptz[]) AS t(approval_id, recipient_id, created_at)`,
    [
      ...[ids.organization, ids.originator, user, approvalIds],
      rows.map(({ recipientId }) => recipientId),
      rows.map(({ createdAt }) => createdAt),
    ],
  );
  return approvalIds;
}

const addErased = (partyIds: readonly string[], erasedAt: string) =>
  pool.query(
    `INSERT INTO erased_parties (party_id, kind, organization_id, erased_at, position)
     SELECT party_id, 'contact', $1, $2, '1' FROM unnest($3::uuid[]) AS t(party_id)`,
    [ids.organization, erasedAt, partyIds],
  );

it('finds the waiting approvals of who was erased, saved or not, page by page', async () => {
  const [early, late, kept] = [randomUUID(), randomUUID(), randomUUID()];
  const rows = [early, early, late, kept].map((recipientId) => ({ recipientId, createdAt: at(9) }));
  const [first = '', second = '', third = ''] = await addWaiting(rows);
  const [expired = ''] = await addWaiting([{ recipientId: late, createdAt: at(1) }]);
  // The request of one was recorded after the erasure.
  await addErased([early], at(8));
  await addErased([late], at(10));
  const found = [first, second, third].toSorted();
  expect(await query.ofErasedParties(at(1), { limit: 10, after: null })).toEqual(found);
  expect(await query.ofErasedParties(at(1), { limit: 2, after: null })).toEqual(found.slice(0, 2));
  const after = found[1] ?? null;
  expect(await query.ofErasedParties(at(1), { limit: 2, after })).toEqual(found.slice(2));
  expect(await query.ofErasedParties(at(0), { limit: 10, after: null })).toContain(expired);
  // The originator of all of them.
  await addErased([ids.originator], at(10));
  expect(await query.ofErasedParties(at(1), { limit: 10, after: null })).toHaveLength(4);
});

it('does not read the approvals that were left to expire when it looks for those of erased people', async () => {
  const expired = 20_000;
  await addWaiting(
    Array.from({ length: expired }, () => ({ recipientId: randomUUID(), createdAt: at(0) })),
  );
  const [recipientId = ''] = uuids(1);
  const [approvalId] = await addWaiting([{ recipientId, createdAt: at(9) }]);
  await addErased([recipientId], at(10));
  await pool.query('ANALYZE approvals, erased_parties');
  const read = async () => {
    await pool.query('SELECT pg_stat_force_next_flush()');
    const { rows } = await pool.query<{ read: string }>(
      `SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS read FROM pg_stat_user_tables
       WHERE relname = 'approvals'`,
    );
    return Number(rows[0]?.read);
  };
  const before = await read();
  const page = { limit: 10, after: null };
  expect(await query.ofErasedParties(at(1), page)).toEqual([approvalId]);
  expect((await read()) - before).toBeLessThan(100);
});
