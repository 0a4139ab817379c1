/**
 * Goes on with approvals that nobody asks about any more: creates the payment of a granted one whose process died,
 * corrects a refusal whose payment was created late, and ends those that wait although a party was erased. One process at a time does it, and only after the request that
 * granted an approval has reached its time limit: so nobody else creates the payment at the same time.
 */
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { PaymentApprovals } from '@pis/commands';
import { expiredApprovalsAt } from '@pis/domain';
import { systemContext } from '@pis/event-store';
import { now } from '@pis/http-api';
import { asSingleton } from '@pis/postgres';
import { ApprovalsQuery } from '@pis/read-models';
import { type Logger, LOGGER, PG_POOL, Repeating } from '@pis/service-kit';
import type pg from 'pg';
import { USE_CASES, type UseCases } from './use-cases.js';

const roundMs = 15_000;
const pageMax = 100;
/** Added to the time limit of requests, for clocks that differ. */
const marginMs = 10_000;
/** How long after a grant its refusal is looked at again. */
const lateMaxMs = 600_000;
const upkeepLock = { key: 72_707_457 };

/** The time limit of the requests of the dashboard. */
export const REQUEST_TIMEOUT_MS = Symbol('RequestTimeoutMs');

export interface ApprovalWork {
  readonly approvals: Pick<PaymentApprovals, 'settle' | 'end'>;
  readonly query: Pick<ApprovalsQuery, 'unsettled' | 'refused' | 'ofErasedParties'>;
  /** Called for an approval that could not be settled or ended: the others go on. */
  readonly failed: (error: unknown, approvalId: string) => void;
}

type Find = (page: {
  readonly limit: number;
  readonly after: string | null;
}) => Promise<readonly string[]>;

/** One round over all that is to be done. @param grantedBefore ISO 8601 */
export async function keepApprovals(
  { approvals, query, failed }: ApprovalWork,
  grantedBefore: string,
  signal?: AbortSignal,
): Promise<void> {
  const by = systemContext('dashboard');
  const isStopped = () => signal?.aborted === true;
  const each = async (find: Find, act: (approvalId: string) => Promise<unknown>) => {
    for (let after: string | null = null; !isStopped(); ) {
      const found: readonly string[] = await find({ limit: pageMax, after });
      for (const approvalId of found) {
        if (isStopped()) return;
        await act(approvalId).catch((error: unknown) => failed(error, approvalId));
      }
      if (found.length < pageMax) return;
      after = found.at(-1) ?? null;
    }
  };
  await each(
    (page) => query.unsettled(grantedBefore, page),
    (approvalId) => approvals.settle(approvalId),
  );
  await each(
    (page) => query.refused(lately(grantedBefore), page),
    (approvalId) => approvals.settle(approvalId),
  );
  await each(
    (page) => query.ofErasedParties(expiredApprovalsAt(now()), page),
    (approvalId) => approvals.end(approvalId, by),
  );
}

function lately(grantedBefore: string) {
  const grantedAfter = new Date(Date.parse(grantedBefore) - lateMaxMs).toISOString();
  return { grantedAfter, grantedBefore };
}

@Injectable()
export class ApprovalUpkeep implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly repeating: Repeating;

  constructor(
    @Inject(USE_CASES) { approvals }: UseCases,
    @Inject(PG_POOL) pool: pg.Pool,
    @Inject(LOGGER) logger: Logger,
    @Inject(REQUEST_TIMEOUT_MS) timeoutMs: number,
  ) {
    const query = new ApprovalsQuery(pool);
    const failed = (error: unknown, approvalId: string) =>
      logger.warn({ err: error, approvalId }, 'an approval could not be settled');
    const isIdle = async (before: string) => {
      const one = { limit: 1, after: null };
      const [granted, refused, erased] = await Promise.all([
        query.unsettled(before, one),
        query.refused(lately(before), one),
        query.ofErasedParties(expiredApprovalsAt(now()), one),
      ]);
      return granted.length + refused.length + erased.length === 0;
    };
    this.repeating = new Repeating({
      round: async (signal) => {
        const before = new Date(Date.now() - timeoutMs - marginMs).toISOString();
        if (!(await isIdle(before)))
          await asSingleton(pool, upkeepLock, undefined, (_client, lost) =>
            keepApprovals({ approvals, query, failed }, before, AbortSignal.any([signal, lost])),
          );
        return roundMs;
      },
      failed: (error) => {
        logger.warn({ err: error }, 'approvals could not be looked through');
        return roundMs;
      },
    });
  }

  onApplicationBootstrap(): void {
    this.repeating.start();
  }

  onApplicationShutdown(): Promise<void> {
    return this.repeating.stop();
  }
}
