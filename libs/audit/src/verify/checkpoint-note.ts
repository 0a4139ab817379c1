/** Reads a checkpoint note (C2SP tlog-checkpoint): its size and root. The signature is the keeper's business. */

export interface CheckpointNote {
  readonly origin: string;
  readonly treeSize: number;
  /** Base64. */
  readonly rootHash: string;
}

const rootBytes = 32;

/** @throws Error for a text that is no checkpoint note */
export function readCheckpointNote(text: string): CheckpointNote {
  const [origin = '', size = '', rootHash = '', ...rest] = text.split('\n');
  if (origin === '' || !/^(0|[1-9]\d{0,15})$/.test(size))
    throw new Error('not a checkpoint note: its second line must be the size of the tree');
  if (Buffer.from(rootHash, 'base64').toString('base64') !== rootHash || !isRoot(rootHash))
    throw new Error('not a checkpoint note: its third line must be the root hash in base64');
  if (!rest.some((line) => line.startsWith('— ')))
    throw new Error('not a checkpoint note: it has no signature');
  return { origin, treeSize: Number(size), rootHash };
}

function isRoot(rootHash: string): boolean {
  return Buffer.from(rootHash, 'base64').length === rootBytes;
}
