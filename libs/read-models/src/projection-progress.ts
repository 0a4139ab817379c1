/**
 * Lets a reader wait until a projection has reached its own append, so that a client sees its own writes. A
 * runner in the same process reports its progress at once. The progress of another process is read from its
 * checkpoint.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { beginning, type Position } from '@pis/event-store';
import type pg from 'pg';
import { readCheckpoint } from './checkpoint.js';
import { isTransient } from '@pis/postgres';

export interface ProjectionProgress {
  /** True once the tables have reached `position`; false after `timeoutMs`, or while the database is unavailable. */
  waitFor(position: Position, timeoutMs: number): Promise<boolean>;
}

export interface LocalProgress extends ProjectionProgress {
  readonly isActive: boolean;
}

/**
 * The runners of this process, by the pool they write through. A reader with the same pool finds its
 * runner, so the modules of an all-in-one need not know each other.
 */
const runners = new WeakMap<pg.Pool, Map<string, LocalProgress>>();

export function register(pool: pg.Pool, projection: string, runner: LocalProgress): void {
  const ofPool = runners.get(pool) ?? new Map<string, LocalProgress>();
  runners.set(pool, ofPool.set(projection, runner));
}

export function unregister(pool: pg.Pool, projection: string, runner: LocalProgress): void {
  const ofPool = runners.get(pool);
  if (ofPool?.get(projection) === runner) ofPool.delete(projection);
}

/** How many connections each pool has lost. One listener for all readers: Node warns of more than ten. */
const lostConnections = new WeakMap<pg.Pool, { count: number }>();

function lostConnectionsOf(pool: pg.Pool): { readonly count: number } {
  const counted = lostConnections.get(pool);
  if (counted !== undefined) return counted;
  const lost = { count: 0 };
  lostConnections.set(pool, lost);
  pool.on('remove', () => (lost.count += 1));
  return lost;
}

const pollMs = 15;

/** `projection` is `payments` or `directory`. */
export function projectionProgress(pool: pg.Pool, projection: string): ProjectionProgress {
  const lost = lostConnectionsOf(pool);
  let read = { position: beginning, lostBefore: lost.count };
  // A crashed server may have lost the last pages: their commits did not wait for the disk (see the runner).
  const known = (): Position => (read.lostBefore === lost.count ? read.position : beginning);
  let polling: Promise<void> | undefined;
  /** One query at a time, for all waiting readers. */
  const poll = () =>
    (polling ??= readCheckpoint(pool, projection)
      .then((position) => {
        read = { position, lostBefore: lost.count };
      })
      .finally(() => {
        polling = undefined;
      }));
  return {
    async waitFor(position, timeoutMs) {
      const runner = runners.get(pool)?.get(projection);
      if (runner?.isActive === true) return runner.waitFor(position, timeoutMs);
      const deadline = performance.now() + timeoutMs;
      try {
        while (known() < position) {
          // A poll under way may have begun before the position was reached: wait for the next one.
          await poll();
          if (known() >= position) return true;
          if (performance.now() >= deadline) return false;
          await delay(pollMs);
        }
        return true;
      } catch (error) {
        if (!isTransient(error)) throw error;
        return false;
      }
    },
  };
}
