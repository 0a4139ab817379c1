/**
 * Lets clients see their own writes in lists, and at least what they have just read of a payment. A list
 * waits, up to a limit, until its projection has reached what this process appended for the organization or
 * read for it from a stream.
 */
import type { Position } from '@pis/event-store';
import type { ProjectionName, ProjectionProgress } from '@pis/read-models';
import { BoundedMap } from './bounded-map.js';

/** Remembered organizations and write keys. Forgetting one only makes its next list stale. */
const positionsMax = 10_000;

/** What a write appears in. */
export type WriteKey = 'payments' | 'directory';

/** Which write keys a projection follows. */
const followed = {
  payments: 'payments',
  events: 'payments',
  directory: 'directory',
} as const satisfies Record<ProjectionName, WriteKey>;

export class OwnWrites {
  /** The longest wait of a list. After that an old list is better than none. */
  waitMaxMs = 1_000;
  private readonly last = new BoundedMap<string, Position>(positionsMax);

  constructor(private readonly progress: Readonly<Record<ProjectionName, ProjectionProgress>>) {}

  /** `position` is null when nothing was appended or read. */
  note(writeKey: WriteKey, organizationId: string, position: Position | null): void {
    const key = `${writeKey}/${organizationId}`;
    if (position !== null && position > (this.last.get(key) ?? '')) this.last.set(key, position);
  }

  /** Resolves when the writes are visible, or after waitMaxMs. */
  async visible(projection: ProjectionName, organizationId: string): Promise<void> {
    const position = this.last.get(`${followed[projection]}/${organizationId}`);
    if (position !== undefined) await this.progress[projection].waitFor(position, this.waitMaxMs);
  }
}
