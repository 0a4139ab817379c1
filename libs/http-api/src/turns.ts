/**
 * Expensive work, a few pieces at a time for each organization. So an organization that asks for a lot of it waits for
 * itself, and the others wait for those few pieces at most.
 */
import { outOfTime, timeLimitOfCaller } from '@pis/event-store';
import { RateLimited } from './rate-limit.js';

export interface TurnLimits {
  /** Pieces of an organization that run at the same time. */
  readonly atOnceMax: number;
  /** Those that run and those that wait. */
  readonly sizeMax: number;
}

interface Queue {
  running: number;
  /** Begins the next piece of work. */
  readonly waiting: (() => void)[];
}

export class Turns {
  private readonly queues = new Map<string, Queue>();

  constructor(private readonly limits: TurnLimits) {}

  /**
   * @throws RateLimited when too much of the organization waits, StoreUnavailable when its turn comes after the time
   *   limit of the request, and what `work` throws
   */
  async take<Result>(organizationId: string, work: () => Promise<Result>): Promise<Result> {
    const { atOnceMax, sizeMax } = this.limits;
    const queue = this.queues.get(organizationId) ?? { running: 0, waiting: [] };
    if (queue.running + queue.waiting.length >= sizeMax)
      throw new RateLimited({ remaining: 0, waitSeconds: 1 });
    this.queues.set(organizationId, queue);
    if (queue.running < atOnceMax) queue.running += 1;
    else await new Promise<void>((begin) => queue.waiting.push(begin));
    try {
      if (timeLimitOfCaller()?.isOver === true) throw outOfTime();
      return await work();
    } finally {
      const next = queue.waiting.shift();
      if (next !== undefined) next();
      else queue.running -= 1;
      if (queue.running === 0) this.queues.delete(organizationId);
    }
  }
}
