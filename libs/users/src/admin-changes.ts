/**
 * Changes that may take an administrator from an organization: one at a time, over all processes. Users are streams
 * of their own, so only a lock can compare them. A process that dies gives the lock up.
 */
import { StoreUnavailable } from '@pis/event-store';
import { asSingleton } from '@pis/postgres';
import type pg from 'pg';
import { orUnavailable } from './credentials.js';

const lockGroup = 0x70_69_73_03;
const lockWait = { pollMs: 20, timeoutMs: 5_000 } as const;

export class AdminChanges {
  /** Of this process: it holds one connection of the pool for the lock, never more. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly pool: pg.Pool) {}

  /** @throws StoreUnavailable also when others have the lock for too long */
  oneAtATime<Result>(organizationId: string, work: () => Promise<Result>): Promise<Result> {
    const turn = this.last.then(() => this.locked(organizationId, work));
    this.last = turn.catch(() => undefined);
    return turn;
  }

  private async locked<Result>(
    organizationId: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const lock = { key: lockGroup, name: organizationId };
    const done = await orUnavailable(
      asSingleton(this.pool, lock, lockWait, async (_client, lost) => {
        lost.throwIfAborted();
        return { result: await work() };
      }),
    );
    if (done === null) throw new StoreUnavailable('another change of administrators is under way');
    return done.result;
  }
}
