/**
 * RFC 6962's Merkle tree over the leaf hashes of the log. Only complete subtrees are named: the node (level, index)
 * covers the leaves from index * 2^level, 2^level of them. A complete node never changes, so that it can be stored once;
 * the right edge of a tree of any size is folded from complete nodes.
 *
 * Sizes and indexes are integers below 2^53; hashes are 32 bytes.
 */
import { hash } from 'node:crypto';
import { hashOfNode } from './leaf.js';

/** A complete subtree. */
export interface NodeId {
  level: number;
  index: number;
}

export interface TreeNode extends NodeId {
  hash: Buffer;
}

/** @returns the hashes of the nodes, in the order asked; throws where one is missing */
export type NodeSource = (nodes: readonly NodeId[]) => Promise<readonly Buffer[]>;

/** A tree that only grows. It keeps O(log n) hashes: those of the complete subtrees of its size, left to right. */
export class GrowingTree {
  #size = 0;
  #peaks: Buffer[] = [];

  /** Goes on from a stored tree. */
  static async load(size: number, nodesAt: NodeSource): Promise<GrowingTree> {
    const tree = new GrowingTree();
    tree.#peaks = [...(await nodesAt(peaksOf(size)))];
    tree.#size = size;
    return tree;
  }

  get size(): number {
    return this.#size;
  }

  /** The hashes of the complete subtrees of its size, left to right: what `load` asks for. */
  get peaks(): readonly Buffer[] {
    return this.#peaks;
  }

  /** @returns the nodes that the leaf completed, the leaf itself first */
  append(leafHash: Buffer): TreeNode[] {
    const completed: TreeNode[] = [{ level: 0, index: this.#size, hash: leafHash }];
    let node = completed[0] as TreeNode;
    while (node.index % 2 === 1) {
      const left = this.#peaks.pop() as Buffer;
      const index = (node.index - 1) / 2;
      node = { level: node.level + 1, index, hash: hashOfNode(left, node.hash) };
      completed.push(node);
    }
    this.#peaks.push(node.hash);
    this.#size += 1;
    return completed;
  }

  /** The root at the present size; SHA-256 of nothing for the empty tree. */
  root(): Buffer {
    return fold(this.#peaks);
  }
}

/** @returns the complete subtrees of a tree of `size` leaves, left to right */
function peaksOf(size: number): NodeId[] {
  return nodesOf({ begin: 0, end: size });
}

/** The root of the tree as it was at `size`. */
export async function rootAt(size: number, nodesAt: NodeSource): Promise<Buffer> {
  return fold(await nodesAt(peaksOf(size)));
}

/**
 * RFC 6962's audit paths of these leaves, each from the leaf up, with one read of the nodes.
 * @throws RangeError unless every index < size
 */
export async function inclusionProofs(
  indexes: readonly number[],
  size: number,
  nodesAt: NodeSource,
): Promise<Buffer[][]> {
  const paths = indexes.map((index) => {
    if (!isSize(index) || !isSize(size) || index >= size)
      throw new RangeError(`A tree of ${size} leaves has no leaf ${index}.`);
    return pathTo(index, { begin: 0, end: size });
  });
  return hashesOf(paths, nodesAt);
}

/** @returns RFC 6962's consistency proof; throws RangeError unless from <= to. Empty where from is 0 or equals to. */
export async function consistencyProof(
  from: number,
  to: number,
  nodesAt: NodeSource,
): Promise<Buffer[]> {
  if (!isSize(from) || !isSize(to) || from > to)
    throw new RangeError(`A tree of ${to} leaves does not contain one of ${from}.`);
  if (from === 0) return [];
  const [proof] = await hashesOf([subproof(from, { begin: 0, end: to }, true)], nodesAt);
  return proof as Buffer[];
}

/** Whether `proof` shows that the tree with this root has the leaf at this index (RFC 9162, section 2.1.3.2). */
export function verifyInclusion(
  leaf: { hash: Buffer; index: number },
  tree: { size: number; root: Buffer },
  proof: readonly Buffer[],
): boolean {
  if (!isSize(leaf.index) || !isSize(tree.size) || leaf.index >= tree.size) return false;
  let at = { own: leaf.index, last: tree.size - 1 };
  let root = leaf.hash;
  for (const sibling of proof) {
    if (at.last === 0) return false;
    if (at.own % 2 === 1 || at.own === at.last) {
      root = hashOfNode(sibling, root);
      at = upToRightChild(at);
    } else root = hashOfNode(root, sibling);
    at = parent(at);
  }
  return at.last === 0 && root.equals(tree.root);
}

/** Whether `proof` shows that the tree `to` begins with all leaves of the tree `from` (RFC 9162, section 2.1.4.2). */
export function verifyConsistency(
  from: { size: number; root: Buffer },
  to: { size: number; root: Buffer },
  proof: readonly Buffer[],
): boolean {
  if (!isSize(from.size) || !isSize(to.size) || from.size > to.size) return false;
  if (from.size === 0) return proof.length === 0 && from.root.equals(fold([]));
  if (from.size === to.size) return proof.length === 0 && from.root.equals(to.root);
  const path = isPowerOfTwo(from.size) ? [from.root, ...proof] : [...proof];
  const first = path.shift();
  if (first === undefined) return false;
  let at = { own: from.size - 1, last: to.size - 1 };
  while (at.own % 2 === 1) at = parent(at);
  let [fromRoot, toRoot] = [first, first];
  for (const sibling of path) {
    if (at.last === 0) return false;
    if (at.own % 2 === 1 || at.own === at.last) {
      fromRoot = hashOfNode(sibling, fromRoot);
      toRoot = hashOfNode(sibling, toRoot);
      at = upToRightChild(at);
    } else toRoot = hashOfNode(toRoot, sibling);
    at = parent(at);
  }
  return at.last === 0 && fromRoot.equals(from.root) && toRoot.equals(to.root);
}

/** The leaves from `begin` up to `end`, as RFC 6962 splits a tree: `begin` is a multiple of the first split. */
interface Range {
  begin: number;
  end: number;
}

/** The siblings on the way from the leaf up to the range's root. */
function pathTo(index: number, range: Range): Range[] {
  if (range.end - range.begin <= 1) return [];
  const { left, right } = split(range);
  return index < left.end ? [...pathTo(index, left), right] : [...pathTo(index, right), left];
}

/** RFC 6962's SUBPROOF. `size` is where the older tree ends; `known`: its root is the verifier's own. */
function subproof(size: number, range: Range, known: boolean): Range[] {
  if (size === range.end) return known ? [] : [range];
  const { left, right } = split(range);
  return size <= left.end
    ? [...subproof(size, left, known), right]
    : [...subproof(size, right, false), left];
}

/** At the largest power of two below the number of leaves. */
function split({ begin, end }: Range): { left: Range; right: Range } {
  const middle = begin + 2 ** Math.ceil(Math.log2(end - begin) - 1);
  return { left: { begin, end: middle }, right: { begin: middle, end } };
}

function nodesOf({ begin, end }: Range): NodeId[] {
  const nodes: NodeId[] = [];
  for (let at = begin; at < end; ) {
    const level = Math.floor(Math.log2(end - at));
    nodes.push({ level, index: at / 2 ** level });
    at += 2 ** level;
  }
  return nodes;
}

/** Reads the nodes of all ranges at once. */
async function hashesOf(
  proofs: readonly (readonly Range[])[],
  nodesAt: NodeSource,
): Promise<Buffer[][]> {
  const wanted = proofs.map((ranges) => ranges.map(nodesOf));
  const hashes = (await nodesAt(wanted.flat(2))).values();
  return wanted.map((ranges) =>
    ranges.map((nodes) => fold(nodes.map(() => hashes.next().value as Buffer))),
  );
}

function fold(peaks: readonly Buffer[]): Buffer {
  const [last, ...rest] = peaks.toReversed();
  if (last === undefined) return Buffer.from(hash('sha256', '', 'hex'), 'hex');
  return rest.reduce((right, left) => hashOfNode(left, right), last);
}

/** The node on the leaf's path, and the last node of the same level. */
interface Level {
  own: number;
  last: number;
}

function upToRightChild(from: Level): Level {
  let at = from;
  while (at.own % 2 === 0 && at.own !== 0) at = parent(at);
  return at;
}

function parent({ own, last }: Level): Level {
  return { own: Math.floor(own / 2), last: Math.floor(last / 2) };
}

function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function isPowerOfTwo(size: number): boolean {
  return Number.isInteger(Math.log2(size));
}
