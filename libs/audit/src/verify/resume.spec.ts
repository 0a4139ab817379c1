import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { payment } from '@pis/domain';
import { ids, later, paymentEvents, paymentExample } from '@pis/domain/testing';
import { memoryEventStore, MemoryLog, repository, sealedStore } from '@pis/event-store';
import { MemorySealing } from '@pis/event-store/testing';
import { checkpointText, noteSigner } from '../note.js';
import type { KnownCheckpoint } from './log-audit.js';
import { type LogSource, portLog } from './log-source.js';
import { signedCheckpoints } from './signed-checkpoints.js';
import type { StoredEvent } from './stored-event.js';
import { verifyLog, type VerifyReport } from './verify-log.js';

const by = {
  actor: 'user:1',
  requestId: 'r',
  correlationId: 'c',
  causationId: null,
  traceparent: null,
};
const { awaiting, queuedFromLink, queued, processing, completed, returned } = paymentEvents;
const signer = noteSigner(Buffer.alloc(32, 7));
const zeroRoot = Buffer.alloc(32).toString('base64');

let folder: string;
let file: string;
let store: ReturnType<typeof memoryEventStore>;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'pis-audit-state-'));
  file = path.join(folder, 'audit.state');
  store = sealedStore(memoryEventStore(new MemoryLog()), new MemorySealing());
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function append(
  paymentId: string,
  events: Parameters<ReturnType<typeof payments>['append']>[2],
): Promise<void> {
  await payments().append(paymentId, await payments().load(paymentId), events, by);
}
const payments = () => repository(store, payment);

async function sign(revision: number, treeSize: number, rootHash: string): Promise<void> {
  const note = signer.sign(checkpointText(signer.name, treeSize, Buffer.from(rootHash, 'base64')));
  const data = { treeSize, rootHash, note, verifierKey: signer.verifierKey };
  const metadata = { ...by, at: later, schemaVersion: 1, previousHash: null };
  const id = `00000000-0000-4000-8000-00000000000${revision}`;
  const expected = revision === 0 ? 'noStream' : revision - 1;
  const event = { id, type: 'CheckpointSigned', data, metadata };
  await store.append('audit-checkpoints', expected, [event]);
}

/** Interleaved lives with findings of each kind: of an event, a stream, a checkpoint, and of the money at the end. */
async function writeLog(): Promise<void> {
  const details = paymentExample({ idempotencyKey: null, paymentId: ids.otherContact });
  const link = { ...awaiting, data: { ...awaiting.data, paymentId: ids.payment } };
  const answer = { ...queuedFromLink.data, paymentId: ids.payment, amountMinor: 999 };
  await append(ids.payment, [link]);
  await append(ids.otherContact, [{ ...queued, data: details }]);
  await sign(0, 2, (await verifyLog({ source: portLog(store) })).rootHash);
  await append(ids.otherContact, [processing, completed]);
  await append(ids.payment, [{ ...queuedFromLink, data: answer }]);
  await append(ids.otherContact, [completed, returned]);
  await sign(1, 5, zeroRoot);
  await append(ids.payment, [completed]);
}

async function eventsOf(source: LogSource): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const page of source.pages()) events.push(...page);
  return events;
}

/** One event a page. */
function paged(events: readonly StoredEvent[]): LogSource {
  return {
    hasContiguousPositions: false,
    lastPosition: () => null,
    async *pages(after = '') {
      for (const event of events) if (event.position > after) yield [event];
    },
  };
}

const kept: readonly KnownCheckpoint[] = [
  { treeSize: 3, rootHash: zeroRoot, from: 'three.txt' },
  { treeSize: 99, rootHash: zeroRoot, from: 'long.txt' },
];

/** Stops after so many pages; all when it is null. */
async function verify(events: readonly StoredEvent[], stopAfter: number | null = null) {
  const stop = new AbortController();
  let pages = 0;
  return await verifyLog({
    source: paged(events),
    ...{ kept, signed: (revision) => signedCheckpoints(store, revision), signal: stop.signal },
    onPage() {
      pages += 1;
      if (pages === stopAfter) stop.abort(new Error('stopped'));
    },
    state: { file, everyMs: 0 },
  });
}

const resultOf = ({ eventsPerSecond: _speed, ...report }: VerifyReport) => report;

async function uninterrupted(events: readonly StoredEvent[]) {
  const signed = (revision: number) => signedCheckpoints(store, revision);
  return resultOf(await verifyLog({ source: paged(events), kept, signed }));
}

it('an audit that is stopped after any page goes on, and reports what it would have reported', async () => {
  await writeLog();
  const events = await eventsOf(portLog(store));
  const whole = await uninterrupted(events);
  expect(whole).toMatchObject({ eventsRead: 10, checkpointsCompared: 3 });
  expect(whole.findings.map(({ differs }) => differs)).toEqual([
    expect.stringContaining('is not that of three.txt'),
    expect.stringContaining('is not that of audit-checkpoints revision 1'),
    expect.stringContaining('amountMinor has changed'),
    expect.stringContaining('is no legal transition from COMPLETED'),
    expect.stringContaining('previousHash is not the hash of revision 0'),
    expect.stringContaining('is no legal transition from QUEUED'),
    expect.stringContaining('long.txt has 99: events are missing'),
    expect.stringContaining('completed less 125000 returned'),
  ]);
  for (let page = 1; page < events.length; page += 1) {
    await expect(verify(events, page)).rejects.toThrow('stopped');
    expect(resultOf(await verify(events))).toEqual(whole);
    rmSync(file);
  }
  for (let stops = 0; stops < 5; stops += 1)
    await expect(verify(events, 1)).rejects.toThrow('stopped');
  expect(resultOf(await verify(events))).toEqual(whole);
});

it.each([
  ['before the stop', 1],
  ['after the stop', 8],
])('an event that was altered %s is found once', async (_when, altered) => {
  await writeLog();
  const events = (await eventsOf(portLog(store))).map((event, index) =>
    index === altered ? { ...event, data: event.data.replace('{', '{"x":1,') } : event,
  );
  const whole = await uninterrupted(events);
  await expect(verify(events, 4)).rejects.toThrow('stopped');
  expect(resultOf(await verify(events))).toEqual(whole);
});

it.each<[string, (events: readonly StoredEvent[]) => readonly StoredEvent[], RegExp]>([
  ['another log', ([, ...rest]) => rest, /of another log: the first event is another one/],
  [
    'a log whose last event that was read was altered',
    (events) => events.map((event, at) => (at === 3 ? { ...event, id: ids.contact } : event)),
    /the log has changed since: another event is at position 4/,
  ],
  ['a log that ends before', (events) => events.slice(0, 3), /the log has changed since/],
])('refuses to go on with %s', async (_what, change, reason) => {
  await writeLog();
  const events = await eventsOf(portLog(store));
  await expect(verify(events, 4)).rejects.toThrow('stopped');
  const before = readFileSync(file);
  await expect(verify(change(events))).rejects.toThrow(reason);
  expect(readFileSync(file)).toEqual(before);
  expect(await verify(events)).toMatchObject({ eventsRead: 10 });
});

it('refuses to go on with other checkpoints or keys', async () => {
  await writeLog();
  const events = await eventsOf(portLog(store));
  await expect(verify(events, 4)).rejects.toThrow('stopped');
  await expect(verifyLog({ source: paged(events), state: { file } })).rejects.toThrow(
    /other checkpoints, keys/,
  );
});

it('goes on after the store was gone', async () => {
  await writeLog();
  const events = await eventsOf(portLog(store));
  const gone: LogSource = {
    ...paged(events),
    async *pages() {
      yield events.slice(0, 3);
      throw new Error('gone');
    },
  };
  const signed = (revision: number) => signedCheckpoints(store, revision);
  await expect(verifyLog({ source: gone, kept, signed, state: { file } })).rejects.toThrow('gone');
  const resumed: number[] = [];
  const state = { file, onResume: (eventsRead: number) => resumed.push(eventsRead) };
  const report = await verifyLog({ source: paged(events), kept, signed, state });
  expect(resumed).toEqual([3]);
  expect(resultOf(report)).toEqual(await uninterrupted(events));
});

it('the state is for its owner only, and a damaged one is refused', async () => {
  await writeLog();
  const events = await eventsOf(portLog(store));
  await expect(verify(events, 4)).rejects.toThrow('stopped');
  expect(readdirSync(folder)).toEqual(['audit.state']);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const whole = readFileSync(file);
  for (const at of [0, 30, Math.floor(whole.length / 2), whole.length - 1]) {
    const damaged = Buffer.from(whole);
    damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
    writeFileSync(file, damaged);
    await expect(verify(events)).rejects.toThrow(/damaged/);
  }
  for (const length of [0, 10, whole.length - 1]) {
    writeFileSync(file, whole.subarray(0, length));
    await expect(verify(events)).rejects.toThrow(/damaged/);
  }
});

it('says at once that no state can be written', async () => {
  file = path.join(folder, 'missing', 'audit.state');
  await expect(verify([])).rejects.toThrow(/it cannot be opened/);
});
