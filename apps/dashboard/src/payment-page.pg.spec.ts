import { randomUUID } from 'node:crypto';
import { payment as payments, type PaymentCommand, returnReasons } from '@pis/domain';
import { repository } from '@pis/event-store';
import { type Board, type BoardReply, by, startBoard } from './testing/board.js';

let board: Board;
beforeAll(async () => {
  board = await startBoard();
});
afterAll(() => board?.close());

const dataOf = <Data>({ body, text, status }: BoardReply): Data => {
  if (status !== 200) throw new Error(text);
  return body.data as Data;
};

/** A payment that was sent to a saved contact, and who may look at it. */
async function sent() {
  const organizationId = await board.newOrganization();
  const originatorId = await board.newOriginator(organizationId);
  const operator = await board.signedIn(await board.newUser('operator', organizationId));
  const viewer = await board.signedIn(await board.newUser('viewer', organizationId));
  const post = (path: string, body: unknown) =>
    board.call(path, { method: 'POST', cookie: operator, body });
  const contact = await post('/contacts', {
    ...{ originatorId, entityType: 'INDIVIDUAL', firstName: 'Ada', lastName: 'Lovelace' },
    email: 'ada@example.com',
    bankAccount: {
      subType: 'CHECKING',
      achRoutingNumber: '021000021',
      achAccountNumber: '000123456789',
    },
  });
  const { contactId } = dataOf<{ contactId: string }>(contact);
  const created = await post('/payments', {
    ...{ originatorId, direction: 'OUTBOUND', recipient: { contactId }, paymentAmount: 12_345 },
    idempotencyKey: randomUUID(),
  });
  const { paymentId } = dataOf<{ paymentId: string }>(created);
  const page = (cookie: string) => board.call(`/payments/${paymentId}`, { cookie });
  const simulate = (outcome: string, returnReasonCode?: string) =>
    post(`/payments/${paymentId}/simulate`, { outcome, returnReasonCode });
  const execute = async (command: PaymentCommand) => {
    const result = await repository(board.store, payments).execute(paymentId, command, by);
    if ('refused' in result) throw new Error(result.refused);
  };
  return { paymentId, organizationId, originatorId, operator, viewer, page, simulate, execute };
}

it('the page of a payment says why each other rail was not chosen', async () => {
  const { page, viewer } = await sent();
  const { railDecision } = dataOf<{
    railDecision: { rejected: readonly { paymentRail: string; reason: string }[] };
  }>(await page(viewer));
  const reasons = new Map(railDecision.rejected.map((one) => [one.paymentRail, one.reason]));
  expect(reasons.get('SWIFT')).toBe(
    'SWIFT is only for accounts with a SWIFT code of another country than the US.',
  );
});

it('the sandbox offers the outcomes that the state allows, to those who may simulate', async () => {
  const { page, viewer, operator, simulate, execute } = await sent();
  const simulation = async (cookie = operator) =>
    dataOf<{ simulation: unknown }>(await page(cookie)).simulation;
  const only = (...outcomes: readonly string[]) => ({ outcomes, returnReasons: [] });
  expect(await simulation(viewer)).toBeNull();
  expect(await simulation()).toEqual(only('fail'));
  const at = new Date().toISOString();
  const data = { railReference: '0'.repeat(22), connection: 'ach' };
  await execute({ type: 'ProcessPayment', at, data });
  expect(await simulation()).toEqual(only('complete', 'fail', 'time_out'));
  expect((await simulate('late_confirm')).status).toBe(409);
  expect((await simulate('time_out')).status).toBe(200);
  expect(await simulation()).toEqual(only('late_confirm'));
  expect((await simulate('late_confirm')).status).toBe(200);
  const completed = (await simulation()) as { outcomes: string[]; returnReasons: unknown[] };
  expect(completed.outcomes).toEqual(['return']);
  expect(completed.returnReasons).toHaveLength(Object.keys(returnReasons).length);
  expect((await simulate('return', 'R02')).status).toBe(200);
  const returned = dataOf(await page(viewer));
  expect(returned).toMatchObject({
    payment: { status: 'RETURNED', returnReasonCode: 'R02' },
    returnReason: {
      code: 'R02',
      title: 'Account closed',
      advice: expect.stringContaining('cannot be used') as unknown,
    },
  });
  expect(await simulation()).toEqual(only());
});

it('the references of the bank come with the names of its files, to the organization of the payment alone', async () => {
  const { paymentId, organizationId, page, viewer, execute } = await sent();
  const none = { traceNumber: null, messageId: null, instructionId: null, uetr: null, files: [] };
  expect(dataOf(await page(viewer))).toMatchObject({ bankReferences: none });
  const reference = 'A'.repeat(22);
  const fileId = randomUUID();
  await board.pool.query(
    `INSERT INTO iso_transfers (connection, reference, state, message_id, instruction_id, uetr, file_id)
      VALUES ('wire', $1, 'accepted', 'MSG1', 'INS1', 'uetr-1', $2)`,
    [reference, fileId],
  );
  await board.pool.query(
    `INSERT INTO rail_files (id, connection, rail, way, kind, name, sha256, size_bytes)
      VALUES ($1, 'wire', 'FEDWIRE', 'out', 'pacs.008', 'MSG1', $2, 87654)`,
    [fileId, Buffer.alloc(32)],
  );
  await board.pool.query(
    `INSERT INTO rail_file_parts (file_id, part, owner, size_bytes, sealed, payment_id)
      VALUES ($1, 0, 'contact:1', 3, 'sealed', $2)`,
    [fileId, paymentId],
  );
  const data = { railReference: reference, connection: 'wire' };
  await execute({ type: 'ProcessPayment', at: new Date().toISOString(), data });
  const shown = await page(viewer);
  expect(shown.text).not.toContain('sealed');
  expect(dataOf(shown)).toMatchObject({
    bankReferences: {
      ...{ traceNumber: null, messageId: 'MSG1', instructionId: 'INS1', uetr: 'uetr-1' },
      files: [{ id: fileId, rail: 'FEDWIRE', way: 'out', kind: 'pacs.008', name: 'MSG1' }],
    },
  });
  const evidenceFor = (cookie: string) =>
    board.call(`/payments/${paymentId}/evidence`, { method: 'GET', cookie });
  const operator = await board.signedIn(await board.newUser('operator', organizationId));
  const { text } = await evidenceFor(operator);
  expect(text).toContain('MSG1');
  // A file has entries of other organizations, too. Its size would tell how many.
  expect([shown.text, text].filter((one) => one.includes('87654'))).toEqual([]);
  const stranger = await board.signedIn(await board.newUser('admin'));
  expect((await page(stranger)).status).toBe(404);
  expect((await evidenceFor(stranger)).status).toBe(404);
});

it('evidence names at most 1,000 files at the bank', async () => {
  const { paymentId, organizationId } = await sent();
  await board.pool.query(
    `WITH files AS (
        INSERT INTO rail_files (id, connection, rail, way, kind, name, sha256, size_bytes)
          SELECT gen_random_uuid(), 'many', 'ACH', 'in', 'nacha', 'MANYFILE', sha256(n::text::bytea), 1
            FROM generate_series(1, 1001) AS n RETURNING id)
      INSERT INTO rail_file_parts (file_id, part, owner, size_bytes, sealed, payment_id)
        SELECT id, 0, 'contact:1', 3, 'sealed', $1 FROM files`,
    [paymentId],
  );
  const operator = await board.signedIn(await board.newUser('operator', organizationId));
  const { text } = await board.call(`/payments/${paymentId}/evidence`, {
    ...{ method: 'GET', cookie: operator },
  });
  expect(text.match(/MANYFILE/g)?.length).toBe(1_000);
});

it('the money that moved is listed, and what a return took back with the reference of the bank', async () => {
  const { paymentId, organizationId, originatorId, page, viewer } = await sent();
  expect(dataOf(await page(viewer))).toMatchObject({ movements: [] });
  const moved = (kind: string, side: string, reference: string | null, at: string, owner: string) =>
    board.pool.query(
      `INSERT INTO movements (movement_id, organization_id, originator_id, payment_id, kind, side,
          amount_minor, rail, reference, at, position)
        VALUES (gen_random_uuid(), $1, $2, $3, $4, $5, 12345, 'ACH', $6, $7, $8)`,
      [owner, originatorId, paymentId, kind, side, reference, at, at],
    );
  await moved('transfer', 'debit', 'ours-1', '2026-03-01T09:00:00.000Z', organizationId);
  await moved('return', 'credit', 'BANK-7', '2026-06-15T10:00:00.000Z', organizationId);
  await moved('later_return', 'credit', 'BANK-8', '2026-06-16T10:00:00.000Z', organizationId);
  await moved('return', 'credit', 'theirs', '2026-06-15T10:00:00.000Z', randomUUID());
  const shown = { movementId: expect.any(String), amount: 12_345, paymentRail: 'ACH' };
  expect(dataOf<{ movements: unknown }>(await page(viewer)).movements).toEqual([
    {
      ...{ ...shown, kind: 'transfer', side: 'debit', reference: 'ours-1' },
      at: '2026-03-01T09:00:00.000Z',
    },
    {
      ...{ ...shown, kind: 'return', side: 'credit', reference: 'BANK-7' },
      at: '2026-06-15T10:00:00.000Z',
    },
    {
      ...{ ...shown, kind: 'return', side: 'credit', reference: 'BANK-8' },
      at: '2026-06-16T10:00:00.000Z',
    },
  ]);
});

it('the page says what came back of a payment, and what banks kept', async () => {
  const { paymentId, page, viewer, execute } = await sent();
  const returned = async () => dataOf<{ returned: unknown }>(await page(viewer)).returned;
  const at = new Date().toISOString();
  await execute({ type: 'ProcessPayment', at, data: { railReference: '0'.repeat(22) } });
  await execute({ type: 'CompletePayment', at, data: {} });
  expect(await returned()).toBeNull();
  const data = { returnReasonCode: null, returnedAmountMinor: 12_000 };
  const records = repository(board.store, payments);
  const completed = await records.load(paymentId);
  await records.append(paymentId, completed, [{ type: 'PaymentReturned', at, data }], by);
  expect(await returned()).toEqual({ amount: 12_000, kept: 345 });
  const more = { returnReasonCode: null, returnReference: 'BANK-8', returnedAmountMinor: 300 };
  const before = await records.load(paymentId);
  await records.append(paymentId, before, [{ type: 'PaymentReturnedAgain', at, data: more }], by);
  expect(await returned()).toEqual({ amount: 12_300, kept: 45 });
});

it('in production nothing can be simulated, and no administrator sets the fees of their organization', async () => {
  const production = await startBoard({ changes: { PIS_ENVIRONMENT: 'production' } });
  const admin = await production.newUser('admin');
  const cookie = await production.signedIn(admin);
  const body = { outcome: 'complete' };
  const path = `/payments/${randomUUID()}/simulate`;
  expect((await production.call(path, { method: 'POST', cookie, body })).status).toBe(404);
  const { data: fees } = (await production.call('/settings/fees', { cookie })).body;
  const { schedules } = fees as { schedules: readonly object[] };
  const none = { schedules: [], shown: schedules };
  const set = { method: 'POST', cookie, body: none } as const;
  expect((await production.call('/settings/fees', set)).status).toBe(404);
  expect((await production.call('/settings/fees', { cookie })).body.data).toEqual({ schedules });
  await production.close();
});
