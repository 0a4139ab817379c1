/**
 * The Merkle tree in PostgreSQL. It is computed from the log and can be computed again.
 *
 * A tile holds up to 256 hashes of one level, as in C2SP tlog-tiles: levels 0, 8, 16, … of the tree are stored, the
 * levels between are computed. That costs 32 bytes an event, and one row changes for 256 events.
 *
 * What always holds: tiles and size are written in one transaction, which succeeds only for a writer that knows the
 * present size and last event. So any number of writers may try.
 */
import { type Position, StoreUnavailable } from '@pis/event-store';
import { inTransaction } from '@pis/postgres';
import type pg from 'pg';
import { hashOfNode } from './leaf.js';
import type { NodeId, TreeNode } from './merkle-tree.js';

export interface TreeState {
  /** Leaves. */
  readonly size: number;
  /** Of the last event read, and its id; `''` and null before the first one. */
  readonly position: Position;
  readonly eventId: string | null;
  /** Of the process that signs. */
  readonly verifierKey: string | null;
  /** Somebody waits for a checkpoint. */
  readonly checkpointWanted: boolean;
}

export interface Growth {
  /** All nodes that the new leaves completed. */
  readonly nodes: readonly TreeNode[];
  /** Of each new leaf. */
  readonly positions: readonly Position[];
  readonly reached: Pick<TreeState, 'position' | 'eventId'>;
}

/** Hashes of levels that are multiples of it are stored. */
export const tileHeight = 8;
const tileWidth = 2 ** tileHeight;
const hashBytes = 32;

/** Null before the first leaf was looked for. */
export async function readTree(pool: pg.Pool): Promise<TreeState | null> {
  const { rows } = await pool.query<Omit<TreeState, 'size'> & { size: string }>({
    name: 'audit_tree.read',
    text: `SELECT size, position, event_id AS "eventId", verifier_key AS "verifierKey",
                  checkpoint_wanted AS "checkpointWanted" FROM audit_tree`,
  });
  const [row] = rows;
  return row === undefined ? null : { ...row, size: Number(row.size) };
}

/** Creates the row of the tree, and says which key signs from now on. */
export async function announceKey(pool: pg.Pool, verifierKey: string): Promise<void> {
  await pool.query(
    `INSERT INTO audit_tree (verifier_key) VALUES ($1)
     ON CONFLICT (only_row) DO UPDATE SET verifier_key = EXCLUDED.verifier_key
       WHERE audit_tree.verifier_key IS DISTINCT FROM EXCLUDED.verifier_key`,
    [verifierKey],
  );
}

export async function wantCheckpoint(pool: pg.Pool, wanted: boolean): Promise<void> {
  await pool.query(
    'UPDATE audit_tree SET checkpoint_wanted = $1 WHERE checkpoint_wanted IS DISTINCT FROM $1',
    [wanted],
  );
}

/** @returns false when another writer came first: nothing was written */
export async function growTree(pool: pg.Pool, from: TreeState, growth: Growth): Promise<boolean> {
  const { positions, reached } = growth;
  const tiles = tilesOf(growth.nodes);
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query({
      name: 'audit_tree.grow',
      text: `UPDATE audit_tree SET size = $4, position = $5, event_id = $6
             WHERE size = $1 AND position = $2 AND event_id IS NOT DISTINCT FROM $3`,
      values: [
        ...[from.size, from.position, from.eventId],
        ...[from.size + positions.length, reached.position, reached.eventId],
      ],
    });
    if (rowCount !== 1) return false;
    const firstOf = ({ level, index, from: offset }: Part) =>
      level === 0 && offset === 0 ? positions[index * tileWidth - from.size] : null;
    if (tiles.length > 0)
      await client.query({
        name: 'audit_tiles.append',
        text: `INSERT INTO audit_tiles (level, index, first_position, hashes)
               SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::text[], $4::bytea[])
               ON CONFLICT (level, index) DO UPDATE SET hashes = audit_tiles.hashes || EXCLUDED.hashes`,
        values: [
          tiles.map(({ level }) => level),
          tiles.map(({ index }) => index),
          tiles.map(firstOf),
          tiles.map(({ hashes }) => Buffer.concat(hashes)),
        ],
      });
    return true;
  });
}

/** Forgets the tree: it is computed again from the log. */
export async function forgetTree(pool: pg.Pool): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(`UPDATE audit_tree SET size = 0, position = '', event_id = NULL`);
    await client.query('DELETE FROM audit_tiles');
  });
}

/** A NodeSource. @throws StoreUnavailable for nodes that the tree does not have yet, as while it is computed again */
export async function storedNodes(
  pool: pg.Pool,
  nodes: readonly NodeId[],
): Promise<readonly Buffer[]> {
  if (nodes.length === 0) return [];
  const places = nodes.map(placeOf);
  const names = new Map(places.map((place) => [nameOf(place), place]));
  const { rows } = await pool.query<{ level: number; index: string; hashes: Buffer }>({
    name: 'audit_tiles.read',
    text: `SELECT level, index, hashes FROM audit_tiles
           JOIN unnest($1::smallint[], $2::bigint[]) AS asked(level, index) USING (level, index)`,
    values: [
      [...names.values()].map(({ level }) => level),
      [...names.values()].map(({ index }) => index),
    ],
  });
  const tiles = new Map(rows.map((row) => [nameOf(row), row.hashes]));
  return places.map((place) => {
    const hashes = hashesIn(tiles.get(nameOf(place)) ?? Buffer.alloc(0)).slice(
      place.from,
      place.from + place.count,
    );
    if (hashes.length < place.count)
      throw new StoreUnavailable('the tree of the audit log does not reach this far yet');
    return completeRoot(hashes);
  });
}

export interface StoredHash {
  /** Null for one that the tree does not have. */
  readonly hash: Buffer | null;
  /** Of the first leaf of its tile; null above the leaves. */
  readonly firstPosition: Position | null;
}

/** What is stored of these nodes, all of stored levels, in order, and how many leaves the tree has at that moment. */
export async function storedHashes(
  pool: pg.Pool,
  nodes: readonly NodeId[],
): Promise<{ readonly size: number; readonly hashes: readonly StoredHash[] }> {
  const places = nodes.map(placeOf);
  const tiles = [...new Map(places.map((place) => [nameOf(place), place])).values()];
  const { rows } = await pool.query<{
    size: string;
    level: number | null;
    index: string | null;
    firstPosition: Position | null;
    hashes: Buffer | null;
  }>({
    name: 'audit_tiles.compare',
    text: `SELECT size, level, index, first_position AS "firstPosition", hashes FROM audit_tree
           LEFT JOIN (
             audit_tiles JOIN unnest($1::smallint[], $2::bigint[]) AS asked(level, index) USING (level, index)
           ) ON true`,
    values: [tiles.map(({ level }) => level), tiles.map(({ index }) => index)],
  });
  const found = new Map<string, (typeof rows)[number]>(
    rows.map((row) => [`${row.level}/${row.index}`, row]),
  );
  const hashes = places.map((place) => {
    const { firstPosition = null, hashes = null } = found.get(nameOf(place)) ?? {};
    const at = place.from * hashBytes;
    const hash = hashes === null ? null : hashes.subarray(at, at + hashBytes);
    return { hash: hash?.length === hashBytes ? hash : null, firstPosition };
  });
  return { size: Number(rows[0]?.size ?? 0), hashes };
}

export interface PlacedLeaf {
  /** Of its event. */
  readonly position: Position;
  readonly hash: Buffer;
}

/** Where leaves are in the tree, in order; null for one that it does not have yet. */
export async function indexesOf(
  pool: pg.Pool,
  leaves: readonly PlacedLeaf[],
): Promise<readonly (number | null)[]> {
  const { rows } = await pool.query<{ index: string | null; hashes: Buffer | null }>({
    name: 'audit_tiles.find',
    text: `SELECT tile.index, tile.hashes FROM unnest($1::text[]) WITH ORDINALITY AS leaf(position, place)
           LEFT JOIN LATERAL (
             SELECT index, hashes FROM audit_tiles
             WHERE level = 0 AND first_position <= leaf.position COLLATE "C"
             ORDER BY first_position DESC LIMIT 1
           ) tile ON true
           ORDER BY leaf.place`,
    values: [leaves.map(({ position }) => position)],
  });
  return leaves.map(({ hash }, place) => {
    const { index, hashes } = rows[place] ?? { index: null, hashes: null };
    const offset = hashesIn(hashes ?? Buffer.alloc(0)).findIndex((one) => one.equals(hash));
    return index === null || offset === -1 ? null : Number(index) * tileWidth + offset;
  });
}

/** New hashes of a tile, from this place in it. */
interface Part {
  readonly level: number;
  readonly index: number;
  readonly from: number;
  readonly hashes: Buffer[];
}

function tilesOf(nodes: readonly TreeNode[]): readonly Part[] {
  const parts = new Map<string, Part>();
  for (const node of nodes) {
    if (node.level % tileHeight !== 0) continue;
    const { level, index, from } = placeOf(node);
    const part = parts.get(nameOf({ level, index }));
    if (part !== undefined) part.hashes.push(node.hash);
    else parts.set(nameOf({ level, index }), { level, index, from, hashes: [node.hash] });
  }
  return [...parts.values()];
}

/** The tile of a node, and the hashes in it that the node is computed from. */
function placeOf({ level, index }: NodeId) {
  const height = level % tileHeight;
  const first = index * 2 ** height;
  return {
    level: (level - height) / tileHeight,
    index: Math.floor(first / tileWidth),
    from: first % tileWidth,
    count: 2 ** height,
  };
}

function nameOf({ level, index }: { readonly level: number; readonly index: number | string }) {
  return `${level}/${index}`;
}

function hashesIn(bytes: Buffer): Buffer[] {
  return Array.from({ length: bytes.length / hashBytes }, (_, at) =>
    bytes.subarray(at * hashBytes, (at + 1) * hashBytes),
  );
}

/** @param hashes as many as a power of two */
function completeRoot(hashes: readonly Buffer[]): Buffer {
  const [first, second, ...rest] = hashes;
  if (first === undefined) throw new RangeError('a subtree has leaves');
  if (second === undefined) return first;
  if (rest.length === 0) return hashOfNode(first, second);
  const half = hashes.length / 2;
  return hashOfNode(completeRoot(hashes.slice(0, half)), completeRoot(hashes.slice(half)));
}
