/**
 * The audit of the whole log, event by event in its order. It trusts nothing but its own rules and the checkpoints that
 * it is given.
 *
 * What always holds: a finding does not hide the next one. After it the audit goes on from what the log says, so that one
 * altered event gives one or two findings and not one for each event behind it.
 */
import { hash } from 'node:crypto';
import type { Position } from '@pis/event-store';
import { checkpointStream } from '../leaf.js';
import { GrowingTree, type TreeNode } from '../merkle-tree.js';
import { unknownIn } from './known-events.js';
import { PaymentAudit } from './payment-audit.js';
import { type EventReading, readEvent, type StoredEvent } from './stored-event.js';
import type { StateReader } from './state-file.js';
import { StreamTable } from './stream-table.js';

export interface Finding {
  /** Null for a finding about the log as a whole. */
  readonly stream: string | null;
  readonly revision: number | null;
  /** In the log; null when it has none. */
  readonly position: Position | null;
  /** What differs. */
  readonly differs: string;
}

/** A tree that was signed, and that somebody kept. */
export interface KnownCheckpoint {
  readonly treeSize: number;
  /** Base64. */
  readonly rootHash: string;
  /** Where it is from, for a person: a file, or a revision of the checkpoints' stream. */
  readonly from: string;
  /** Who signed it; absent for a note that somebody kept. */
  readonly verifierKey?: string;
  /** Why it is not what it claims to be. */
  readonly problem?: string | null;
  /** In the stream of checkpoints; absent for a note that somebody kept. */
  readonly revision?: number;
}

/** How far an audit is, beside its tables of streams and payments. */
export interface LogProgress {
  readonly eventsRead: number;
  readonly streams: number;
  readonly position: number;
  readonly treeSize: number;
  /** Base64. */
  readonly peaks: readonly string[];
  /** Those that the tree has not reached. */
  readonly checkpoints: readonly KnownCheckpoint[];
  /** The revision of the next checkpoint of the log. */
  readonly nextSigned: number;
  readonly compared: { readonly count: number; readonly lastSizeThatHolds: number };
  readonly verifierKeys: readonly string[];
}

export interface LogAuditOptions {
  readonly onFinding: (finding: Finding) => void;
  /** Whether positions are 1, 2, 3, …: in PostgreSQL. */
  readonly hasContiguousPositions: boolean;
  /** Verifier keys: a checkpoint of the log by another one is a finding. All keys will do when there are none. */
  readonly keys?: readonly string[];
  /** Called for each leaf, in order, with the nodes of the tree that it completes: itself first. */
  readonly onLeaf?: (event: StoredEvent, nodes: readonly TreeNode[]) => void;
}

const noHash = '0'.repeat(64);

export class LogAudit {
  readonly #streams = new StreamTable();
  readonly #payments = new PaymentAudit(this.#streams);
  #tree = new GrowingTree();
  /** By size, the smallest last. */
  #checkpoints: KnownCheckpoint[] = [];
  readonly #verifierKeys = new Set<string>();
  #compared = { count: 0, lastSizeThatHolds: 0 };
  #position = 0;
  #eventsRead = 0;
  #nextSigned = 0;

  constructor(private readonly options: LogAuditOptions) {}

  get eventsRead(): number {
    return this.#eventsRead;
  }

  get streams(): number {
    return this.#streams.size;
  }

  get checkpointsCompared(): number {
    return this.#compared.count;
  }

  get treeSize(): number {
    return this.#tree.size;
  }

  /** Base64. */
  get rootHash(): string {
    return this.#tree.root().toString('base64');
  }

  /** The revision of the next checkpoint of the log that is to be expected. */
  get nextSigned(): number {
    return this.#nextSigned;
  }

  get progress(): LogProgress {
    return {
      eventsRead: this.#eventsRead,
      streams: this.streams,
      position: this.#position,
      treeSize: this.treeSize,
      peaks: this.#tree.peaks.map((peak) => peak.toString('base64')),
      checkpoints: this.#checkpoints,
      nextSigned: this.#nextSigned,
      compared: this.#compared,
      verifierKeys: this.verifierKeys,
    };
  }

  /** Its tables, for `restore`. */
  *parts(): Generator<Uint8Array, void, undefined> {
    yield* this.#streams.parts();
    yield* this.#payments.parts();
  }

  /** Goes on where another audit stopped. Of an audit that has taken nothing. */
  async restore(progress: LogProgress, tables: StateReader): Promise<void> {
    const peaks = progress.peaks.map((peak) => Buffer.from(peak, 'base64'));
    this.#tree = await GrowingTree.load(progress.treeSize, async () => peaks);
    await this.#streams.restore(progress.streams, tables);
    await this.#payments.restore(tables);
    this.#checkpoints = [...progress.checkpoints];
    progress.verifierKeys.forEach((key) => this.#verifierKeys.add(key));
    this.#compared = { ...progress.compared };
    this.#position = progress.position;
    this.#eventsRead = progress.eventsRead;
    this.#nextSigned = progress.nextSigned;
  }

  /** Compares the tree with a checkpoint when it has reached its size. */
  expect(checkpoint: KnownCheckpoint): void {
    const { from, problem = null, verifierKey, revision } = checkpoint;
    if (revision !== undefined) this.#nextSigned = revision + 1;
    if (problem !== null) this.#find(`${from}: ${problem}`);
    if (verifierKey !== undefined) this.#takeKey(from, verifierKey);
    this.#checkpoints.push(checkpoint);
    this.#checkpoints.sort((one, other) => other.treeSize - one.treeSize);
    this.#compare();
  }

  /** All that signed checkpoints of the log. */
  get verifierKeys(): readonly string[] {
    return [...this.#verifierKeys];
  }

  take(stored: StoredEvent): void {
    this.#eventsRead += 1;
    const find = (differs: string) => this.options.onFinding(findingAt(stored, differs));
    if (this.options.hasContiguousPositions) this.#takePosition(stored.position, find);
    const reading = readingOf(stored, find);
    const row = this.#streams.rowOf(stored.streamId);
    this.#takeRevision(row, stored, reading, find);
    // An unreadable event counts as a leaf: the tree's later sizes stay comparable.
    this.#takeLeaf(stored, reading);
    if (reading === null) return;
    const unknown = unknownIn(reading);
    if (unknown !== null) find(unknown);
    this.#payments.take(row, reading).forEach(find);
  }

  /** @param lastPosition of the log by its own account; null when the store keeps none */
  end(lastPosition: number | null): void {
    if (lastPosition !== null && lastPosition !== this.#position)
      this.#find(`the log ends at position ${this.#position}, its head says ${lastPosition}`);
    for (const { treeSize, from } of this.#checkpoints.toReversed())
      this.#find(
        `the log has ${this.#tree.size} leaves, ${from} has ${treeSize}: events are missing at its end`,
      );
    for (const imbalance of this.#payments.imbalances()) this.#find(imbalance);
  }

  #takeKey(from: string, verifierKey: string): void {
    this.#verifierKeys.add(verifierKey);
    const { keys = [] } = this.options;
    if (keys.length > 0 && !keys.includes(verifierKey))
      this.#find(`${from} is signed by another key: ${verifierKey}`);
  }

  #takePosition(text: Position, find: (differs: string) => void): void {
    const position = Number(text);
    const expected = this.#position + 1;
    if (position !== expected) {
      const missing = position - expected;
      const are = missing === 1 ? 'event is' : 'events are';
      find(`position ${position} follows ${this.#position}: ${missing} ${are} missing`);
    }
    this.#position = position;
  }

  #takeRevision(
    row: number,
    { revision }: StoredEvent,
    reading: EventReading | null,
    find: (differs: string) => void,
  ): void {
    const last = this.#streams.revision(row);
    if (revision !== last + 1)
      find(
        last === -1
          ? `the stream begins with revision ${revision}`
          : `revision ${revision} follows revision ${last}`,
      );
    const expected = last === -1 ? null : this.#streams.hash(row);
    // What comes after an unreadable event cannot be compared with it.
    if (reading !== null && expected !== noHash && reading.metadata.previousHash !== expected)
      find(
        expected === null
          ? 'previousHash is not null in the first event of the stream'
          : `previousHash is not the hash of revision ${last}: one of the two was altered`,
      );
    this.#streams.setLast(row, revision, reading?.eventHash ?? noHash);
  }

  #takeLeaf(stored: StoredEvent, reading: EventReading | null): void {
    if (stored.streamId === checkpointStream) return;
    const nodes = this.#tree.append(reading?.leafHash ?? hash('sha256', '', 'buffer'));
    this.options.onLeaf?.(stored, nodes);
    this.#compare();
  }

  #compare(): void {
    for (;;) {
      const next = this.#checkpoints.at(-1);
      if (next === undefined || next.treeSize > this.#tree.size) return;
      this.#checkpoints.pop();
      if (next.treeSize === this.#tree.size) this.#compareWith(next);
      else this.#find(`${next.from} has fewer leaves than the checkpoint before it`);
    }
  }

  #compareWith({ treeSize, rootHash, from }: KnownCheckpoint): void {
    this.#compared.count += 1;
    if (this.rootHash === rootHash) {
      this.#compared.lastSizeThatHolds = treeSize;
      return;
    }
    const { lastSizeThatHolds } = this.#compared;
    this.#find(
      `the root of the first ${treeSize} leaves is not that of ${from}: one of the leaves ${lastSizeThatHolds} to ${treeSize - 1} was altered, dropped, inserted or moved`,
    );
  }

  /** About the log as a whole. */
  #find(differs: string): void {
    this.options.onFinding({ stream: null, revision: null, position: null, differs });
  }
}

export function findingAt({ streamId, revision, position }: StoredEvent, differs: string): Finding {
  return { stream: streamId, revision, position, differs };
}

function readingOf(stored: StoredEvent, find: (differs: string) => void): EventReading | null {
  try {
    return readEvent(stored);
  } catch (error) {
    find(`it cannot be read: ${error instanceof Error ? error.message : String(error)}`);
    return null;
  }
}
