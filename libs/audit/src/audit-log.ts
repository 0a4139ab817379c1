/**
 * Grows the tree along the log and signs checkpoints: every 1,000 events or every minute, when the tree has grown,
 * and soon when a proof waits for one.
 *
 * What always holds: a checkpoint is signed only for a tree that contains the tree of the checkpoint before. A log or
 * a tree that differs from what was signed stops the signing, not the reading.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type EventStore, type LogPage, type Position, type RecordedEvent } from '@pis/event-store';
import type pg from 'pg';
import { appendCheckpoint, type Checkpoint, newestCheckpoint } from './checkpoints.js';
import { checkpointStream, hashOfLeaf, leafOf } from './leaf.js';
import { GrowingTree, rootAt, type TreeNode } from './merkle-tree.js';
import type { NoteSigner } from './note.js';
import {
  announceKey,
  forgetTree,
  growTree,
  readTree,
  storedNodes,
  type TreeState,
  wantCheckpoint,
} from './tree-store.js';

export interface AuditLogOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly signer: NoteSigner;
  readonly now?: () => Date;
}

const pageMax = 500;
/** Events hashed in one go: about 10 ms. */
const sliceMax = 100;
const checkpointEveryEvents = 1_000;
const checkpointEveryMs = 60_000;

/** The log is not the one that was signed: a person must find out why. */
export class AuditBroken extends Error {
  override readonly name = 'AuditBroken';

  constructor(
    message: string,
    /** The tree has not reached the end of the log, and goes on growing. */
    readonly hasMore: boolean,
  ) {
    super(message);
  }
}

export class AuditLog {
  private tree: GrowingTree | null = null;
  /** The last event that the tree has read. */
  private treeEventId: string | null = null;
  private isAnnounced = false;
  /** How far the log was read: over events of other systems, which move no tree. `from` is where the tree stands. */
  private looked: { readonly from: Position; readonly to: Position } | null = null;
  /** The newest checkpoint, as far as it is known. */
  private signed = { size: 0, atMs: -Infinity };
  /** Since when the end of the log is looked for; null once it was found. */
  private behindSinceMs: number | null = null;
  /** Since a comparison failed, and until one succeeds. */
  private hasFailed = false;

  constructor(private readonly options: AuditLogOptions) {}

  /**
   * Whether the tree is another one than that of the newest checkpoint, as far as this process knows. Before the first
   * checkpoint was looked for, only an empty tree is known to need none.
   */
  get hasUnsigned(): boolean {
    return this.tree !== null && this.tree.size !== this.signed.size;
  }

  /** Whether the log differed from what was signed when the two were compared last. */
  get isBroken(): boolean {
    return this.hasFailed;
  }

  /**
   * Reads one page of the log, and signs when a checkpoint is due: at the end of the log, or once a minute on a long
   * way to it.
   * @returns whether more is to be read at once
   * @throws StoreUnavailable, AuditBroken
   */
  async round(): Promise<boolean> {
    try {
      return await this.advance();
    } catch (error) {
      if (error instanceof AuditBroken) this.hasFailed = true;
      // What was computed may not have been stored, and the log may have lost the place that was looked up to.
      this.tree = null;
      this.looked = null;
      throw error;
    }
  }

  private async advance(): Promise<boolean> {
    const { pool, store, signer } = this.options;
    const state = await readTree(pool);
    if (state === null || !this.isAnnounced) {
      await announceKey(pool, signer.verifierKey);
      this.isAnnounced = true;
      return true;
    }
    const tree = await this.treeAt(state);
    if (tree === null) return true;
    const after = this.looked?.from === state.position ? this.looked.to : state.position;
    const page = await store.readLog({ after, pageMax, leaveSealed: true });
    const last = page.events.at(-1)?.position;
    const isMoving =
      last !== undefined || state.checkpointWanted || state.size !== this.signed.size;
    // An older log may have been restored since the tree was loaded. An idle one costs no read.
    if (isMoving && !(await this.isOfLog(state))) return true;
    if (last !== undefined && !(await this.grow(tree, state, page))) return false;
    this.looked = { from: last ?? state.position, to: page.position };
    // Behind events of other systems there may be more of ours.
    const isEnd = page.events.length < pageMax && page.position === (last ?? after);
    await this.sign(tree, state, isEnd);
    return !isEnd;
  }

  /** Null when the log was replaced by an older one: the tree is computed again. */
  private async treeAt(state: TreeState): Promise<GrowingTree | null> {
    // Of the same size, but of another log: another process has computed it again.
    const isSame = this.tree?.size === state.size && this.treeEventId === state.eventId;
    if (this.tree !== null && isSame) return this.tree;
    const { pool } = this.options;
    if (!(await this.isOfLog(state))) return null;
    this.tree = await GrowingTree.load(state.size, (nodes) => storedNodes(pool, nodes));
    this.treeEventId = state.eventId;
    return this.tree;
  }

  /** False when the log lacks the event that the tree stands on: the tree is forgotten. */
  private async isOfLog(state: TreeState): Promise<boolean> {
    const { pool, store } = this.options;
    if (await holds(store, state)) return true;
    this.tree = null;
    this.looked = null;
    await forgetTree(pool);
    return false;
  }

  /** False when another process came first. */
  private async grow(tree: GrowingTree, state: TreeState, { events }: LogPage): Promise<boolean> {
    const leaves = events.filter(({ streamId }) => streamId !== checkpointStream);
    const last = events.at(-1) as RecordedEvent;
    const grown = await growTree(this.options.pool, state, {
      nodes: await appended(tree, leaves),
      positions: leaves.map(({ position }) => position),
      reached: { position: last.position, eventId: last.id },
    });
    if (grown) this.treeEventId = last.id;
    else this.tree = null;
    return grown;
  }

  private async sign(
    tree: GrowingTree,
    { checkpointWanted, verifierKey }: TreeState,
    isEnd: boolean,
  ): Promise<void> {
    const { pool, store, signer, now = () => new Date() } = this.options;
    const { size } = tree;
    const nowMs = now().getTime();
    this.behindSinceMs = isEnd ? null : Math.min(this.behindSinceMs ?? nowMs, nowMs);
    // Only a comparison tells that the log is whole again.
    const isAsked = checkpointWanted || this.hasFailed;
    const isDue = () =>
      isAsked ||
      (isEnd && size - this.signed.size >= checkpointEveryEvents) ||
      // One in the future is due, too: after a clock that was ahead is set back, the signing must go on.
      Math.abs(nowMs - Math.max(this.signed.atMs, this.behindSinceMs ?? -Infinity)) >=
        checkpointEveryMs;
    // An idle log costs no read of the checkpoints.
    if ((size === this.signed.size && !isAsked) || !isDue()) return;
    const previous = await newestCheckpoint(store);
    const signedSize = previous?.treeSize ?? 0;
    this.signed = {
      size: signedSize,
      atMs: previous === null ? -Infinity : Date.parse(previous.createdAt),
    };
    if (size < signedSize) return isEnd ? this.checkLength(signedSize) : undefined;
    await this.compare(tree, previous, isEnd);
    if (size > signedSize && isDue()) {
      const root = tree.root();
      const by = { signer, now: now() };
      const isAppended = await appendCheckpoint(store, { size, root }, previous, by);
      if (isAppended) this.signed = { size, atMs: nowMs };
      // A process with a former key may have started since, and ended.
      if (isAppended && verifierKey !== signer.verifierKey)
        await announceKey(pool, signer.verifierKey);
    }
    if (checkpointWanted) await wantCheckpoint(pool, false);
  }

  /** @throws AuditBroken when the tree does not begin with the one that was signed; StoreUnavailable */
  private async compare(
    tree: GrowingTree,
    previous: Checkpoint | null,
    isEnd: boolean,
  ): Promise<void> {
    const stored = async (size: number) =>
      (await rootAt(size, (nodes) => storedNodes(this.options.pool, nodes))).toString('base64');
    if (previous !== null && (await stored(previous.treeSize)) !== previous.rootHash)
      throw new AuditBroken(
        `The first ${previous.treeSize} events are not those that were signed.`,
        !isEnd,
      );
    if (tree.root().toString('base64') !== (await stored(tree.size)))
      throw new AuditBroken(
        `The stored tree of ${tree.size} events is not that of the log.`,
        !isEnd,
      );
    this.hasFailed = false;
  }

  /** Another process may have gone on and signed since this one has read the tree. */
  private async checkLength(signedSize: number): Promise<void> {
    const size = (await readTree(this.options.pool))?.size ?? 0;
    if (size < signedSize)
      throw new AuditBroken(
        `The log has ${size} events, and ${signedSize} of them were signed.`,
        false,
      );
  }
}

/** All nodes that the leaves complete. */
async function appended(tree: GrowingTree, leaves: readonly RecordedEvent[]): Promise<TreeNode[]> {
  const nodes: TreeNode[] = [];
  for (let from = 0; from < leaves.length; from += sliceMax) {
    if (from > 0) await nextTurn();
    for (const event of leaves.slice(from, from + sliceMax))
      nodes.push(...tree.append(hashOfLeaf(leafOf(event))));
  }
  return nodes;
}

/** Whether the log has the event that the tree stands on. */
async function holds(store: EventStore, { position, eventId }: TreeState): Promise<boolean> {
  if (eventId === null) return true;
  const found = await store.lastEvent(position);
  return found?.position === position && found.id === eventId;
}
