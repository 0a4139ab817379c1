/**
 * Expensive work, one at a time for each organization. So an organization that asks for a lot of it waits for itself,
 * and the others wait for one piece of it at most.
 */
import { RateLimited } from '@pis/http-api';

interface Queue {
  /** The work that runs, and what waits. */
  size: number;
  last: Promise<unknown>;
}

export class Turns {
  private readonly queues = new Map<string, Queue>();

  constructor(private readonly sizeMax: number) {}

  /** @throws RateLimited when too much of the organization waits */
  async take<Result>(organizationId: string, work: () => Promise<Result>): Promise<Result> {
    const queue = this.queues.get(organizationId) ?? { size: 0, last: Promise.resolve() };
    if (queue.size >= this.sizeMax) throw new RateLimited({ remaining: 0, waitSeconds: 1 });
    this.queues.set(organizationId, queue);
    queue.size += 1;
    const turn = queue.last.then(work);
    queue.last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      queue.size -= 1;
      if (queue.size === 0) this.queues.delete(organizationId);
    }
  }
}
