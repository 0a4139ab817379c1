/**
 * A request under /v1 is answered within a time limit, with 503 and Retry-After when a store does not
 * answer. What the request asks of the event store ends with it, so that nothing is half done later.
 * An append that was sent may still happen: the same Idempotency-Key then tells.
 *
 * The time of the client's own body does not count: http-edge.ts limits that.
 */
import {
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { StoreUnavailable, withTimeLimit } from '@pis/event-store';
import type { FastifyRequest } from 'fastify';
import { Observable } from 'rxjs';

const ownTimeLimit = 'pis:own-time-limit';

/** For a handler that waits for somebody else and limits that itself; its calls of the store are limited. */
export const OwnTimeLimit = () => SetMetadata(ownTimeLimit, true);

export class RequestTimeLimit implements NestInterceptor {
  /** What went by before a request's handler began and counts: its authentication. */
  private readonly spentMs = new WeakMap<FastifyRequest, number>();

  constructor(
    private readonly timeoutMs: number,
    private readonly reflector: Reflector,
  ) {}

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

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    if (request.caller === null) return next.handle();
    const isOwn = this.reflector.get<boolean | undefined>(ownTimeLimit, context.getHandler());
    return new Observable((subscriber) => {
      const over = new AbortController();
      const timer = setTimeout(() => {
        over.abort();
        if (isOwn !== true) subscriber.error(this.late());
      }, this.leftMs(request));
      const handling = withTimeLimit(over.signal, () => next.handle().subscribe(subscriber));
      return () => {
        clearTimeout(timer);
        handling.unsubscribe();
      };
    });
  }

  private leftMs(request: FastifyRequest): number {
    return Math.max(0, this.timeoutMs - (this.spentMs.get(request) ?? 0));
  }

  private late(): StoreUnavailable {
    return new StoreUnavailable(`the request was not done within ${this.timeoutMs} ms`);
  }
}
