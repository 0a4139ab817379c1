/**
 * A request of the API is answered within a time limit, with 503 and Retry-After when a store does not
 * answer. What the request asks of the event store ends with it, so that nothing is half done later.
 * An append that was sent may still happen: the same Idempotency-Key then tells.
 *
 * The time of the client's own body does not count: http-edge.ts limits that.
 */
import { StoreUnavailable, TimeLimit, withTimeLimit } from '@pis/event-store';
import type { FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    hasOwnTimeLimit?: boolean;
  }
  interface FastifyRequest {
    /** Ends the request's time limit; null outside of the API. */
    limitTimer: NodeJS.Timeout | null;
  }
}

export class RequestTimeLimit {
  /** What went by before a request's handler began and counts: its authentication. */
  private readonly spentMs = new WeakMap<FastifyRequest, number>();

  constructor(private readonly timeoutMs: number) {}

  /** @throws StoreUnavailable when the admission takes longer than a whole request may */
  async admission(request: FastifyRequest, admitted: Promise<void>): Promise<void> {
    const beganAtMs = performance.now();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(this.late()), this.leftMs(request));
    try {
      await Promise.race([admitted, late]);
    } finally {
      clearTimeout(timer);
      const spentMs = performance.now() - beganAtMs;
      this.spentMs.set(request, (this.spentMs.get(request) ?? 0) + spentMs);
    }
  }

  /** Runs `next` under what is left of the time; then the request is answered, whatever it waits for. */
  handle(request: FastifyRequest, reply: FastifyReply, next: () => void): void {
    if (request.caller === null) {
      next();
      return;
    }
    const limit = new TimeLimit();
    request.limitTimer = setTimeout(() => {
      limit.end();
      const { hasOwnTimeLimit } = request.routeOptions.config;
      if (hasOwnTimeLimit !== true && !reply.sent) reply.send(this.late());
    }, this.leftMs(request));
    withTimeLimit(limit, next);
  }

  answered(request: FastifyRequest): void {
    if (request.limitTimer === null) return;
    clearTimeout(request.limitTimer);
    request.limitTimer = null;
  }

  private leftMs(request: FastifyRequest): number {
    return Math.max(0, this.timeoutMs - (this.spentMs.get(request) ?? 0));
  }

  private late(): StoreUnavailable {
    return new StoreUnavailable(`the request was not done within ${this.timeoutMs} ms`);
  }
}
