/** How many long answers, such as downloads, are under way at a time. */
import { RateLimited } from './rate-limit.js';

export interface ConcurrentAnswerLimits {
  readonly perOrganizationMax: number;
  /** Beyond it an organization has one answer at a time: slow readers of a few organizations cut off no other. */
  readonly sharedMax: number;
  /** The bound of all. */
  readonly perProcessMax: number;
}

const fullWaitSeconds = 10;

export class ConcurrentAnswers {
  private readonly running = new Map<string, number>();

  constructor(private readonly limits: ConcurrentAnswerLimits) {}

  /** @returns ends it; more than one call does nothing. @throws RateLimited */
  begin(organizationId: string): () => void {
    const own = this.running.get(organizationId) ?? 0;
    const all = [...this.running.values()].reduce((sum, count) => sum + count, 0);
    const { perOrganizationMax, sharedMax, perProcessMax } = this.limits;
    if (own >= perOrganizationMax || all >= (own === 0 ? perProcessMax : sharedMax))
      throw new RateLimited({ remaining: 0, waitSeconds: fullWaitSeconds });
    this.running.set(organizationId, own + 1);
    let isRunning = true;
    return () => {
      if (isRunning) this.end(organizationId);
      isRunning = false;
    };
  }

  private end(organizationId: string): void {
    const left = (this.running.get(organizationId) ?? 0) - 1;
    if (left > 0) this.running.set(organizationId, left);
    else this.running.delete(organizationId);
  }
}
