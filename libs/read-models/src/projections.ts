/** The projections of the service by name, and the progress of each. */
import { countEvents, type EventStore, type Position } from '@pis/event-store';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';
import { directoryProjection } from './directory.projection.js';
import { eventsProjection } from './events.projection.js';
import { feesProjection } from './fees.projection.js';
import { figuresProjection } from './figures.projection.js';
import { historyProjection } from './history.projection.js';
import { movementsProjection } from './movements.projection.js';
import { paymentsProjection } from './payments.projection.js';
import type { ProjectionName } from './projected-streams.js';
import type { Projection } from './projection.js';

export const projections = {
  payments: paymentsProjection,
  directory: directoryProjection,
  events: eventsProjection,
  figures: figuresProjection,
  movements: movementsProjection,
  fees: feesProjection,
  history: historyProjection,
} as const satisfies Record<ProjectionName, Projection>;

export const projectionNames = Object.keys(projections) as readonly ProjectionName[];

export interface ProjectionStatus {
  readonly name: ProjectionName;
  /** '' before the first event, and when it never ran. */
  readonly position: Position;
  /** Events of its streams that are not in the tables yet, counted up to lagMax. */
  readonly lag: number;
  /** ISO 8601; null when it never ran. */
  readonly updatedAt: string | null;
}

/** A longer lag is reported as this. */
export const lagMax = 100_000;

/** @throws StoreUnavailable */
export async function projectionStatus(
  pool: pg.Pool,
  store: EventStore,
): Promise<readonly ProjectionStatus[]> {
  const { rows } = await orUnavailable(() =>
    pool.query<{ name: string; position: Position; updated_at: Date }>(
      'SELECT name, position, updated_at FROM projection_checkpoints',
    ),
  );
  return Promise.all(
    projectionNames.map(async (name) => {
      const row = rows.find((candidate) => candidate.name === name);
      const position = row?.position ?? '';
      const { streamPrefixes } = projections[name];
      const lag = await countEvents(store, { after: position, streamPrefixes, max: lagMax });
      return { name, position, lag, updatedAt: row?.updated_at.toISOString() ?? null };
    }),
  );
}
