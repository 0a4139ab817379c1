import { randomUUID } from 'node:crypto';
import { readPauses, resumeConnection } from '@pis/bank-rails/connections';
import { contact as contacts, type UserRole } from '@pis/domain';
import { repository, StoreUnavailable } from '@pis/event-store';
import { ownerOf } from '@pis/keyring';
import { ApprovalsQuery, projections } from '@pis/read-models';
import { KEYRING } from '@pis/service-kit';
import { keepApprovals } from './approval-upkeep.js';
import type { ApprovalPage, ApprovalView } from './operations/approvals.js';
import { type Board, type BoardReply, by, startBoard } from './testing/board.js';
import { USE_CASES, type UseCases } from './use-cases.js';

let board: Board;
beforeAll(async () => {
  board = await startBoard({ projections: Object.values(projections) });
});
afterAll(() => board?.close());

const get = (path: string, cookie: string) => board.call(path, { cookie });
const post = (path: string, cookie: string, body?: unknown) =>
  board.call(path, { method: 'POST', cookie, ...(body === undefined ? {} : { body }) });
const dataOf = <Data>({ body, text, status }: BoardReply): Data => {
  if (status !== 200) throw new Error(text);
  return body.data as Data;
};
const amountAbove = 5_000;

/** An organization that asks for approvals, and signed-in people. */
async function tenant() {
  const organizationId = await board.newOrganization();
  const originatorId = await board.newOriginator(organizationId);
  const person = async (role: UserRole) => {
    const user = await board.newUser(role, organizationId);
    return { ...user, cookie: await board.signedIn(user) };
  };
  const people = {
    viewer: await person('viewer'),
    operator: await person('operator'),
    approver: await person('approver'),
    admin: await person('admin'),
  };
  const set = { method: 'PATCH', cookie: people.admin.cookie, body: { amountAbove } } as const;
  dataOf(await board.call('/settings/approvals', set));
  const request = (changes: object = {}) => ({
    ...{ originatorId, direction: 'INBOUND', paymentAmount: amountAbove + 1 },
    recipient: { entityType: 'INDIVIDUAL', firstName: 'Grace', lastName: 'Hopper' },
    ...{ paymentNote: 'Invoice 7', idempotencyKey: randomUUID(), ...changes },
  });
  const waiting = async (cookie = people.operator.cookie, changes: object = {}) =>
    dataOf<{ approvalId: string }>(await post('/payments', cookie, request(changes))).approvalId;
  return { organizationId, originatorId, ...people, request, waiting };
}
type Tenant = Awaited<ReturnType<typeof tenant>>;
const list = async ({ cookie }: Tenant['viewer'], query = '') =>
  dataOf<readonly ApprovalView[]>(await get(`/approvals${query}`, cookie));
const one = async ({ cookie }: Tenant['viewer'], approvalId: string) =>
  dataOf<ApprovalPage>(await get(`/approvals/${approvalId}`, cookie));
const count = async ({ cookie }: Tenant['viewer']) =>
  dataOf<{ waiting: number }>(await get('/me/approvals', cookie)).waiting;

it('an approval is not rejected after a failover before its operator has compared with the bank', async () => {
  const { waiting, approver } = await tenant();
  const approvalId = await waiting();
  const reject = () =>
    post(`/approvals/${approvalId}/reject`, approver.cookie, { reason: 'not ordered' });
  await readPauses(board.pool, ['bank']);
  await board.pool.query("UPDATE rail_connections SET identity = 'lost'");
  await readPauses(board.pool, ['bank']);
  const refused = await reject();
  expect(refused.status).toBe(409);
  expect(refused.text).toContain('a bank may have the payment');
  await resumeConnection(board.pool, 'bank');
  expect(dataOf<ApprovalView>(await reject()).state).toBe('REJECTED');
});

it('an approval shows the account of the originator that it holds for, until that is another one', async () => {
  const { waiting, approver, admin, originatorId } = await tenant();
  const approvalId = await waiting();
  const shown = async () => (await one(approver, approvalId)).originatorAccount;
  const path = `/originators/${originatorId}`;
  const { bankAccount } = dataOf<{ bankAccount: object }>(await get(path, approver.cookie));
  expect(bankAccount).toMatchObject({ achAccountNumber: expect.stringMatching(/^\*+\d{4}$/) });
  expect(await shown()).toEqual(bankAccount);

  const other = {
    ...{ subType: 'CHECKING', achRoutingNumber: '021000021', achAccountNumber: '999888777666' },
  };
  const patch = { method: 'PATCH', cookie: admin.cookie, body: { bankAccount: other } } as const;
  dataOf(await board.call(path, patch));
  expect(await shown()).toBeNull();
  const approved = await post(`/approvals/${approvalId}/approve`, approver.cookie);
  expect(dataOf<ApprovalView>(approved).refusal).toMatchObject({ refused: 'ORIGINATOR_CHANGED' });
});

it('the amount is set by administrators, shown to everybody, and off at first', async () => {
  const organizationId = await board.newOrganization();
  const admin = await board.signedIn(await board.newUser('admin', organizationId));
  const viewer = await board.signedIn(await board.newUser('viewer', organizationId));
  const show = async () => dataOf(await get('/settings/approvals', viewer));
  const set = (body: unknown, cookie = admin) =>
    board.call('/settings/approvals', { method: 'PATCH', cookie, body });
  expect(await show()).toEqual({ amountAbove: null });
  expect(dataOf(await set({ amountAbove: 0 }))).toEqual({ amountAbove: 0 });
  expect(await show()).toEqual({ amountAbove: 0 });
  expect(dataOf(await set({ amountAbove: null }))).toEqual({ amountAbove: null });
  expect((await set({ amountAbove: 1 }, viewer)).status).toBe(403);
  for (const [amount, issue] of [
    [-1, 'validation_min'],
    [0.5, 'validation_integer'],
    [100_000_000_000, 'validation_max'],
    ['1', 'validation_type'],
    [undefined, 'validation_required'],
  ] as const) {
    const refused = await set({ amountAbove: amount });
    expect([refused.status, refused.body.error?.details?.[0]]).toMatchObject([
      400,
      { field: 'amountAbove', issue },
    ]);
  }
  expect(await show()).toEqual({ amountAbove: null });
});

it('a payment above the amount waits, is approved by a second person, and shows both', async () => {
  const { operator, approver, viewer, request, originatorId } = await tenant();
  const body = request();
  const waits = { approvalId: expect.any(String) as unknown, status: 'WAITING_FOR_APPROVAL' };
  const asked = dataOf<{ approvalId: string }>(await post('/payments', operator.cookie, body));
  expect(asked).toEqual(waits);
  expect(dataOf(await post('/payments', operator.cookie, body))).toEqual(asked);
  const { approvalId } = asked;
  expect(dataOf(await get('/payments', viewer.cookie))).toEqual([]);
  expect((await get(`/payments/${approvalId}`, viewer.cookie)).status).toBe(404);

  expect(await one(approver, approvalId)).toMatchObject({
    ...{ approvalId, state: 'WAITING', originatorId, originatorName: 'Board Trading LLC' },
    recipient: { firstName: 'Grace', lastName: 'Hopper', bankAccount: null },
    ...{ paymentAmount: amountAbove + 1, paymentNote: 'Invoice 7', direction: 'INBOUND' },
    requestedBy: { userId: operator.userId, email: operator.email },
    ...{ decidedBy: null, paymentId: null, mayDecide: true, mayWithdraw: false },
  });
  expect(await list(operator)).toMatchObject([{ approvalId, mayDecide: false, mayWithdraw: true }]);
  expect([await count(approver), await count(operator)]).toEqual([1, 0]);

  const path = `/approvals/${approvalId}/approve`;
  const approved = dataOf<ApprovalView>(await post(path, approver.cookie));
  expect(approved).toMatchObject({
    ...{ state: 'CREATED', paymentId: approvalId, mayDecide: false },
    decidedBy: { userId: approver.userId, email: approver.email },
  });
  expect(dataOf(await post(path, approver.cookie))).toEqual(approved);
  expect(await count(approver)).toBe(0);
  expect(dataOf(await get(`/payments/${approvalId}`, viewer.cookie))).toMatchObject({
    payment: { status: 'AWAITING_CONFIRMATION', paymentAmount: amountAbove + 1 },
    approval: {
      requestedBy: { userId: operator.userId, email: operator.email },
      approvedBy: { userId: approver.userId, email: approver.email },
    },
  });
  expect(dataOf<unknown[]>(await get('/payments', viewer.cookie))).toHaveLength(1);
});

it('nobody decides on their own request, and only its requester withdraws it', async () => {
  const { operator, approver, admin, waiting } = await tenant();
  for (const { cookie } of [approver, admin]) {
    const own = await waiting(cookie);
    for (const [action, body] of [
      ['approve', undefined],
      ['reject', { reason: 'no' }],
    ] as const) {
      const reply = await post(`/approvals/${own}/${action}`, cookie, body);
      expect([reply.status, reply.body.error?.code]).toEqual([403, 'FORBIDDEN']);
    }
  }
  const approvalId = await waiting();
  expect((await post(`/approvals/${approvalId}/withdraw`, admin.cookie)).status).toBe(403);
  expect((await post(`/approvals/${approvalId}/approve`, operator.cookie)).status).toBe(403);
  const withdrawn = await post(`/approvals/${approvalId}/withdraw`, operator.cookie);
  expect(dataOf(withdrawn)).toMatchObject({ state: 'WITHDRAWN' });
  const late = await post(`/approvals/${approvalId}/approve`, approver.cookie);
  expect([late.status, late.body.error?.code]).toEqual([409, 'CONFLICT']);
});

it('a rejection takes a reason, which the list shows', async () => {
  const { approver, viewer, waiting } = await tenant();
  const approvalId = await waiting();
  const reject = (body: unknown) => post(`/approvals/${approvalId}/reject`, approver.cookie, body);
  for (const reason of [undefined, '', 'x'.repeat(501), 'a\0b', 7])
    expect((await reject({ reason })).body.error?.details?.[0]?.field).toBe('reason');
  dataOf(await reject({ reason: 'Not ours' }));
  expect(await list(viewer, '?state=REJECTED')).toMatchObject([
    { approvalId, reason: 'Not ours', decidedBy: { email: approver.email } },
  ]);
  expect(await list(viewer, '?state=WAITING')).toEqual([]);
});

it('the list has pages and states, and is of one organization alone', async () => {
  const { operator, approver, waiting } = await tenant();
  const theirs = await tenant();
  const ids = [await waiting(), await waiting(), await waiting()];
  const first = await get('/approvals?limit=2', operator.cookie);
  const next = first.body.meta?.pagination?.nextCursor ?? '';
  const pages = [...dataOf<ApprovalView[]>(first), ...(await list(operator, `?cursor=${next}`))];
  expect(pages.map(({ approvalId }) => approvalId)).toEqual(ids.toReversed());
  for (const query of ['?state=NONE', '?limit=101', '?cursor=x'])
    expect((await get(`/approvals${query}`, operator.cookie)).status).toBe(400);
  const stolen = await get(`/approvals?cursor=${next}`, theirs.operator.cookie);
  expect(stolen.status).toBe(400);

  await board.pool.query(
    `UPDATE approvals SET created_at = created_at - interval '7 days' WHERE approval_id = $1`,
    [ids[0]],
  );
  expect((await list(operator, '?state=EXPIRED')).map((a) => a.approvalId)).toEqual([ids[0]]);
  expect(await list(operator, '?state=WAITING')).toHaveLength(2);
  expect(await count(approver)).toBe(2);

  expect(await list(theirs.admin)).toEqual([]);
  expect(await count(theirs.admin)).toBe(0);
  for (const [method, action, body] of [
    ['GET', '', undefined],
    ['POST', '/approve', undefined],
    ['POST', '/reject', { reason: 'no' }],
    ['POST', '/withdraw', undefined],
  ] as const) {
    const call = { method, cookie: theirs.admin.cookie, ...(body && { body }) };
    expect((await board.call(`/approvals/${ids[1]}${action}`, call)).status).toBe(404);
  }
});

it('why an approved payment could not be created is shown', async () => {
  const { organizationId, originatorId, operator, approver, waiting } = await tenant();
  const contact = {
    originatorId,
    entityType: 'BUSINESS',
    companyName: 'Acme',
    email: 'a@b.example',
  };
  const created = await post('/contacts', operator.cookie, contact);
  const { contactId } = dataOf<{ contactId: string }>(created);
  const approvalId = await waiting(operator.cookie, { recipient: { contactId } });
  const data = { reason: 'asked', by: 'test', overridesRetention: false, requestId: 'r' };
  const erase = { type: 'RequestErasure', at: new Date().toISOString(), data } as const;
  await repository(board.store, contacts).execute(contactId, erase, by);
  const approved = dataOf<ApprovalView>(
    await post(`/approvals/${approvalId}/approve`, approver.cookie),
  );
  expect(approved).toMatchObject({
    ...{ state: 'REFUSED', paymentId: null, contactId },
    refusal: { refused: 'CONTACT_NOT_FOUND', problems: [] },
  });
  expect(organizationId).toBeDefined();
});

it('what a process left is settled in the background: payments to create, requests of erased people', async () => {
  const { organizationId, operator, approver, viewer, waiting } = await tenant();
  const { approvals } = board.app.get<UseCases>(USE_CASES);
  const query = new ApprovalsQuery(board.pool);
  const [granted, ofErased, kept] = [await waiting(), await waiting(), await waiting()];
  // The process died before it created the payment.
  const settle = approvals.settle.bind(approvals);
  approvals.settle = () => Promise.reject(new StoreUnavailable('killed'));
  const left = await post(`/approvals/${granted}/approve`, approver.cookie);
  approvals.settle = settle;
  expect(dataOf(left)).toMatchObject({ state: 'APPROVED', paymentId: null });
  expect(await list(viewer, '?state=APPROVED')).toHaveLength(1);

  const { recipient } = await one(viewer, ofErased);
  const keyring = board.app.get<{ destroy(owners: readonly string[]): Promise<void> }>(KEYRING);
  await keyring.destroy([ownerOf.contact(recipient.id)]);
  const { originatorId } = await one(viewer, ofErased);
  const data = { contactId: recipient.id, organizationId, originatorId, entityType: 'INDIVIDUAL' };
  const requestId = randomUUID();
  const erasure = { reason: 'asked', by: 'test', overridesRetention: false, requestId };
  const steps = [
    { type: 'NoteUnsavedContact', data },
    { type: 'RequestErasure', data: erasure },
    { type: 'ConfirmErasure', data: { requestId } },
    { type: 'CompleteErasure', data: {} },
  ] as const;
  for (const step of steps) {
    const command = { ...step, at: new Date().toISOString() } as never;
    await repository(board.store, contacts).execute(recipient.id, command, by);
  }
  await board.runners[1]?.waitFor(await board.store.lastPosition(), 10_000);
  expect(await one(viewer, ofErased)).toMatchObject({
    ...{ state: 'ENDED', mayDecide: false, recipient: { erased: true, firstName: null } },
  });
  const refused = await post(`/approvals/${ofErased}/approve`, approver.cookie);
  expect(refused.status).toBe(409);

  const failures: string[] = [];
  const failed = (_error: unknown, approvalId: string) => void failures.push(approvalId);
  const round = (before: string) => keepApprovals({ approvals, query, failed }, before);
  await round(new Date(0).toISOString());
  expect(await one(viewer, granted)).toMatchObject({ state: 'APPROVED' });
  for (let rounds = 1; rounds <= 2; rounds += 1) await round('9999-12-31T00:00:00Z');
  expect(failures).toEqual([]);
  expect(await one(viewer, granted)).toMatchObject({ state: 'CREATED', paymentId: granted });
  expect(await board.store.readStream(`payment-${granted}`)).toHaveLength(1);
  expect((await list(viewer, '?state=ENDED')).map((a) => a.approvalId)).toEqual([ofErased]);
  expect((await list(operator, '?state=WAITING')).map((a) => a.approvalId)).toEqual([kept]);
});
