/** Finds approvals: the pages of the list, how many wait, and those that still need work. IDs alone. */
import type { ApprovalStatus } from '@pis/domain';
import type pg from 'pg';
import { type ListPage, pageOf, type PageRequest } from './list-page.js';
import { orUnavailable } from './or-unavailable.js';

/** `EXPIRED` is a waiting one whose time is over. */
export type ListedApprovalStatus = ApprovalStatus | 'EXPIRED';

export interface ApprovalFilter {
  readonly status?: ListedApprovalStatus | undefined;
  /** Requests from before this time have expired. ISO 8601. */
  readonly expiredBefore: string;
}

/** More that wait are not counted. */
export const waitingCountMax = 100;

/** Every method throws StoreUnavailable when the database is unavailable. */
export class ApprovalsQuery {
  constructor(private readonly pool: pg.Pool) {}

  /** Newest first. */
  async list(
    organizationId: string,
    { status, expiredBefore }: ApprovalFilter,
    { limit, after }: PageRequest & { readonly limit: number },
  ): Promise<ListPage<string>> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ approval_id: string; created_at: Date }>(
        `SELECT approval_id, created_at FROM approvals
         WHERE organization_id = $1
           AND ($2::text IS NULL OR status = $2)
           AND ($3::text IS NULL OR (created_at <= $4) = ($3 = 'expired'))
           AND ($5::timestamptz IS NULL OR (created_at, approval_id) < ($5, $6::uuid))
         ORDER BY created_at DESC, approval_id DESC LIMIT $7`,
        [
          organizationId,
          status === 'EXPIRED' ? 'WAITING' : (status ?? null),
          ageOf(status),
          expiredBefore,
          after?.createdAt ?? null,
          after?.id ?? null,
          limit + 1,
        ],
      ),
    );
    return pageOf(rows, limit, {
      item: (row) => row.approval_id,
      cursor: (row) => ({ createdAt: row.created_at.toISOString(), id: row.approval_id }),
    });
  }

  /** Those of others that a user can decide on, counted up to waitingCountMax. */
  async countWaiting(
    organizationId: string,
    { userId, expiredBefore }: { readonly userId: string; readonly expiredBefore: string },
  ): Promise<number> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ count: number }>(
        `SELECT count(*)::integer AS count FROM (
           SELECT FROM approvals WHERE organization_id = $1 AND status = 'WAITING'
             AND created_at > $2 AND requested_by <> $3 LIMIT $4) found`,
        [organizationId, expiredBefore, userId, waitingCountMax],
      ),
    );
    return rows[0]?.count ?? 0;
  }

  /** Granted before a time, and not settled yet. In the order of the IDs. */
  async unsettled(
    grantedBefore: string,
    { limit, after }: { readonly limit: number; readonly after: string | null },
  ): Promise<readonly string[]> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ approval_id: string }>(
        `SELECT approval_id FROM approvals WHERE status = 'GRANTED' AND decided_at <= $1
           AND ($2::uuid IS NULL OR approval_id > $2) ORDER BY approval_id LIMIT $3`,
        [grantedBefore, after, limit],
      ),
    );
    return rows.map(({ approval_id: id }) => id);
  }

  /** Granted between two times, and refused as payments. In the order of the IDs. */
  async refused(
    { grantedAfter, grantedBefore }: Readonly<Record<'grantedAfter' | 'grantedBefore', string>>,
    { limit, after }: { readonly limit: number; readonly after: string | null },
  ): Promise<readonly string[]> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ approval_id: string }>(
        `SELECT approval_id FROM approvals WHERE status = 'REFUSED' AND decided_at > $1 AND decided_at <= $2
           AND ($3::uuid IS NULL OR approval_id > $3) ORDER BY approval_id LIMIT $4`,
        [grantedAfter, grantedBefore, after, limit],
      ),
    );
    return rows.map(({ approval_id: id }) => id);
  }

  /**
   * Still waiting although the recipient or the originator was erased. In the order of the IDs. Expired ones are left
   * out: nobody can decide on them. So only people who were erased since then are looked at.
   */
  async ofErasedParties(
    expiredBefore: string,
    { limit, after }: { readonly limit: number; readonly after: string | null },
  ): Promise<readonly string[]> {
    const waitingOf = (party: 'recipient_id' | 'originator_id') =>
      `SELECT a.approval_id FROM erased_parties e JOIN approvals a ON a.${party} = e.party_id
       WHERE e.erased_at > $1::timestamptz - $4 * interval '1 ms'
         AND a.status = 'WAITING' AND a.created_at > $1 AND ($2::uuid IS NULL OR a.approval_id > $2)`;
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ approval_id: string }>(
        `${waitingOf('recipient_id')} UNION ${waitingOf('originator_id')} ORDER BY approval_id LIMIT $3`,
        [expiredBefore, after, limit, requestedAfterErasureMaxMs],
      ),
    );
    return rows.map(({ approval_id: id }) => id);
  }

  /** Those that gave this ID to a recipient that is no saved contact. It was made for one. */
  async ofUnsavedRecipient(recipientId: string): Promise<readonly string[]> {
    const { rows } = await orUnavailable(() =>
      this.pool.query<{ approval_id: string }>(
        'SELECT approval_id FROM approvals WHERE recipient_id = $1 AND is_unsaved LIMIT $2',
        [recipientId, unsavedMax],
      ),
    );
    return rows.map(({ approval_id: id }) => id);
  }
}

const unsavedMax = 10;
/** A request may be recorded after the erasure of its party: it had begun before, or clocks differ. */
const requestedAfterErasureMaxMs = 86_400_000;

function ageOf(status: ListedApprovalStatus | undefined): 'expired' | 'waiting' | null {
  if (status === 'EXPIRED') return 'expired';
  return status === 'WAITING' ? 'waiting' : null;
}
