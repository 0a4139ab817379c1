/** Proofs that the events of a stream are in the signed log. */
import { type EventStore, type RecordedEvent, StoreUnavailable } from '@pis/event-store';
import { pause, sqlStateOf } from '@pis/postgres';
import type pg from 'pg';
import { type Checkpoint, newestCheckpoint } from './checkpoints.js';
import { hashOfLeaf, leafOf } from './leaf.js';
import { inclusionProofs, rootAt } from './merkle-tree.js';
import { indexesOf, type PlacedLeaf, readTree, storedNodes, wantCheckpoint } from './tree-store.js';

export interface EventProof {
  /** From 0. */
  readonly index: number;
  /** The leaf itself. */
  readonly leaf: string;
  /** RFC 6962's audit path, from the leaf up. */
  readonly proof: readonly Buffer[];
}

export interface StreamProof {
  readonly checkpoint: Checkpoint;
  /** In the order of the stream. */
  readonly events: readonly EventProof[];
}

export interface ProofWait {
  readonly timeoutMs: number;
  readonly pollMs: number;
}

/**
 * The proofs of all events that are in the stream now. Events that no checkpoint covers yet make the signer sign one,
 * which this waits for. A reader that may not write waits for the one that is signed each minute.
 * @throws StoreUnavailable also when no checkpoint covers them in time
 */
export async function proveStream(
  { store, pool }: { readonly store: Pick<EventStore, 'readStream'>; readonly pool: pg.Pool },
  streamId: string,
  wait: ProofWait,
): Promise<StreamProof> {
  const events = await store.readStream(streamId, { leaveSealed: true });
  const leaves = events.map((event: RecordedEvent) => {
    const leaf = leafOf(event);
    return { leaf, position: event.position, hash: hashOfLeaf(leaf) };
  });
  const startedMs = performance.now();
  for (;;) {
    const checkpoint = await newestCheckpoint(store);
    const found = await indexesOf(pool, leaves);
    const size = checkpoint?.treeSize ?? 0;
    const indexes = found.filter((index): index is number => index !== null && index < size);
    if (checkpoint !== null && indexes.length === leaves.length) {
      const proofs = await inclusionProofs(indexes, size, (nodes) => storedNodes(pool, nodes));
      const proven = leaves.map(({ leaf }, place) => ({
        leaf,
        index: indexes[place] ?? 0,
        proof: proofs[place] ?? [],
      }));
      return { checkpoint, events: proven };
    }
    if (performance.now() - startedMs >= wait.timeoutMs)
      throw new StoreUnavailable(await whyUnproven(pool, leaves, checkpoint));
    await wantCheckpoint(pool, true).catch(unlessReadOnly);
    await pause(wait.pollMs);
  }
}

/** insufficient_privilege, read_only_sql_transaction: an auditor, or a standby. */
const readOnlyStates = ['42501', '25006'];

function unlessReadOnly(error: unknown): void {
  if (!readOnlyStates.includes(sqlStateOf(error))) throw error;
}

const unproven = 'no signed checkpoint covers all events of the payment yet';

/** Names the runbook. Only the process that signs knows for sure that the signing is broken. Mostly, the stored tree tells, too. */
async function whyUnproven(
  pool: pg.Pool,
  leaves: readonly PlacedLeaf[],
  signed: Checkpoint | null,
): Promise<string> {
  if (await differs(pool, leaves))
    return 'an event of the payment differs between the log and the stored tree: pis audit verify tells more';
  const isSigned = signed === null || (await treeBeginsWith(pool, signed));
  return isSigned
    ? `${unproven}: see PisAuditSigningLate in docs/runbooks/log.md, or PisAuditSigningBroken if that alert fires`
    : `${unproven}, because the log differs from what was signed: see PisAuditSigningBroken in docs/runbooks/log.md`;
}

/** Whether the tree lacks a leaf although it has come that far. */
async function differs(pool: pg.Pool, leaves: readonly PlacedLeaf[]): Promise<boolean> {
  const before = await readTree(pool);
  const indexes = await indexesOf(pool, leaves);
  const after = await readTree(pool);
  // Smaller when it is computed again meanwhile.
  if (before === null || after === null || after.size < before.size) return false;
  return leaves.some(
    ({ position }, place) => position <= before.position && indexes[place] === null,
  );
}

/** Whether the stored tree is that of the checkpoint, up to its size. */
async function treeBeginsWith(pool: pg.Pool, { treeSize, rootHash }: Checkpoint): Promise<boolean> {
  const size = (await readTree(pool))?.size ?? 0;
  if (size < treeSize) return false;
  const root = await rootAt(treeSize, (nodes) => storedNodes(pool, nodes));
  return root.toString('base64') === rootHash;
}
