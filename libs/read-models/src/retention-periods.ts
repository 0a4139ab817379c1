/** The retention periods in force, from the list of organizations, for who deletes by it. */
import { type EventStore } from '@pis/event-store';
import { streamPrefixOf } from '@pis/domain';
import type pg from 'pg';
import { orUnavailable } from './or-unavailable.js';
import { hasReached } from './projection-reach.js';
import { projectionReader } from './quarantine.js';

export interface RetentionPeriods {
  /** Of organizations that have no period of their own. */
  readonly defaultYears: number;
  readonly shortestYears: number;
  readonly longestYears: number;
}

/** The list of organizations may lack a longer period: nothing may be deleted by it now. Try again later. */
export class RetentionUnknown extends Error {
  override readonly name = 'RetentionUnknown';
}

const organizationPrefix = streamPrefixOf('organization');

/**
 * Once this resolves, the table `organizations` has every period that was set before the call.
 * @throws RetentionUnknown, StoreUnavailable
 */
export async function retentionPeriods(
  { pool, store }: { readonly pool: pg.Pool; readonly store: EventStore },
  defaultYears: number,
): Promise<RetentionPeriods> {
  const end = await store.lastPosition();
  if (!(await hasReached({ pool, store }, 'directory', end, [organizationPrefix])))
    throw new RetentionUnknown(
      'retention periods are not known: the projection directory lacks events of organizations',
    );
  const { rows } = await orUnavailable(() =>
    pool.query<{ shortest: number | null; longest: number | null; held: string | null }>(
      `SELECT min(retention_years) AS shortest, max(retention_years) AS longest,
         (SELECT min(stream_id) FROM quarantined_streams WHERE reader = $1 AND stream_id ^@ $2) AS held
       FROM organizations`,
      [projectionReader('directory'), organizationPrefix],
    ),
  );
  const { shortest = null, longest = null, held = null } = rows[0] ?? {};
  if (held !== null)
    throw new RetentionUnknown(`retention periods are not known: ${held} is in quarantine`);
  return {
    defaultYears,
    shortestYears: Math.min(defaultYears, shortest ?? defaultYears),
    longestYears: Math.max(defaultYears, longest ?? defaultYears),
  };
}
