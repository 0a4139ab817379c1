/** Rotation of master keys: with old events, interrupted anywhere, beside running processes and other rotations. */
import { randomUUID } from 'node:crypto';
import { type EventStore, memoryEventStore, systemContext } from '@pis/event-store';
import {
  createTestDatabase,
  generator,
  openTestPool,
  type TestDatabase,
} from '@pis/local-servers/testing';
import type pg from 'pg';
import { createKeyring, type StoredKeyring } from './keyring.js';
import { macRootPurpose, readMacRoot, storeMacRoot } from './mac-root.js';
import type { MasterKeys } from './master-keys.js';
import type { Owner } from './owner.js';
import { pgDataKeyTable } from './pg-data-key-table.js';
import type { SealedText } from './port.js';
import { keysStatus, rotateKeys, type RotationOptions } from './rotation.js';
import { createV1Key, testMasterKeys } from './testing.js';
import { hookedPool } from './testing/hooked-pool.js';

const [old, next, last] = [1, 2, 3] as const;
const before = testMasterKeys(old);
const oldId = before.activeKeyId;
const nextId = testMasterKeys(next).activeKeyId;
const rotating = testMasterKeys(next, old);
/** More than one batch of rows. */
const ownersCount = 520;

let database: TestDatabase;
let pool: pg.Pool;
let store: EventStore;
/** Texts of living owners, each with itself in the clear. */
let texts: (SealedText & { readonly plaintext: string })[];

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 12);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
beforeEach(async () => {
  await pool.query('TRUNCATE data_keys, keyring_state');
  store = memoryEventStore();
  texts = [];
  const root = before.firstMacRootOf(oldId);
  if (root === null) throw new Error('no root');
  await storeMacRoot(pool, before, { root, v1KeyId: oldId });
});

const process = (keys: MasterKeys): StoredKeyring =>
  createKeyring({ masterKeys: keys, table: pgDataKeyTable(pool) });

const rotate = (options: Omit<RotationOptions, 'shutOutOlderReleases'>) =>
  rotateKeys({ ...options, shutOutOlderReleases: () => Promise.resolve() });

async function seal(keyring: StoredKeyring, owner: Owner): Promise<void> {
  const plaintext = `${owner} ${randomUUID()}`;
  texts.push({ owner, plaintext, sealed: await keyring.seal(owner, plaintext) });
}

async function append(streamId: string, data: Record<string, unknown>): Promise<void> {
  const metadata = {
    ...systemContext('test'),
    at: '2026-11-22T12:00:00.000Z',
    schemaVersion: 1,
    previousHash: null,
  };
  const revision = (await store.readStream(streamId)).length - 1;
  await store.append(streamId, revision < 0 ? 'noStream' : revision, [
    { id: randomUUID(), type: 'Test', data, metadata },
  ]);
}

/** What a release without a key table wrote: the same text in a record and in payments, and two keys of one owner. */
async function writeOldEvents(): Promise<void> {
  const remember = (owner: Owner, plaintext: string) => {
    const key = createV1Key(Buffer.alloc(32, old));
    const sealed = key.seal(owner, plaintext);
    texts.push({ owner, plaintext, sealed });
    return sealed;
  };
  for (const n of [1, 2, 3]) {
    const [contactId, paymentId, endpointId] = [`c${n}`, `p${n}`, `w${n}`];
    const sealed = remember(`contact:${contactId}`, `account ${n}`);
    await append(`contact-${contactId}`, { contactId, bankAccount: { sealed } });
    const originator = { id: 'o1', bankAccount: { sealed: remember('originator:o1', `o ${n}`) } };
    const contact = { id: contactId, bankAccount: { sealed } };
    const hostile = createV1Key(Buffer.alloc(32, 99)).seal('contact:c1', 'not ours');
    await append(`payment-${paymentId}`, { paymentId, originator, contact, paymentNote: hostile });
    for (const secret of ['first', 'second'])
      await append('webhookEndpoints-acme', {
        endpointId,
        sealedSecret: remember(`webhookEndpoint:${endpointId}`, secret),
      });
  }
  await append('contact-c1', { changes: { email: 'new@example.com' } });
}

async function expectAllOpen(...processes: StoredKeyring[]): Promise<void> {
  for (const keyring of processes)
    expect(await keyring.openAll(texts)).toEqual(texts.map(({ plaintext }) => plaintext));
}

async function rootUnder(keys: MasterKeys): Promise<string> {
  const stored = await readMacRoot(pool);
  if (stored === null) throw new Error('no root');
  return keys.unwrap(stored.key, macRootPurpose).toString('hex');
}

const dependentsOf = async (keys: MasterKeys) =>
  Object.fromEntries(
    (await keysStatus({ pool, store, masterKeys: keys })).keys.map(({ keyId, dependents }) => [
      keyId,
      dependents,
    ]),
  );

const ownerAt = (n: number): Owner => (n === 0 ? 'railArchive:bank/2026-11' : `contact:s${n}`);

describe('a rotation', () => {
  it('is followed by status requests that read each later event once', async () => {
    await writeOldEvents();
    await rotate({ pool, store, masterKeys: rotating });
    const pages: number[] = [];
    const counted: EventStore = {
      ...store,
      readLog: async (asked) => {
        const page = await store.readLog(asked);
        pages.push(page.events.length);
        return page;
      },
    };
    const status = () => keysStatus({ pool, store: counted, masterKeys: rotating });
    for (let n = 0; n < 20; n += 1) await append('contact-c9', { n });
    await status();
    expect(pages.reduce((sum, events) => sum + events, 0)).toBe(20);
    pages.length = 0;
    const { keys } = await status();
    expect(pages).toEqual([0]);
    expect(keys.find(({ keyId }) => keyId === oldId)?.dependents).toBe(0);
    // A process of an older release may still run.
    const sealed = createV1Key(Buffer.alloc(32, old)).seal('contact:c9', 'account');
    await append('contact-c9', { contactId: 'c9', bankAccount: { sealed } });
    expect((await status()).keys.find(({ keyId }) => keyId === oldId)?.dependents).toBe(1);
    expect((await status()).keys.find(({ keyId }) => keyId === oldId)?.dependents).toBe(1);
  });

  it('wraps everything anew, old events included, so that the old key can be taken out', async () => {
    await writeOldEvents();
    const keyring = process(before);
    await Promise.all(Array.from({ length: ownersCount }, (_, n) => seal(keyring, ownerAt(n))));
    const root = await rootUnder(before);
    const notImported = 3 + 3 + 6;
    expect(await keysStatus({ pool, store, masterKeys: rotating })).toEqual({
      activeKeyId: nextId,
      keys: [
        { keyId: nextId, state: 'active', dependents: 0 },
        { keyId: oldId, state: 'old', dependents: ownersCount + 1 + notImported },
      ],
    });
    const progress: string[] = [];
    const report = await rotate({
      pool,
      store,
      masterKeys: rotating,
      onProgress: ({ phase }) => progress.push(phase),
    });
    const imported = 3 + 3 + 6;
    expect(report).toEqual({
      activeKeyId: nextId,
      imported,
      unreadable: 0,
      rewrapped: ownersCount,
      unreadableKeys: [],
    });
    expect(new Set(progress)).toEqual(new Set(['old events', 'data keys', 'MAC root']));
    expect(await dependentsOf(rotating)).toEqual({
      [nextId]: ownersCount + imported + 1,
      [oldId]: 0,
    });
    await expectAllOpen(process(testMasterKeys(next)));
    expect(await rootUnder(testMasterKeys(next))).toBe(root);
    // Nothing is left to do, and nothing is read again.
    const again = await rotate({ pool, store, masterKeys: rotating });
    expect(again).toMatchObject({ imported: 0, rewrapped: 0 });
  });

  it('keeps a destroyed owner destroyed, also for its old events', async () => {
    await writeOldEvents();
    await process(before).destroy(['contact:c1', 'webhookEndpoint:w2']);
    await rotate({ pool, store, masterKeys: rotating });
    const after = process(testMasterKeys(next));
    const erased: Owner[] = ['contact:c1', 'webhookEndpoint:w2'];
    const expected = texts.map((text) => (erased.includes(text.owner) ? null : text.plaintext));
    expect(await after.openAll(texts)).toEqual(expected);
    await expect(after.seal('contact:c1', 'text')).rejects.toThrow('were destroyed');
    const { rows } = await pool.query(
      'SELECT owner FROM data_keys WHERE owner = ANY($1) AND wrapped IS NOT NULL',
      [erased],
    );
    expect(rows).toEqual([]);
  });

  it('needs every master key that wraps something, and names the missing one', async () => {
    await seal(process(before), 'contact:1');
    const masterKeys = testMasterKeys(next);
    await expect(rotate({ pool, store, masterKeys })).rejects.toThrow(oldId);
    await writeOldEvents();
    await expect(rotate({ pool, store, masterKeys })).rejects.toThrow(oldId);
    expect(await rootUnder(before)).toBeDefined();
  });

  it.each(['before', 'after'] as const)(
    'that fails %s any of its statements loses nothing, and the next one goes on',
    async (moment) => {
      let isDone = false;
      for (let at = 0; !isDone; at += 1) {
        await pool.query('TRUNCATE data_keys, keyring_state');
        const root = before.firstMacRootOf(oldId);
        if (root === null) throw new Error('no root');
        await storeMacRoot(pool, before, { root, v1KeyId: oldId });
        store = memoryEventStore();
        texts = [];
        await writeOldEvents();
        await seal(process(before), 'contact:sealed');
        const failing = hookedPool(pool, (statement) => {
          if (statement.index === at && statement.moment === moment) throw new Error('killed');
        });
        isDone = await rotate({ pool: failing, store, masterKeys: rotating }).then(
          () => true,
          () => false,
        );
        await expectAllOpen(process(testMasterKeys(old, next)), process(rotating));
        await rotate({ pool, store, masterKeys: rotating });
        await expectAllOpen(process(testMasterKeys(next)));
        expect((await dependentsOf(rotating))[oldId]).toBe(0);
        expect(await rootUnder(testMasterKeys(next))).toBe(root.toString('hex'));
      }
    },
  );

  it('shares the work with others that run at the same time', async () => {
    await writeOldEvents();
    const keyring = process(before);
    await Promise.all(Array.from({ length: ownersCount }, (_, n) => seal(keyring, ownerAt(n))));
    const options = { pool, store, masterKeys: rotating };
    const reports = await Promise.all([1, 2, 3].map(() => rotate(options)));
    const sum = (of: (report: (typeof reports)[number]) => number) =>
      reports.reduce((total, report) => total + of(report), 0);
    expect(sum(({ imported }) => imported)).toBe(12);
    expect(sum(({ rewrapped }) => rewrapped)).toBe(ownersCount);
    await expectAllOpen(process(testMasterKeys(next)));
  });

  it.each([1, 2, 3, 4, 5])(
    'at any point of which processes seal, open and destroy: each owner keeps what it has (seed %i)',
    async (seed) => {
      const random = generator(seed);
      await writeOldEvents();
      const erased = new Set<Owner>();
      // Some have not been restarted with the new active key yet.
      const processes = [rotating, testMasterKeys(old, next), rotating].map(process);
      const any = <Item>(items: readonly Item[]): Item => {
        const item = items[random(items.length)];
        if (item === undefined) throw new Error('nothing to choose from');
        return item;
      };
      // Not awaited: a destruction waits for the transaction of the rotation that it meets.
      const destroying: Promise<void>[] = [];
      const act = async () => {
        const owner = ownerAt(random(12));
        const keyring = any(processes);
        if (erased.has(owner)) return;
        if (random(12) === 0) {
          erased.add(owner);
          texts = texts.filter((text) => text.owner !== owner);
          destroying.push(keyring.destroy([owner]));
        } else if (random(2) === 0) await seal(keyring, owner);
        else {
          const text = any(texts);
          expect(await keyring.open(text.sealed, text.owner)).toBe(text.plaintext);
        }
      };
      const busy = hookedPool(pool, act);
      for (let n = 0; n < 20; n += 1) await act();
      await rotate({ pool: busy, store, masterKeys: rotating });
      for (let n = 0; n < 20; n += 1) await act();
      await Promise.all(destroying);
      await expectAllOpen(...processes);
      for (const owner of erased)
        await expect(process(rotating).seal(owner, 'text')).rejects.toThrow('were destroyed');
      // What the others sealed under their old active key meanwhile.
      await rotate({ pool, store, masterKeys: rotating });
      await expectAllOpen(process(testMasterKeys(next)));
      await rotate({ pool, store, masterKeys: testMasterKeys(last, next) });
      await expectAllOpen(process(testMasterKeys(last)));
    },
  );

  it('leaves an altered row as it is, names it, and wraps all others anew', async () => {
    const keyring = process(before);
    for (let n = 0; n < 3; n += 1) await seal(keyring, ownerAt(n));
    await pool.query("UPDATE data_keys SET wrapped = 'AAAA' WHERE owner = $1", [ownerAt(0)]);
    texts = texts.filter(({ owner }) => owner !== ownerAt(0));
    const report = await rotate({ pool, store, masterKeys: rotating });
    expect(report).toMatchObject({
      rewrapped: 2,
      unreadableKeys: [{ owner: ownerAt(0), version: 1 }],
    });
    await expectAllOpen(process(testMasterKeys(next)));
    await rootUnder(testMasterKeys(next));
  });

  it('wraps all it can, and then names the master key that it lacks', async () => {
    await seal(process(before), 'contact:1');
    await process(testMasterKeys(last)).seal('contact:stray', 'text');
    await expect(rotate({ pool, store, masterKeys: rotating })).rejects.toThrow(
      testMasterKeys(last).activeKeyId,
    );
    await expectAllOpen(process(testMasterKeys(next)));
    await rootUnder(testMasterKeys(next));
  });

  it('back to a key that was replaced is refused, also while the other rotation runs', async () => {
    const keyring = process(before);
    await Promise.all(Array.from({ length: ownersCount }, (_, n) => seal(keyring, ownerAt(n))));
    const back = { store, masterKeys: testMasterKeys(old, next) };
    // Begins first, and is still busy when the other one begins.
    await process(testMasterKeys(next, old)).seal('contact:next', 'text');
    let forward: ReturnType<typeof rotate> | null = null;
    const overtaken = hookedPool(pool, async () => {
      const { rows } = await pool.query(
        "SELECT FROM data_keys WHERE owner = 'contact:next' AND wrapping_key_id = $1",
        [oldId],
      );
      if (rows.length > 0) await (forward ??= rotate({ pool, store, masterKeys: rotating }));
    });
    await expect(rotate({ pool: overtaken, ...back })).rejects.toThrow(`${oldId}, was replaced`);
    if (forward === null) throw new Error('the other rotation did not begin');
    await expect(rotate({ pool, ...back })).rejects.toThrow(`${oldId}, was replaced`);
    await expectAllOpen(process(testMasterKeys(next)));
    expect((await dependentsOf(rotating))[oldId]).toBe(0);
  });

  it('never looks twice at a row, also while a snapshot keeps the old ones', async () => {
    const keyring = process(before);
    await Promise.all(Array.from({ length: 2 * 500 + 20 }, (_, n) => seal(keyring, ownerAt(n))));
    const reader = await pool.connect();
    try {
      await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await reader.query('SELECT count(*) FROM data_keys');
      const asked: unknown[][] = [];
      const watching = hookedPool(pool, ({ moment, text, values = [] }) => {
        if (moment === 'before' && text.includes('FOR UPDATE SKIP LOCKED')) asked.push([...values]);
      });
      await rotate({ pool: watching, store, masterKeys: rotating });
      const places = asked.map(([, owner]) => String(owner));
      expect(places.length).toBeGreaterThan(2);
      expect(new Set(places).size).toBe(places.length);
    } finally {
      await reader.query('ROLLBACK');
      reader.release();
    }
  });

  it('fails while the database is away, and goes on when it is back', async () => {
    await writeOldEvents();
    const away = openTestPool('postgres://nobody@127.0.0.1:1/none', 1);
    await expect(rotate({ pool: away, store, masterKeys: rotating })).rejects.toMatchObject({
      name: 'StoreUnavailable',
    });
    await away.end();
    await rotate({ pool, store, masterKeys: rotating });
    await expectAllOpen(process(testMasterKeys(next)));
  });
});
