/**
 * Compares the stored tree with the log, while the log is read. Proofs are made of the stored tree: where it was altered,
 * they fail. Where the log was altered and the tree was not, the tree tells which event it was.
 *
 * What always holds: leaves in a row that differ are one finding. A leaf that is missing or added moves all others.
 */
import type pg from 'pg';
import type { TreeNode } from '../merkle-tree.js';
import { readTree, type StoredHash, storedHashes, tileHeight } from '../tree-store.js';
import { type Finding, findingAt } from './log-audit.js';
import type { StoredEvent } from './stored-event.js';

interface TakenNode extends TreeNode {
  /** The last one below it. */
  readonly event: StoredEvent;
}

/** Leaves in a row that differ. */
interface Run {
  /** Where the first one is in the log. */
  readonly at: Omit<Finding, 'differs'>;
  readonly first: number;
  readonly last: number;
}

/** How far the comparison is, for an audit that goes on. */
export interface TreeProgress {
  readonly run: Run | null;
  /** -1 when all were the same. */
  readonly lastDiffering: number;
  readonly compared: number;
}

export class StoredTree {
  #taken: TakenNode[] = [];
  #progress: TreeProgress = { run: null, lastDiffering: -1, compared: 0 };

  private constructor(
    private readonly pool: pg.Pool,
    private readonly sizeBefore: number,
    private readonly onFinding: (finding: Finding) => void,
  ) {}

  /** Before the end of the log is known: the tree may then grow beyond it. */
  static async open(pool: pg.Pool, onFinding: (finding: Finding) => void): Promise<StoredTree> {
    return new StoredTree(pool, (await readTree(pool))?.size ?? 0, onFinding);
  }

  get progress(): TreeProgress {
    return this.#progress;
  }

  /** Goes on where another audit stopped. */
  restore(progress: TreeProgress): void {
    this.#progress = progress;
  }

  take(event: StoredEvent, nodes: readonly TreeNode[]): void {
    for (const node of nodes)
      if (node.level % tileHeight === 0) this.#taken.push({ ...node, event });
  }

  /** Compares what was taken, as far as the tree has come. */
  async compare(): Promise<void> {
    const nodes = this.#taken;
    if (nodes.length === 0) return;
    this.#taken = [];
    const { size, hashes } = await storedHashes(this.pool, nodes);
    for (const [place, node] of nodes.entries()) {
      if ((node.index + 1) * 2 ** node.level > size) continue;
      const stored = hashes[place] ?? { hash: null, firstPosition: null };
      if (node.level === 0) this.#compareLeaf(node, stored);
      else this.#compareNode(node, stored);
    }
  }

  /** @param treeSize leaves of the log */
  end(treeSize: number): void {
    this.#endRun();
    if (this.sizeBefore > treeSize)
      this.#find(`audit_tree has ${this.sizeBefore} leaves, the log has ${treeSize}`);
  }

  #compareLeaf({ index, hash, event }: TakenNode, stored: StoredHash): void {
    const { run, lastDiffering, compared } = this.#progress;
    if (stored.hash?.equals(hash) !== true) {
      const { differs: _none, ...at } = findingAt(event, '');
      this.#progress = {
        run: run === null ? { at, first: index, last: index } : { ...run, last: index },
        ...{ lastDiffering: index, compared: compared + 1 },
      };
      return;
    }
    this.#endRun();
    this.#progress = { run: null, lastDiffering, compared: compared + 1 };
    if (index % 2 ** tileHeight === 0 && stored.firstPosition !== event.position)
      this.onFinding(findingAt(event, `audit_tiles has another position for leaf ${index}`));
  }

  /** One above leaves that differ tells nothing more. */
  #compareNode({ level, index, hash }: TakenNode, stored: StoredHash): void {
    const isAboveDiffering = this.#progress.lastDiffering >= index * 2 ** level;
    if (isAboveDiffering || stored.hash?.equals(hash) === true) return;
    this.#find(`the hash ${index} of level ${level} in audit_tiles is not that of its leaves`);
  }

  #endRun(): void {
    const { run } = this.#progress;
    if (run === null) return;
    const { at, first, last } = run;
    const differs =
      first === last
        ? `leaf ${first} in audit_tiles is not that of this event: one of the two was altered`
        : `leaves ${first} to ${last} in audit_tiles are not those of this event and the next ones`;
    this.onFinding({ ...at, differs });
  }

  /** About the tree as a whole. */
  #find(differs: string): void {
    this.onFinding({ stream: null, revision: null, position: null, differs });
  }
}
