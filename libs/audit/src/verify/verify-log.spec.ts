import { createHash } from 'node:crypto';
import { contact, payment } from '@pis/domain';
import { contactExample, ids, later, paymentEvents, paymentExample } from '@pis/domain/testing';
import {
  hashOfEvent,
  memoryEventStore,
  MemoryLog,
  repository,
  sealedStore,
} from '@pis/event-store';
import { MemorySealing } from '@pis/event-store/testing';
import { hashOfLeaf, hashOfNode, leafOf } from '../leaf.js';
import type { KnownCheckpoint } from './log-audit.js';
import { checkpointText, noteSigner } from '../note.js';
import { portLog } from './log-source.js';
import { signedCheckpoints } from './signed-checkpoints.js';
import { verifyLog } from './verify-log.js';

const by = {
  actor: 'apiKey:1',
  requestId: 'r',
  correlationId: 'c',
  causationId: null,
  traceparent: null,
};
const { processing, completed, returned, returnedAgain } = paymentEvents;
const { awaiting, queuedFromLink, queued } = paymentEvents;

/** UUIDv5, as a client could compute it. */
function paymentIdOf(key: string): string {
  const namespace = Buffer.from(ids.organization.replaceAll('-', ''), 'hex');
  const digest = createHash('sha1').update(namespace).update(key).digest().subarray(0, 16);
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x50, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  return digest.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const paymentId = paymentIdOf('key-1042');
const details = paymentExample({ paymentId });
type Event = Parameters<ReturnType<typeof payments>['append']>[2][number];

let log: MemoryLog;
let store: ReturnType<typeof memoryEventStore>;
beforeEach(() => {
  log = new MemoryLog();
  store = sealedStore(memoryEventStore(log), new MemorySealing());
});

const signedIn = (revision: number) => signedCheckpoints(store, revision);
const payments = () => repository(store, payment);
const verify = (kept: readonly KnownCheckpoint[] = []) =>
  verifyLog({ source: portLog(store), kept });

/** Appended without a decision: also what the domain refuses. */
async function append(id: string, events: readonly Event[], context = by): Promise<void> {
  await payments().append(id, await payments().load(id), events, context);
}

async function differences(): Promise<string[]> {
  return (await verify()).findings.map(({ differs }) => differs);
}

async function contactUpdatedOnce(): Promise<void> {
  const contacts = repository(store, contact);
  const created = { type: 'CreateContact', at: later, data: contactExample() } as const;
  await contacts.create(ids.contact, created, by);
  const data = { changes: { email: 'b@mail.example' }, identity: 'i2' };
  await contacts.execute(ids.contact, { type: 'UpdateContact', at: later, data }, by);
}

it('finds nothing in a log that the service wrote, and says how much it read', async () => {
  await contactUpdatedOnce();
  await append(paymentId, [{ ...queued, data: details }, processing, completed, returned]);
  const link = { ...awaiting, data: { ...awaiting.data, paymentId: ids.payment } };
  const answered = { ...queuedFromLink, data: { ...queuedFromLink.data, paymentId: ids.payment } };
  await append(ids.payment, [link, answered], { ...by, actor: `user:${ids.contact}` });

  const report = await verify();
  expect(report.findings).toEqual([]);
  expect(report).toMatchObject({ ok: true, eventsRead: 8, streams: 3, treeSize: 8 });
  expect(report.eventsPerSecond).toBeGreaterThan(0);
});

it('an empty log holds, with the root of an empty tree', async () => {
  const rootHash = createHash('sha256').digest('base64');
  expect(await verify()).toMatchObject({ ok: true, eventsRead: 0, rootHash });
});

it('the root is that of RFC 6962 over the leaves of the stored events', async () => {
  await append(paymentId, [{ ...queued, data: details }, processing, completed]);
  const [a, b, c] = log.events.map((event) => hashOfLeaf(leafOf(event)));
  if (a === undefined || b === undefined || c === undefined) throw new Error('three leaves');
  const root = hashOfNode(hashOfNode(a, b), c).toString('base64');
  expect((await verify()).rootHash).toBe(root);
  const holds = { treeSize: 2, rootHash: hashOfNode(a, b).toString('base64'), from: 'kept' };
  expect(await verify([holds, { ...holds, treeSize: 3, rootHash: root }])).toMatchObject({
    ok: true,
    checkpointsCompared: 2,
  });
  const other = { ...holds, treeSize: 3 };
  const long = { ...holds, treeSize: 9, from: 'note.txt' };
  expect((await verify([holds, other, long])).findings.map(({ differs }) => differs)).toEqual([
    'the root of the first 3 leaves is not that of kept: one of the leaves 2 to 2 was altered, dropped, inserted or moved',
    'the log has 3 leaves, note.txt has 9: events are missing at its end',
  ]);
});

it('a transition that the specification does not have is found and named', async () => {
  await append(paymentId, [{ ...queued, data: details }, completed]);
  expect((await verify()).findings).toEqual([
    {
      stream: `payment-${paymentId}`,
      revision: 1,
      position: expect.any(String),
      differs: 'PaymentCompleted is no legal transition from QUEUED',
    },
  ]);
});

it('money that moves twice does not balance for its originator', async () => {
  const twice = [processing, completed, completed, returned];
  await append(paymentId, [{ ...queued, data: details }, ...twice]);
  expect(await differences()).toEqual([
    'PaymentCompleted is no legal transition from COMPLETED',
    `originator ${ids.originator}: 250000 completed less 125000 returned is not the 0 of its completed payments (minor units)`,
  ]);
});

it.each([
  [124_999, []],
  [1, []],
  [0, ['returnedAmountMinor is no part of the amount']],
  [125_000, ['returnedAmountMinor is no part of the amount']],
  [0.5, ['returnedAmountMinor is no part of the amount']],
])('a return of %d cents of 125,000 leads to the findings %j', async (cents, found) => {
  const data = { ...returned.data, returnedAmountMinor: cents };
  const events = [processing, completed, { ...returned, data }];
  await append(paymentId, [{ ...queued, data: details }, ...events]);
  expect(await differences()).toEqual(found);
});

it.each([
  [[300, 1_200], []],
  [[1_500], []],
  [[1_000, 501], ['returnedAmountMinor is no part of what had not come back']],
  [[0], ['returnedAmountMinor is no part of what had not come back']],
  [[0.5], ['returnedAmountMinor is no part of what had not come back']],
])('after a return less 1,500 cents, later returns of %j lead to %j', async (amounts, found) => {
  const first = { ...returned, data: { ...returned.data, returnedAmountMinor: 123_500 } };
  const more = amounts.map((returnedAmountMinor) => ({
    ...returnedAgain,
    data: { ...returnedAgain.data, returnedAmountMinor },
  }));
  await append(paymentId, [
    ...[{ ...queued, data: details }, processing, completed, first],
    ...more,
  ]);
  expect(await differences()).toEqual(found);
});

it('more of a payment that came back whole, or was not returned, is found', async () => {
  await append(paymentId, [{ ...queued, data: details }, processing, completed, returnedAgain]);
  await append(paymentId, [returned, returnedAgain]);
  expect(await differences()).toEqual([
    'PaymentReturnedAgain is no legal transition from COMPLETED',
    'returnedAmountMinor is no part of what had not come back',
    'returnedAmountMinor is no part of what had not come back',
  ]);
});

it('an amount that changes over the life of a payment is found', async () => {
  const link = { ...awaiting, data: { ...awaiting.data, paymentId: ids.payment } };
  const data = { ...queuedFromLink.data, paymentId: ids.payment, amountMinor: 999 };
  await append(ids.payment, [link, { ...queuedFromLink, data }], { ...by, actor: 'user:1' });
  expect(await differences()).toEqual(['amountMinor has changed since the first event']);
});

it.each<[string, Partial<typeof details>, string]>([
  [
    'whose ID is not that of its Idempotency-Key',
    { idempotencyKey: 'another' },
    'the payment ID does not follow from organization and Idempotency-Key',
  ],
  [
    'of an API key without an Idempotency-Key',
    { idempotencyKey: null },
    'an API key created the payment without an Idempotency-Key',
  ],
  [
    'under the name of another one',
    { paymentId: ids.payment },
    'paymentId is not the ID of the stream',
  ],
  ['without a positive amount', { amountMinor: 0 }, 'amountMinor is no positive integer'],
])('a payment %s is found', async (_what, changes, differs) => {
  await append(paymentId, [{ ...queued, data: { ...details, ...changes } }]);
  expect(await differences()).toEqual([differs]);
});

it.each<[string, object, string]>([
  [
    'of a newer release',
    { schemaVersion: 9 },
    'schema version 9 of PaymentCompleted is unknown, the newest is 1',
  ],
  ['without a version', { schemaVersion: null }, 'metadata.schemaVersion is missing'],
  ['without a time', { at: 'noon' }, 'metadata.at is no time'],
])('an event %s is found', async (_what, changes, differs) => {
  await append(paymentId, [{ ...queued, data: details }, processing, completed]);
  const last = log.events.at(-1);
  if (last === undefined) throw new Error('no event');
  const metadata = { ...last.metadata, ...changes } as typeof last.metadata;
  const altered = {
    ...store,
    readLog: async (...args: Parameters<typeof store.readLog>) => {
      const page = await store.readLog(...args);
      return {
        ...page,
        events: page.events.map((event) => (event.id === last.id ? { ...event, metadata } : event)),
      };
    },
  };
  const { findings } = await verifyLog({ source: portLog(altered) });
  expect(findings.map((finding) => finding.differs)).toEqual([differs]);
});

it('an event of a foreign type or stream, or with plain personal data, is found', async () => {
  const metadata = { ...by, at: later, schemaVersion: 2, previousHash: null };
  const raw = memoryEventStore(log);
  const foreign = (n: number, type: string, data: object) =>
    [{ id: `00000000-0000-4000-8000-00000000000${n}`, type, data: { ...data }, metadata }] as const;
  await raw.append('payment-x', 'noStream', foreign(1, 'PaymentTeleported', {}));
  await raw.append('elsewhere-1', 'noStream', foreign(2, 'Thing', {}));
  await raw.append(
    `contact-${ids.contact}`,
    'noStream',
    foreign(3, 'ContactCreated', contactExample()),
  );
  expect(await differences()).toEqual([
    'the type PaymentTeleported is unknown in streams of payment',
    'the stream belongs to no known category',
    `the personal data of contact:${ids.contact} is not sealed`,
  ]);
});

it('the report holds the first thousand findings and counts the rest', async () => {
  const raw = memoryEventStore(log);
  const metadata = { ...by, at: later, schemaVersion: 1, previousHash: null };
  for (let n = 0; n < 1_010; n += 1) {
    const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    await raw.append(`elsewhere-${n}`, 'noStream', [{ id, type: 'Thing', data: {}, metadata }]);
  }
  const report = await verify();
  expect(report.findings).toHaveLength(1_000);
  expect(report).toMatchObject({ ok: false, findingsTotal: 1_010 });
});

const signer = noteSigner(Buffer.alloc(32, 7));

function signedTree(treeSize: number, rootHash: string, by = signer) {
  const text = checkpointText(by.name, treeSize, Buffer.from(rootHash, 'base64'));
  return { treeSize, rootHash, note: by.sign(text), verifierKey: by.verifierKey };
}

async function sign(data: ReturnType<typeof signedTree>): Promise<void> {
  const metadata = { ...by, at: later, schemaVersion: 1, previousHash: null };
  const id = '00000000-0000-4000-8000-000000000001';
  const event = { id, type: 'CheckpointSigned', data, metadata };
  await store.append('audit-checkpoints', 'noStream', [event]);
}

it('finds a checkpoint whose root was replaced by somebody without the key', async () => {
  await append(paymentId, [{ ...queued, data: details }, processing]);
  const { rootHash } = await verify();
  const other = Buffer.alloc(32, 1).toString('base64');
  await sign({ ...signedTree(2, other), rootHash });
  const report = await verifyLog({ source: portLog(store), signed: signedIn });
  expect(report.findings.map(({ differs }) => differs)).toEqual([
    'audit-checkpoints revision 0: its note is of another checkpoint',
  ]);
});

it('finds a note that its key did not sign, and a key that is not ours', async () => {
  await append(paymentId, [{ ...queued, data: details }, processing]);
  const { rootHash } = await verify();
  const { note, ...tree } = signedTree(2, rootHash);
  const altered = note.replace(/(.{8})\n$/, (_, end: string) => `${[...end].reverse().join('')}\n`);
  await sign({ ...tree, note: altered });
  const stranger = noteSigner(Buffer.alloc(32, 8)).verifierKey;
  const report = await verifyLog({ source: portLog(store), signed: signedIn, keys: [stranger] });
  expect(report.verifierKeys).toEqual([signer.verifierKey]);
  expect(report.findings.map(({ differs }) => differs)).toEqual([
    'audit-checkpoints revision 0: its note is not signed by its key',
    `audit-checkpoints revision 0 is signed by another key: ${signer.verifierKey}`,
  ]);
});

it('does not call a checkpoint too long that is signed after the reading began', async () => {
  await append(paymentId, [{ ...queued, data: details }, processing]);
  const source = portLog(store);
  const late = {
    ...source,
    async *pages() {
      const pages = source.pages();
      const first = await pages.next();
      await append(paymentId, [completed]);
      const { rootHash } = await verify();
      await sign(signedTree(3, rootHash));
      if (first.done !== true) yield first.value;
      yield* pages;
    },
  };
  const report = await verifyLog({ source: late, signed: signedIn });
  expect(report).toMatchObject({ ok: true, findings: [] });
});

it('compares the checkpoints of the log itself, also those that were signed late', async () => {
  await append(paymentId, [{ ...queued, data: details }, processing]);
  const { rootHash } = await verify();
  await append(paymentId, [completed, returned]);
  const metadata = { ...by, at: later, schemaVersion: 1, previousHash: null };
  const id = '00000000-0000-4000-8000-000000000001';
  const data = signedTree(2, rootHash);
  const event = { id, type: 'CheckpointSigned', data, metadata };
  await store.append('audit-checkpoints', 'noStream', [event]);
  const verifySigned = () => verifyLog({ source: portLog(store), signed: signedIn });
  expect(await verifySigned()).toMatchObject({ ok: true, treeSize: 4, checkpointsCompared: 1 });

  const next = { ...event, id: id.replace('1', '2'), data: signedTree(9, rootHash) };
  const previousHash = hashOfEvent({ ...event, streamId: 'audit-checkpoints', revision: 0 });
  await store.append('audit-checkpoints', 0, [
    { ...next, metadata: { ...metadata, previousHash } },
  ]);
  expect((await verifySigned()).findings.map(({ differs }) => differs)).toEqual([
    'the log has 4 leaves, audit-checkpoints revision 1 has 9: events are missing at its end',
  ]);
});
