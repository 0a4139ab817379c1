/** The tables of payment links on real rows: lookups, the projection from the log, and the record of accesses. */
import { randomBytes, randomUUID } from 'node:crypto';
import { payment as payments, type PaymentCommand } from '@pis/domain';
import { linkRequest, paymentCommands, paymentExample } from '@pis/domain/testing';
import { type EventStore, repository, sealedStore, systemContext } from '@pis/event-store';
import { MemorySealing } from '@pis/event-store/testing';
import { type NewAccess, PaymentLinkAccesses, PaymentLinkTable } from './payment-link-table.js';
import { rebuildProjection } from './rebuild.js';
import { rebuildScene, type RebuildScene } from './testing/rebuild-scene.js';

const by = systemContext('test');
const at = '2026-11-21T09:00:00.000Z';

let scene: RebuildScene;
let store: EventStore;
let table: PaymentLinkTable;
beforeEach(async () => {
  scene = await rebuildScene();
  store = sealedStore(scene.store, new MemorySealing());
  scene.store = store;
  table = new PaymentLinkTable(scene.pool);
});
afterEach(() => scene.close());

const digest = () => randomBytes(32).toString('hex');

async function execute(paymentId: string, command: PaymentCommand): Promise<void> {
  const executed = await repository(store, payments).execute(paymentId, command, by);
  if ('refused' in executed) throw new Error(executed.refused);
}

/** A payment with a link, recorded without its row. */
async function linked(counterpartyId = randomUUID()) {
  const paymentId = randomUUID();
  const tokenDigest = digest();
  const link = { ...linkRequest, tokenDigest, counterpartyId };
  const details = paymentExample({ paymentId, contactId: null, contact: null });
  await execute(paymentId, { type: 'AwaitConfirmation', at, data: { ...details, link } });
  return { paymentId, tokenDigest, counterpartyId };
}

async function projected(): Promise<void> {
  const { createRunner } = scene;
  const runner = createRunner(store);
  runner.start();
  if (!(await runner.waitFor(await store.lastPosition(), 30_000))) throw new Error('it lags');
  await runner.stop();
}

it('a token is found from the moment its row is written, and no other one is', async () => {
  const paymentId = randomUUID();
  const tokenDigest = digest();
  const row = { tokenDigest, paymentId, organizationId: randomUUID(), counterpartyId: null };
  await table.add({ ...row, expiresAt: at });
  await table.add({ ...row, expiresAt: at });
  expect(await table.find(tokenDigest)).toBe(paymentId);
  expect(await table.find(digest())).toBeNull();
  await table.disable(paymentId, at);
  expect(await table.find(tokenDigest)).toBeNull();
});

it('the projection writes rows that were lost, and disables those of canceled payments', async () => {
  const open = await linked();
  const canceled = await linked();
  await execute(canceled.paymentId, { ...paymentCommands.CancelPayment, at });
  // A row of a payment that was canceled by a process that died then.
  const organizationId = randomUUID();
  const lost = { ...canceled, organizationId, expiresAt: at };
  await table.add(lost);
  await projected();
  expect(await table.find(open.tokenDigest)).toBe(open.paymentId);
  expect(await table.find(canceled.tokenDigest)).toBeNull();
  // Both are found by the counterparty, so that it can be erased.
  for (const { counterpartyId, paymentId } of [open, canceled])
    expect(await table.paymentsOfCounterparty(counterpartyId)).toEqual([paymentId]);
});

it('a rebuild makes the same rows again', async () => {
  const open = await linked();
  const canceled = await linked();
  await execute(canceled.paymentId, { ...paymentCommands.CancelPayment, at });
  await projected();
  await scene.pool.query('DELETE FROM payment_links');
  await rebuildProjection('payments', { store, pool: scene.pool });
  expect(await table.find(open.tokenDigest)).toBe(open.paymentId);
  expect(await table.find(canceled.tokenDigest)).toBeNull();
});

it('the list finds a payment by the counterparty that its link names, before and after its answer', async () => {
  const { paymentId, counterpartyId } = await linked();
  await projected();
  const contactOf = async () =>
    (await scene.pool.query('SELECT contact_id FROM payments WHERE payment_id = $1', [paymentId]))
      .rows;
  expect(await contactOf()).toEqual([{ contact_id: counterpartyId }]);
  await execute(paymentId, { ...paymentCommands.SubmitCounterparty, at });
  await projected();
  expect(await contactOf()).toEqual([{ contact_id: counterpartyId }]);
});

describe('the record of accesses', () => {
  let accesses: PaymentLinkAccesses;
  let paymentId: string;
  beforeEach(() => {
    accesses = new PaymentLinkAccesses(scene.pool);
    paymentId = randomUUID();
  });
  const organizationId = randomUUID();
  const laterBy = (ms: number) => new Date(Date.parse(at) + ms).toISOString();
  const access = (changes: Partial<NewAccess> & Pick<NewAccess, 'kind'>): NewAccess => ({
    ...{ accessId: randomUUID(), paymentId, organizationId, at },
    ...{ actor: null, outcome: null, sealed: null, ...changes },
  });
  const opens = (count: number, afterMs = 0) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        accesses.record(
          access({ kind: 'open', at: laterBy(afterMs + index), sealed: `v3.${index}` }),
        ),
      ),
    );

  it('has the order of their times, with the outcome of a submission', async () => {
    await opens(300);
    const later = '2026-11-22T09:00:00.000Z';
    const submit = access({ kind: 'submit', at: later });
    await accesses.record(submit);
    await accesses.setOutcome(submit.accessId, 'QUEUED');
    const [newest, second] = await accesses.list(paymentId, 2);
    expect(newest).toMatchObject({ ...submit, outcome: 'QUEUED', lastAt: later, count: 1 });
    expect(second).toMatchObject({ kind: 'open', sealed: 'v3.299' });
    expect(await accesses.list(paymentId, 1_000)).toHaveLength(301);
    expect(await accesses.list(randomUUID(), 10)).toEqual([]);
  });

  it('counts accesses of one ID in one row, whether they arrive together or not', async () => {
    const open = access({ kind: 'open', sealed: 'v3.first' });
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        accesses.record({ ...open, at: laterBy(index), sealed: index === 0 ? open.sealed : 'v3.' }),
      ),
    );
    await accesses.record({ ...open, at: laterBy(900) });
    expect(await accesses.list(paymentId, 10)).toEqual([
      { ...open, lastAt: laterBy(900), count: 51 },
    ]);
  });

  it('lists submissions and showings that are older than any number of opens', async () => {
    await accesses.record(access({ kind: 'show', actor: 'user:u-1' }));
    await accesses.record(access({ kind: 'submit', outcome: 'QUEUED', at: laterBy(1) }));
    for (const ms of [2, 3, 4])
      await accesses.record(
        access({ kind: 'submit', outcome: 'ALREADY_SUBMITTED', at: laterBy(ms) }),
      );
    await opens(20, 10);
    const listed = await accesses.list(paymentId, 2);
    expect(listed.map(({ kind, outcome }) => outcome ?? kind)).toEqual([
      ...['open', 'open', 'ALREADY_SUBMITTED', 'ALREADY_SUBMITTED', 'QUEUED', 'show'],
    ]);
  });

  it('has the rows of an earlier release as one access each', async () => {
    const { accessId } = access({ kind: 'open' });
    await scene.pool.query(
      `INSERT INTO payment_link_accesses (access_id, payment_id, organization_id, kind, at)
       VALUES ($1, $2, $3, 'open', $4)`,
      [accessId, paymentId, organizationId, at],
    );
    expect(await accesses.list(paymentId, 1)).toMatchObject([{ accessId, lastAt: at, count: 1 }]);
  });
});
