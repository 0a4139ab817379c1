/** The audit log: leaves, the Merkle tree over them, checkpoints and what verifies them. */
export * from './leaf.js';
export * from './merkle-tree.js';
export * from './verify/index.js';
export * from './note.js';
export * from './checkpoints.js';
export * from './tree-store.js';
export * from './audit-log.js';
export * from './payment-proof.js';
