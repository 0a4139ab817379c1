/** The checkpoints in the log itself: size and root, and whether their notes are signed. */
import type { EventStore, RecordedEvent } from '@pis/event-store';
import { checkpointStream } from '../leaf.js';
import { problemOfNote } from '../note.js';
import type { KnownCheckpoint } from './log-audit.js';

const pageMax = 500;

/** In their order from a revision on, up to the last one when the reading began. @throws StoreUnavailable */
export async function* signedCheckpoints(
  store: Pick<EventStore, 'readStream'>,
  first = 0,
): AsyncGenerator<KnownCheckpoint, void, undefined> {
  const lastOnly = { direction: 'backwards', maxCount: 1, leaveSealed: true } as const;
  const [last] = await store.readStream(checkpointStream, lastOnly);
  for (let from = first; last !== undefined && from <= last.revision; ) {
    const maxCount = Math.min(pageMax, last.revision - from + 1);
    const page = await store.readStream(checkpointStream, { from, maxCount, leaveSealed: true });
    const end = page.at(-1);
    if (end === undefined) return;
    yield* page.map(checkpointOf);
    from = end.revision + 1;
  }
}

/** A malformed one agrees with no tree. */
function checkpointOf({ revision, data }: RecordedEvent): KnownCheckpoint {
  const treeSize = typeof data['treeSize'] === 'number' ? data['treeSize'] : 0;
  const [rootHash, note, verifierKey] = [data['rootHash'], data['note'], data['verifierKey']].map(
    (field) => (typeof field === 'string' ? field : ''),
  ) as [string, string, string];
  const problem = problemOfNote(note, { treeSize, rootHash, verifierKey });
  return {
    ...{ treeSize, rootHash, verifierKey, problem, revision },
    from: `${checkpointStream} revision ${revision}`,
  };
}
