/** Files of the bank that cannot be read or removed, and the files behind them. */
import { BankRefused, BankUnavailable } from '../../bank-connection.js';
import type { FileTransport } from '../../connections/file-transport.js';
import { ackBytes } from '../../testing/ach-desk.js';
import { type AchWorld, openAchWorld } from '../../testing/ach-world.js';
import { achFigures } from './ach-figures.js';
import { AchInbox } from './ach-inbox.js';
import { AchStayingFiles } from './ach-staying-files.js';

let world: AchWorld;
beforeEach(async () => {
  world = await openAchWorld();
});
afterEach(() => world.close());

/** The desk's mailbox, where some calls are refused. Counts the downloads of each file. */
function inbox(
  refuses: { get?: (name: string) => unknown; remove?: (name: string) => unknown },
  removeAfterMs = 0,
) {
  const downloads = new Map<string, number>();
  const inner = world.desk.transport();
  const refusing = async (refusal: unknown) => {
    await Promise.resolve();
    if (refusal instanceof Error) throw refusal;
  };
  const transport: FileTransport = {
    ...inner,
    async get(name) {
      downloads.set(name, (downloads.get(name) ?? 0) + 1);
      await refusing(refuses.get?.(name));
      return inner.get(name);
    },
    async remove(file) {
      await refusing(refuses.remove?.(file.name));
      return inner.remove(file);
    },
  };
  return { bank: world.open({ transport, limits: { removeAfterMs } }), downloads, transport };
}

type Bank = ReturnType<typeof inbox>['bank'];

/** Rounds until one ends well and nothing is left for the next one, as the loop does. */
async function rounds(bank: Bank): Promise<void> {
  for (let failures = 0; failures < 10; ) {
    try {
      if ((await bank.rounds.inbound()) === null) return;
    } catch {
      failures += 1;
    }
  }
  throw new Error('the inbox does not come to rest');
}

it('says why, and since when, the bank cannot be read, until it can', async () => {
  let failure: Error | null = new BankUnavailable('the password has expired');
  const inner = world.desk.transport();
  const list = (max: number) => (failure === null ? inner.list(max) : Promise.reject(failure));
  const bank = world.open({ transport: { ...inner, list } });
  expect(bank.unread?.()).toBeNull();
  await expect(bank.rounds.inbound()).rejects.toThrow('expired');
  const first = bank.unread?.();
  expect(first?.reason).toBe(failure);
  // What was read before is read on: the executor's feed is the table.
  await expect(bank.notifications({ after: '', max: 10 })).resolves.toBeDefined();
  failure = new BankUnavailable('no answer');
  await expect(bank.rounds.inbound()).rejects.toThrow('no answer');
  expect(bank.unread?.()).toEqual({ reason: failure, sinceMs: first?.sinceMs });
  failure = null;
  await bank.rounds.inbound();
  expect(bank.unread?.()).toBeNull();
});

const denied = () => new BankUnavailable('permission denied');
const junk = (index: number) => Buffer.from(`hello ${index}\n`);
const age = () =>
  world.pool.query('UPDATE ach_inbox_files SET next_try_at = now() - make_interval(secs => 1)');

it('a folder in which we may not delete: each file is applied once, and not downloaded forever', async () => {
  const instruction = await world.unacknowledged();
  await world.desk.answer();
  await world.desk.postReturns([await world.traceOf(instruction)], 'R01');
  const { bank, downloads } = inbox({ remove: denied });
  await rounds(bank);
  expect(await world.feed()).toMatchObject([{ type: 'confirmed' }, { type: 'returned' }]);
  const before = [...downloads.values()];
  expect(before).toEqual([2, 2]);
  for (let round = 0; round < 3; round += 1) await bank.rounds.inbound();
  // Another process knows as much.
  const other = inbox({ remove: denied });
  await other.bank.rounds.inbound();
  expect([...downloads.values()]).toEqual(before);
  expect(other.downloads.size).toBe(0);
  expect(await achFigures(world.pool)).toMatchObject({ inboxKept: 2, inboxUnread: 0 });
  await age();
  await world.bank.rounds.inbound();
  expect(world.desk.inbox.size).toBe(0);
  expect(await world.count('ach_inbox_files')).toBe(0);
  expect(await world.feed()).toHaveLength(2);
});

it.each([
  ['cannot be removed', { remove: denied }],
  ['cannot be opened', { get: (name: string) => (name.startsWith('0') ? denied() : null) }],
  [
    'are too large',
    { get: (name: string) => (name.startsWith('0') ? new BankRefused('too large') : null) },
  ],
])('two hundred and fifty files that %s, and a new one behind them', async (_what, refuses) => {
  const instruction = await world.unacknowledged();
  for (let index = 0; index < 250; index += 1)
    world.desk.post(`0-${String(index).padStart(4, '0')}.txt`, junk(index));
  const { bank } = inbox(refuses);
  await rounds(bank);
  const { name, sha256 } = world.desk.upload();
  world.desk.postAck({ name, sha256 });
  await rounds(bank);
  const { reference } = instruction;
  expect(await world.feed()).toContainEqual(
    expect.objectContaining({ type: 'confirmed', reference }),
  );
});

it('a file that cannot be read shows in the figures until it can', async () => {
  const instruction = await world.unacknowledged();
  const { name, sha256 } = world.desk.upload();
  world.desk.post('0-denied.jsonl', ackBytes({ name, sha256 }));
  const problems: unknown[] = [denied(), denied()];
  const { bank } = inbox({ get: () => problems.pop() });
  await rounds(bank);
  expect(await world.feed()).toEqual([]);
  expect(await achFigures(world.pool)).toMatchObject({ inboxUnread: 1, inboxKept: 0 });
  await age();
  await rounds(bank);
  expect(await world.feed()).toMatchObject([{ reference: instruction.reference }]);
  expect(await achFigures(world.pool)).toMatchObject({ inboxUnread: 0, inboxKept: 0 });
});

it('a file counts while somebody looks at its inbox, and not once the connection was removed', async () => {
  world.desk.post('0-denied.jsonl', junk(0));
  const { bank } = inbox({ get: denied });
  await rounds(bank);
  const unread = async () => (await achFigures(world.pool)).inboxUnread;
  await world.pool.query("UPDATE ach_inbox_files SET seen_at = now() - interval '61 minutes'");
  expect(await unread()).toBe(0);
  await world.pool.query("UPDATE ach_inbox_files SET next_try_at = now() + interval '1 day'");
  await bank.rounds.inbound();
  expect(await unread()).toBe(1);
});

it('a file that the bank writes again is read at once', async () => {
  const instruction = await world.unacknowledged();
  world.desk.post('a.jsonl', Buffer.from('other'));
  await rounds(inbox({ remove: denied }).bank);
  const { name, sha256 } = world.desk.upload();
  world.desk.post('a.jsonl', ackBytes({ name, sha256 }));
  await rounds(inbox({ remove: denied }).bank);
  expect(await world.feed()).toContainEqual(
    expect.objectContaining({ reference: instruction.reference }),
  );
});

it('a file that the bank writes again while it is read stays, and is read in the next round', async () => {
  const instruction = await world.unacknowledged();
  const { name, sha256 } = world.desk.upload();
  const newer = ackBytes({ name, sha256 });
  world.desk.post('a.jsonl', ackBytes({ name, sha256: '0'.repeat(64) }));
  const inner = world.desk.transport();
  let gets = 0;
  const transport: FileTransport = {
    ...inner,
    async get(file) {
      const bytes = await inner.get(file);
      gets += 1;
      if (gets === 1) world.desk.post('a.jsonl', newer);
      return bytes;
    },
  };
  const bank = world.open({ transport });
  await expect(bank.rounds.inbound()).rejects.toThrow('it was written again');
  expect([...world.desk.inbox.keys()]).toEqual(['a.jsonl']);
  await rounds(bank);
  expect(world.desk.inbox.size).toBe(0);
  expect(await world.feed()).toContainEqual(
    expect.objectContaining({ type: 'confirmed', reference: instruction.reference }),
  );
});

it('a look at files that stay writes nothing, unless nobody has looked for minutes', async () => {
  for (let index = 0; index < 3; index += 1) world.desk.post(`${index}.txt`, junk(index));
  const { bank } = inbox({ remove: denied });
  await rounds(bank);
  const versions = async () =>
    (await world.pool.query('SELECT name, xmin FROM ach_inbox_files ORDER BY name')).rows;
  const before = await versions();
  expect(before).toHaveLength(3);
  await bank.rounds.inbound();
  expect(await versions()).toEqual(before);
  await world.pool.query("UPDATE ach_inbox_files SET seen_at = now() - interval '6 minutes'");
  await bank.rounds.inbound();
  const seen = "SELECT FROM ach_inbox_files WHERE seen_at > now() - interval '1 minute'";
  expect((await world.pool.query(seen)).rowCount).toBe(3);
});

it('a row goes some time after its file was taken away', async () => {
  world.desk.post('a.txt', Buffer.from('hello'));
  const { bank } = inbox({ remove: denied });
  await rounds(bank);
  world.desk.inbox.clear();
  await bank.rounds.inbound();
  expect(await world.count('ach_inbox_files')).toBe(1);
  await world.pool.query("UPDATE ach_inbox_files SET seen_at = now() - interval '1 hour'");
  await bank.rounds.inbound();
  expect(await world.count('ach_inbox_files')).toBe(0);
});

it('an entry is not late while a file of the inbox has not settled', async () => {
  const instruction = await world.unacknowledged();
  await world.desk.answer();
  const inner = world.desk.transport();
  let isUnsettled = true;
  const list: FileTransport['list'] = async (max) =>
    (await inner.list(max)).map((file) => ({ ...file, isUnsettled }));
  const bank = world.open({ transport: { ...inner, list } });
  const isQueued = async () => (await bank.queued?.([instruction.reference]))?.size === 1;
  await bank.rounds.inbound();
  expect(await world.feed()).toEqual([]);
  expect(await isQueued()).toBe(true);
  isUnsettled = false;
  await bank.rounds.inbound();
  expect(await world.feed()).toMatchObject([{ type: 'confirmed' }]);
  expect(await isQueued()).toBe(false);
});

it('a bank that goes away in the middle is no fault of the files', async () => {
  for (let index = 0; index < 20; index += 1) world.desk.post(`${index}.txt`, junk(index));
  const inner = world.desk.transport();
  let lists = 0;
  const transport: FileTransport = {
    ...inner,
    list: (max) => {
      lists += 1;
      return lists > 1 ? Promise.reject(denied()) : inner.list(max);
    },
    get: () => Promise.reject(denied()),
  };
  await expect(world.open({ transport }).rounds.inbound()).rejects.toBeInstanceOf(BankUnavailable);
  expect(await world.count('ach_inbox_files')).toBe(0);
});

describe('a file stays in the inbox for a while after it was recorded', () => {
  it('so that a replica that lacks its record reads it again', async () => {
    const instruction = await world.unacknowledged();
    await world.desk.answer();
    const { bank, downloads } = inbox({}, 600_000);
    await rounds(bank);
    await rounds(bank);
    expect([...downloads.values()]).toEqual([1]);
    expect(await achFigures(world.pool)).toMatchObject({ inboxKept: 0, inboxUnread: 0 });
    const confirmed = { type: 'confirmed', reference: instruction.reference };
    expect(await world.feed()).toMatchObject([confirmed]);

    await world.pool.query("DELETE FROM ach_feed; DELETE FROM rail_files WHERE way = 'in'");
    await world.pool.query("UPDATE ach_entries SET status = 'filed'");
    await world.pool.query("UPDATE ach_files SET status = 'uploaded', answered_at = NULL");
    await rounds(inbox({}, 600_000).bank);
    expect(await world.feed()).toMatchObject([confirmed]);
  });

  it('and is removed then, unless its record was lost meanwhile', async () => {
    world.desk.post('a.jsonl', ackBytes({ name: 'a', sha256: '0'.repeat(64) }));
    const { transport, downloads } = inbox({});
    let [nowMs, isKnown] = [0, false];
    const ofBank = new AchInbox({
      ...{ transport, removeAfterMs: 600_000, unreadableGraceMs: 0, clock: () => nowMs },
      staying: new AchStayingFiles(world.pool, 'test-ach'),
      inbound: {
        record: () => {
          const result = isKnown ? null : 0;
          isKnown = true;
          return Promise.resolve(result);
        },
      },
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    const downloadsAt = async (atMs: number) => {
      nowMs = atMs;
      expect(await ofBank.round()).toEqual({ nextInMs: null, isSettled: true, isComplete: true });
      return downloads.get('a.jsonl');
    };
    expect(await downloadsAt(0)).toBe(1);
    expect(await downloadsAt(599_999)).toBe(1);
    isKnown = false;
    expect(await downloadsAt(600_000)).toBe(2);
    expect(await downloadsAt(1_199_999)).toBe(2);
    expect(world.desk.inbox.size).toBe(1);
    expect(await downloadsAt(1_200_000)).toBe(3);
    expect(world.desk.inbox.size).toBe(0);
  });
});
