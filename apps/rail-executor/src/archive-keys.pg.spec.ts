/**
 * Archived files and messages while master keys are rotated and parties are erased. Interrupted at any point, no file
 * is lost, and nothing of an erased party comes back.
 */
import { randomUUID } from 'node:crypto';
import {
  type ArchiveSegment,
  blankUnmatchedFile,
  type FileArchive,
  fileArchive,
  type FileToKeep,
} from '@pis/bank-rails/connections';
import { memoryEventStore } from '@pis/event-store';
import {
  createKeyring,
  type Keyring,
  type MasterKeys,
  type Owner,
  pgDataKeyTable,
  rotateKeys,
  storeMacRoot,
} from '@pis/keyring';
import { hookedPool, testMasterKeys } from '@pis/keyring/testing';
import {
  createTestDatabase,
  generator,
  openTestPool,
  type Random,
  type TestDatabase,
} from '@pis/local-servers/testing';
import type pg from 'pg';

const [old, next] = [1, 2] as const;
const before = testMasterKeys(old);
const rotating = testMasterKeys(next, old);
const after = testMasterKeys(next);
const owners: readonly Owner[] = ['contact:ada', 'contact:omar', 'originator:olga'];

let database: TestDatabase;
let pool: pg.Pool;
/** What was kept, by ID. */
let kept: Map<string, FileToKeep>;
let erased: Set<Owner>;
/** Files without the parts that may speak of anybody. */
let blanked: Set<string>;

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openTestPool(database.url, 12);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
beforeEach(() => emptied());

async function emptied(): Promise<void> {
  await pool.query('TRUNCATE data_keys, keyring_state, rail_files CASCADE');
  await storeMacRoot(pool, before, { root: Buffer.alloc(32, old), v1KeyId: null });
  kept = new Map();
  erased = new Set();
  blanked = new Set();
}

interface Process {
  readonly keyring: Keyring;
  readonly archive: FileArchive;
}

/** Asks for the keys each time, as a process whose cache is old. */
function processWith(masterKeys: MasterKeys): Process {
  let ms = 0;
  const nowMs = () => (ms += 10_000);
  const keyring = createKeyring({ masterKeys, table: pgDataKeyTable(pool), nowMs });
  return { keyring, archive: fileArchive({ pool, keyring }) };
}

const rotate = (on: pg.Pool) =>
  rotateKeys({
    pool: on,
    store: memoryEventStore(),
    masterKeys: rotating,
    shutOutOlderReleases: () => Promise.resolve(),
  });

/** Of two connections, each with an archive key of its own. The parts speak of nobody, of one party, of two, of anybody. */
async function keep({ archive }: Process, random: Random): Promise<void> {
  const part = (...[owner, secondOwner]: readonly (Owner | 'file')[]): ArchiveSegment => ({
    bytes: Buffer.from(`${owner ?? 'nobody'} ${secondOwner ?? 'alone'} ${randomUUID()}\n`),
    owner: owner ?? null,
    ...(secondOwner !== undefined && secondOwner !== 'file' && { secondOwner }),
    paymentId: owner === undefined ? null : randomUUID(),
  });
  const both = part('contact:ada', 'originator:olga');
  const file: FileToKeep = {
    ...{ connection: random(2) === 0 ? 'ach' : 'messages', rail: 'ACH', way: 'out' },
    ...{ kind: 'nacha', name: `${randomUUID()}.ach` },
    segments: [part(), ...owners.map((owner) => part(owner)), both, part('file'), part()],
  };
  const { id } = await archive.keep(file);
  kept.set(id, file);
}

/** What may speak of anybody ends in one of the files. */
async function blankOne({ keyring }: Process, random: Random): Promise<void> {
  const id = [...kept.keys()][random(kept.size)];
  if (id === undefined) return;
  await blankUnmatchedFile({ pool, destroyKeys: (owned) => keyring.destroy(owned) }, id);
  blanked.add(id);
}

/** As it must be shown: the parts that speak of whoever was erased are spaces. */
function expectedText(id: string, { segments }: FileToKeep): string {
  const isErased = ({ owner, secondOwner }: ArchiveSegment) =>
    owner === 'file'
      ? blanked.has(id)
      : [owner, secondOwner].some((one) => one !== null && one !== undefined && erased.has(one));
  return segments
    .map((segment) =>
      isErased(segment) ? ' '.repeat(segment.bytes.length) : Buffer.from(segment.bytes).toString(),
    )
    .join('');
}

async function expectAllReadable(...processes: readonly Process[]): Promise<void> {
  for (const { archive } of processes)
    for (const [id, file] of kept) {
      const read = await archive.read(id);
      expect(Buffer.from(read?.bytes ?? []).toString()).toBe(expectedText(id, file));
    }
}

describe('archived files', () => {
  it.each(['before', 'after'] as const)(
    'stay readable when a rotation fails %s any of its statements, and after the next one',
    async (moment) => {
      let isDone = false;
      let statements = 0;
      for (let at = 0; !isDone; at += 1) {
        await emptied();
        const random = generator(at);
        const process = processWith(before);
        for (let files = 0; files < 4; files += 1) await keep(process, random);
        await process.keyring.destroy(['contact:omar']);
        erased.add('contact:omar');
        await blankOne(process, random);
        const failing = hookedPool(pool, (statement) => {
          if (statement.index === at && statement.moment === moment) throw new Error('killed');
        });
        isDone = await rotate(failing).then(
          () => true,
          () => false,
        );
        await expectAllReadable(processWith(testMasterKeys(old, next)), processWith(rotating));
        await rotate(pool);
        await expectAllReadable(processWith(after));
        statements = at;
      }
      expect(statements).toBeGreaterThan(5);
    },
  );

  it.each([1, 2, 3, 4, 5])(
    'are kept, read and erased at any point of a rotation (seed %i)',
    async (seed) => {
      const random = generator(seed);
      const processes = [rotating, testMasterKeys(old, next), rotating].map(processWith);
      const any = () => processes[random(processes.length)] ?? processWith(rotating);
      for (let files = 0; files < 6; files += 1) await keep(any(), random);
      // Not awaited: a destruction waits for the transaction of the rotation that it meets.
      const destroying: Promise<void>[] = [];
      const act = async () => {
        const owner = owners[random(owners.length)];
        if (random(6) === 0 && owner !== undefined && !erased.has(owner)) {
          erased.add(owner);
          destroying.push(any().keyring.destroy([owner]));
        } else if (random(8) === 0 && destroying.length === 0)
          destroying.push(blankOne(any(), random));
        else if (random(2) === 0) await keep(any(), random);
        // Whose destruction is under way may still be read.
        else if (destroying.length === 0) await expectAllReadable(any());
      };
      await rotate(hookedPool(pool, act));
      await Promise.all(destroying);
      for (let acts = 0; acts < 10; acts += 1) await act();
      await Promise.all(destroying);
      await rotate(pool);
      await expectAllReadable(processWith(after));
      const { rows } = await pool.query(
        'SELECT FROM data_keys WHERE owner = ANY($1) AND wrapped IS NOT NULL',
        [[...erased]],
      );
      expect(rows).toEqual([]);
    },
  );
});
