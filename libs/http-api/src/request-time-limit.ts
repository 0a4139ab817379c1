/**
 * Answers each request of the API within a time limit: with 503 and Retry-After when a store does not
 * answer. The request's calls of the event store end with it. An append that was already sent may still
 * take effect: repeat the request with the same Idempotency-Key to find out.
 *
 * The time that the client takes for its body does not count: http-edge.ts limits that.
 */
import { StoreUnavailable, TimeLimit, withTimeLimit } from '@pis/event-store';
import type { FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    hasOwnTimeLimit?: boolean;
  }
  interface FastifyRequest {
    /** Ends the request's time limit. Null for a route that is not part of the API. */
    limitTimer: NodeJS.Timeout | null;
  }
}

export class RequestTimeLimit {
  /** The time used before the handler: authentication. */
  private readonly spentMs = new WeakMap<FastifyRequest, number>();

  constructor(private readonly timeoutMs: number) {}

  /** @throws StoreUnavailable when authentication exceeds the time limit of the whole request */
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

  /** Runs `next` in the remaining time. After that the request is answered with 503. */
  handle(request: FastifyRequest, reply: FastifyReply, next: () => void): void {
    if (request.caller === null) {
      next();
      return;
    }
    const limit = new TimeLimit();
    request.limitTimer = setTimeout(() => {
      limit.end();
      const { hasOwnTimeLimit } = request.routeOptions.config;
      // A download that has begun may take longer.
      const isAnswered = reply.sent || reply.raw.headersSent;
      if (hasOwnTimeLimit !== true && !isAnswered) reply.send(this.late());
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
