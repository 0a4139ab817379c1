import { hash } from 'node:crypto';
import { hashOfLeaf } from './leaf.js';
import {
  consistencyProof,
  GrowingTree,
  inclusionProofs,
  rootAt,
  verifyConsistency,
  verifyInclusion,
  type NodeId,
  type NodeSource,
} from './merkle-tree.js';

// The vectors of RFC 6962's reference implementation (certificate-transparency, merkle_tree_test).
const inputs = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
];
const roots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const [a, b, c] = [
  '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
  'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
];
const leaves = inputs.map((input) =>
  hashOfRaw(Buffer.concat([Buffer.of(0), Buffer.from(input, 'hex')])),
);

it("gives the roots of RFC 6962's reference implementation at every size", async () => {
  const tree = new GrowingTree();
  const seen = [tree.root()];
  for (const leaf of leaves) {
    tree.append(leaf);
    seen.push(tree.root());
  }
  expect(seen.map(hex)).toEqual(roots);
  const { nodesAt } = treeOf(leaves);
  const read = await Promise.all(roots.map((_, size) => rootAt(size, nodesAt)));
  expect(read.map(hex)).toEqual(roots);
});

it.each([
  [0, 1, []],
  [
    0,
    8,
    [
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      a,
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ],
  ],
  [5, 8, [b, c, roots[4]]],
  [2, 3, [roots[2]]],
  [1, 5, [roots[1], a, b]],
])('gives the reference audit path of leaf %i in a tree of %i', async (index, size, path) => {
  const proofs = await inclusionProofs([index], size, treeOf(leaves).nodesAt);
  expect(proofs.map((proof) => proof.map(hex))).toEqual([path]);
});

it.each([
  [1, 1, []],
  [6, 8, ['0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a', c, roots[4]]],
  [2, 5, [a, b]],
])('gives the reference consistency proof from %i to %i', async (from, to, path) => {
  const proof = await consistencyProof(from, to, treeOf(leaves).nodesAt);
  expect(proof.map(hex)).toEqual(path);
});

// Every tree up to this size, which covers every shape of the right edge.
const sizeMax = 17;
const many = Array.from({ length: sizeMax }, (_, index) => hashOfLeaf(`leaf ${index}`));

it('proves every leaf in every tree, with a root that an independent recursion agrees with', async () => {
  const { nodesAt } = treeOf(many);
  const failures: string[] = [];
  for (let size = 1; size <= sizeMax; size += 1) {
    const tree = { size, root: naiveRoot(many.slice(0, size)) };
    if (!(await rootAt(size, nodesAt)).equals(tree.root)) failures.push(`root ${size}`);
    const proofs = await inclusionProofs([...many.slice(0, size).keys()], size, nodesAt);
    for (const [index, proof] of proofs.entries()) {
      const leaf = { hash: many[index] as Buffer, index };
      const other = { hash: hashOfLeaf('forged'), index };
      if (!verifyInclusion(leaf, tree, proof)) failures.push(`${index} of ${size}: not shown`);
      const wrong = [
        ...damaged(proof).map((path) => verifyInclusion(leaf, tree, path)),
        verifyInclusion(other, tree, proof),
        ...[-1, size, index + 0.5].map((at) =>
          verifyInclusion({ ...leaf, index: at }, tree, proof),
        ),
      ];
      if (wrong.includes(true)) failures.push(`${index} of ${size}: a wrong proof accepted`);
    }
  }
  expect(failures).toEqual([]);
});

it('proves every pair of sizes consistent, and no other tree', async () => {
  const { nodesAt } = treeOf(many);
  const forged = hashOfLeaf('forged');
  const failures: string[] = [];
  for (let to = 0; to <= sizeMax; to += 1) {
    const newer = { size: to, root: naiveRoot(many.slice(0, to)) };
    for (let from = 0; from <= to; from += 1) {
      const older = { size: from, root: naiveRoot(many.slice(0, from)) };
      const proof = await consistencyProof(from, to, nodesAt);
      if (!verifyConsistency(older, newer, proof)) failures.push(`${from} to ${to}: not shown`);
      const wrong = [
        ...damaged(proof).map((path) => verifyConsistency(older, newer, path)),
        verifyConsistency({ ...older, root: forged }, newer, proof),
        from > 0 && verifyConsistency(older, { ...newer, root: forged }, proof),
      ];
      if (wrong.includes(true)) failures.push(`${from} to ${to}: a wrong proof accepted`);
    }
  }
  expect(failures).toEqual([]);
});

it('goes on from a stored tree as if it had never stopped', async () => {
  const { nodesAt, stored } = treeOf(many);
  for (let size = 0; size < sizeMax; size += 1) {
    const tree = await GrowingTree.load(size, nodesAt);
    const added = many.slice(size).flatMap((leaf) => tree.append(leaf));
    expect(added.map((node) => stored.get(key(node)))).toEqual(added.map((node) => node.hash));
    expect(tree.root()).toEqual(naiveRoot(many));
    expect(tree.size).toBe(sizeMax);
  }
});

it('refuses leaves and sizes that the tree does not have', async () => {
  const { nodesAt } = treeOf(many);
  await expect(inclusionProofs([5], 5, nodesAt)).rejects.toThrow(RangeError);
  await expect(inclusionProofs([-1], 5, nodesAt)).rejects.toThrow(RangeError);
  await expect(consistencyProof(6, 5, nodesAt)).rejects.toThrow(RangeError);
  await expect(consistencyProof(1.5, 5, nodesAt)).rejects.toThrow(RangeError);
});

function treeOf(leafHashes: readonly Buffer[]): {
  nodesAt: NodeSource;
  stored: Map<string, Buffer>;
} {
  const tree = new GrowingTree();
  const stored = new Map<string, Buffer>();
  for (const leaf of leafHashes)
    for (const node of tree.append(leaf)) stored.set(key(node), node.hash);
  const nodesAt: NodeSource = async (nodes) =>
    nodes.map((node) => {
      const found = stored.get(key(node));
      if (found === undefined) throw new Error(`There is no node ${key(node)}.`);
      return found;
    });
  return { nodesAt, stored };
}

/** RFC 6962's definition, word for word. */
function naiveRoot(leafHashes: readonly Buffer[]): Buffer {
  const [only] = leafHashes;
  if (only === undefined) return hashOfRaw(Buffer.alloc(0));
  if (leafHashes.length === 1) return only;
  let half = 1;
  while (half * 2 < leafHashes.length) half *= 2;
  return hashOfRaw(
    Buffer.concat([
      Buffer.of(1),
      naiveRoot(leafHashes.slice(0, half)),
      naiveRoot(leafHashes.slice(half)),
    ]),
  );
}

/** The proof without an end, with one hash more, and with each hash changed. */
function damaged(proof: readonly Buffer[]): Buffer[][] {
  const shorter = proof.length > 0 ? [proof.slice(1), proof.slice(0, -1)] : [];
  const changed = [...proof.keys()].map((at) => proof.with(at, hashOfLeaf('another')));
  return [...shorter, [...proof, hashOfLeaf('one more')], ...changed];
}

function hashOfRaw(bytes: Buffer): Buffer {
  return Buffer.from(hash('sha256', bytes, 'hex'), 'hex');
}

function key({ level, index }: NodeId): string {
  return `${level}/${index}`;
}

function hex(hash: Buffer): string {
  return hash.toString('hex');
}
