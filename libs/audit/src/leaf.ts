/**
 * The leaves of the audit log: one per event, in position order, without personal data, so that erasure leaves
 * every proof valid. Hashes are RFC 6962's.
 */
import { hash } from 'node:crypto';
import { canonicalJson, hashOfEvent, type RecordedEvent } from '@pis/event-store';

/** The stream of the checkpoints themselves: its events are no leaves. */
export const checkpointStream = 'audit-checkpoints';

/** @returns canonical JSON (RFC 8785) of `streamId`, `revision`, `type`, `id`, `recordedAt` and `eventHash` */
export function leafOf(recorded: RecordedEvent): string {
  const { streamId, revision, type, id, metadata } = recorded;
  const eventHash = hashOfEvent(recorded);
  return canonicalJson({
    streamId,
    revision,
    type,
    id,
    recordedAt: metadata.at,
    eventHash,
  });
}

/** @returns SHA-256 over 0x00 and the leaf's UTF-8 bytes */
export function hashOfLeaf(leaf: string): Buffer {
  return hash('sha256', `\0${leaf}`, 'buffer');
}

/** @returns SHA-256 over 0x01, left and right */
export function hashOfNode(left: Buffer, right: Buffer): Buffer {
  left.copy(node, 1);
  right.copy(node, 1 + hashBytes);
  return hash('sha256', node, 'buffer');
}

const hashBytes = 32;
/** The prefix and two hashes. Used again for each node, because a log has as many nodes as events. */
const node = Buffer.alloc(1 + 2 * hashBytes, 1);
