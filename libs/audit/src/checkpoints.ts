/**
 * Checkpoints: signed statements about the whole log, kept as events of their own stream. They are appended with the
 * expected revision, so that one process alone adds the next one, and no two have the same size and another root.
 */
import { randomUUID } from 'node:crypto';
import {
  type EventStore,
  hashOfEvent,
  type RecordedEvent,
  WrongExpectedRevision,
} from '@pis/event-store';
import { checkpointStream } from './leaf.js';
import { checkpointText, type NoteSigner } from './note.js';

export interface Checkpoint {
  /** Of its event, from 0. */
  readonly revision: number;
  readonly treeSize: number;
  /** Base64. */
  readonly rootHash: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly note: string;
}

const checkpointEvent = 'CheckpointSigned';

/** @returns the newest first, from the revision down. @throws StoreUnavailable */
export async function readCheckpoints(
  store: Pick<EventStore, 'readStream'>,
  { from, limit }: { readonly from?: number; readonly limit: number },
): Promise<readonly Checkpoint[]> {
  return (await newest(store, from, limit)).map(checkpointOf);
}

/** @throws StoreUnavailable */
export async function newestCheckpoint(
  store: Pick<EventStore, 'readStream'>,
): Promise<Checkpoint | null> {
  const [found] = await readCheckpoints(store, { limit: 1 });
  return found ?? null;
}

/**
 * Signs the tree and appends the checkpoint after `previous`.
 * @returns false when another process has appended one meanwhile
 * @throws StoreUnavailable
 */
export async function appendCheckpoint(
  store: Pick<EventStore, 'append' | 'readStream'>,
  tree: { readonly size: number; readonly root: Buffer },
  previous: Checkpoint | null,
  { signer, now }: { readonly signer: NoteSigner; readonly now: Date },
): Promise<boolean> {
  const [last] = await newest(store, undefined, 1);
  if (last?.revision !== previous?.revision) return false;
  const id = randomUUID();
  const data = {
    treeSize: tree.size,
    rootHash: tree.root.toString('base64'),
    note: signer.sign(checkpointText(signer.name, tree.size, tree.root)),
    verifierKey: signer.verifierKey,
  };
  const metadata = {
    at: now.toISOString(),
    schemaVersion: 1,
    actor: 'system:audit',
    requestId: null,
    correlationId: id,
    causationId: null,
    traceparent: null,
    previousHash: last === undefined ? null : hashOfEvent(last),
  };
  const event = { id, type: checkpointEvent, data, metadata };
  try {
    await store.append(checkpointStream, last?.revision ?? 'noStream', [event]);
    return true;
  } catch (error) {
    if (error instanceof WrongExpectedRevision) return false;
    throw error;
  }
}

function newest(
  store: Pick<EventStore, 'readStream'>,
  from: number | undefined,
  maxCount: number,
): Promise<readonly RecordedEvent[]> {
  const options = { direction: 'backwards', maxCount, leaveSealed: true } as const;
  return store.readStream(checkpointStream, from === undefined ? options : { ...options, from });
}

function checkpointOf({ revision, data, metadata }: RecordedEvent): Checkpoint {
  const { treeSize, rootHash, note } = data as {
    readonly treeSize: number;
    readonly rootHash: string;
    readonly note: string;
  };
  return { revision, treeSize, rootHash, createdAt: metadata.at, note };
}
