/**
 * Shows clients their own writes in lists, and payments that they just read. A list waits, up to a limit,
 * until its projection has reached the events that this process appended or read for the organization.
 */
import type { Position } from '@pis/event-store';
import type { ProjectionName, ProjectionProgress } from '@pis/read-models';
import { BoundedMap } from './bounded-map.js';

/** Pairs of organization and write key in memory. If one is dropped, only its next list may be stale. */
const positionsMax = 10_000;

/** The lists in which a write appears. */
export type WriteKey = 'payments' | 'directory';

/** Which write keys a projection follows. Figures come a moment later: nobody waits for them. */
const followed = {
  payments: 'payments',
  events: 'payments',
  directory: 'directory',
} as const satisfies Partial<Record<ProjectionName, WriteKey>>;

type Listed = keyof typeof followed;

export class OwnWrites {
  /** The longest wait of a list. After that, a stale list is better than none. */
  waitMaxMs = 1_000;
  private readonly last = new BoundedMap<string, Position>(positionsMax);

  constructor(private readonly progress: Readonly<Record<Listed, ProjectionProgress>>) {}

  /** `position` is null when nothing was appended or read. */
  note(writeKey: WriteKey, organizationId: string, position: Position | null): void {
    const key = `${writeKey}/${organizationId}`;
    if (position !== null && position > (this.last.get(key) ?? '')) this.last.set(key, position);
  }

  /** Resolves when the writes are visible, or after waitMaxMs. */
  async visible(projection: Listed, organizationId: string): Promise<void> {
    const position = this.last.get(`${followed[projection]}/${organizationId}`);
    if (position !== undefined) await this.progress[projection].waitFor(position, this.waitMaxMs);
  }
}
