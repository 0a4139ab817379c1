/**
 * Lets a client see its own writes in lists, and no less than it has just seen of a payment: a list
 * waits, a little, until the projection has reached what this gateway has appended for the organization
 * or read for it from a stream.
 */
import type { Position } from '@pis/event-store';
import type { ProjectionName, ProjectionProgress } from '@pis/read-models';
import { LRUCache } from 'lru-cache';

/** Organizations whose last append is remembered; forgetting one only makes its next list stale. */
const organizationsMax = 10_000;

/** Of whose appends a projection is made: where they are noted. */
const notedAs = {
  payments: 'payments',
  events: 'payments',
  directory: 'directory',
} as const satisfies Record<ProjectionName, ProjectionName>;

export class OwnWrites {
  /** How long a list waits, at most: an old one is better than none. */
  waitMaxMs = 1_000;
  private readonly last = new LRUCache<string, Position>({ max: organizationsMax });

  constructor(private readonly progress: Readonly<Record<ProjectionName, ProjectionProgress>>) {}

  /** `position` is null when nothing was appended or read. */
  note(projection: ProjectionName, organizationId: string, position: Position | null): void {
    const key = `${notedAs[projection]}/${organizationId}`;
    if (position !== null && position > (this.last.get(key) ?? '')) this.last.set(key, position);
  }

  /** Resolves when they are visible, or after waitMaxMs. */
  async visible(projection: ProjectionName, organizationId: string): Promise<void> {
    const position = this.last.get(`${notedAs[projection]}/${organizationId}`);
    if (position !== undefined) await this.progress[projection].waitFor(position, this.waitMaxMs);
  }
}
