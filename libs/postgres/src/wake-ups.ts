/**
 * Wake-ups of loops whose work other processes leave in tables: triggers notify `workChannel` of the kind of work. They
 * are hints. A loop that has nothing to do looks for work again after a while, and more often while it is not proven that
 * notifications arrive.
 */
import type { Listener } from './listener.js';
import { Bell } from './wake-up.js';

/**
 * The triggers are in libs/read-models/prisma/migrations/20261211000000_wake_ups. Deliveries, and notifications of banks, have
 * none: whoever leaves some to others says so, and not each row. `locks` are those that a standby waits for: whoever gives one
 * up says so (singleton.ts).
 */
export type WorkKind =
  | 'audit'
  | 'bankNotifications'
  | 'deliveries'
  | 'exports'
  | 'locks'
  | 'replays';

export const workChannel = 'pis_work';

export interface WakeUpsLimits {
  /** How often a loop without work looks for some while it is proven that notifications arrive, and otherwise. */
  readonly idleMs: number;
  readonly idleWithoutListenMs: number;
  /** In the place of idleMs for `locks`: nobody notifies of a process that has died. */
  readonly standbyPollMs?: number;
}

/**
 * How often a standby asks for the lock of a job that runs day and night. The lock of a process that has died is taken over
 * within this time. Shorter costs statements all the time, for a handover that is rare.
 */
export const standbyPollMs = 2_000;

const usualLimits: WakeUpsLimits = {
  idleMs: 15_000,
  idleWithoutListenMs: 2_000,
  standbyPollMs,
};

/** Wakes the loops of this work in all processes. */
export async function notifyOfWork(
  db: { query(text: string, values: string[]): Promise<unknown> },
  kind: WorkKind,
): Promise<void> {
  await db.query('SELECT pg_notify($1, $2)', [workChannel, kind]);
}

/** Of one loop. */
export interface WakeUp {
  readonly bell: Bell;
  /** The longest wait for the bell when there is no work at all, in ms. */
  readonly idleMs: () => number;
}

export class WakeUps {
  readonly #bells = new Map<string, Bell>();

  constructor(
    private readonly listener: Listener,
    private readonly limits = usualLimits,
  ) {
    const ringAll = () => {
      for (const bell of this.#bells.values()) bell.ring();
    };
    listener.add({
      channel: workChannel,
      onNotification: (kind) => this.#bells.get(kind)?.ring(),
      onListening: ringAll,
      onDoubt: ringAll,
    });
  }

  /** Whether any loop waits for work. */
  get areUsed(): boolean {
    return this.#bells.size > 0;
  }

  for(kind: WorkKind): WakeUp {
    const bell = this.#bells.get(kind) ?? new Bell();
    this.#bells.set(kind, bell);
    const { idleWithoutListenMs, standbyPollMs } = this.limits;
    const idleMs = (kind === 'locks' ? standbyPollMs : undefined) ?? this.limits.idleMs;
    return { bell, idleMs: () => (this.listener.isProven ? idleMs : idleWithoutListenMs) };
  }
}
