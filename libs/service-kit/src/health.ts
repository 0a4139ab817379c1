/** Health: whether the process lives, and each dependency by name. */
import { Controller, Get, Header, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Registry } from 'prom-client';
import { HEALTH, METRICS } from './tokens.js';

/** Throws (or rejects) with the reason when the dependency cannot serve. */
export type HealthCheck = () => void | Promise<void>;

export interface DependencyHealth {
  readonly status: 'up' | 'down';
  readonly reason?: string;
}

export interface Readiness {
  readonly status: 'ready' | 'unavailable';
  readonly dependencies: Readonly<Record<string, DependencyHealth>>;
}

const checkTimeoutMs = 2_000;

export class Health {
  private readonly checks = new Map<string, HealthCheck>();

  /** Registers a dependency; a name registered again replaces the former check. */
  register(name: string, check: HealthCheck): void {
    this.checks.set(name, check);
  }

  async readiness(): Promise<Readiness> {
    const results = await Promise.all(
      [...this.checks].map(async ([name, check]) => [name, await run(check)] as const),
    );
    const ready = results.every(([, { status }]) => status === 'up');
    return { status: ready ? 'ready' : 'unavailable', dependencies: Object.fromEntries(results) };
  }
}

async function run(check: HealthCheck): Promise<DependencyHealth> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no answer within ${checkTimeoutMs} ms`)),
      checkTimeoutMs,
    );
  });
  try {
    await Promise.race([check(), late]);
    return { status: 'up' };
  } catch (error) {
    return { status: 'down', reason: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
  }
}

@Controller('health')
export class HealthController {
  constructor(@Inject(HEALTH) private readonly health: Health) {}

  @Get('live')
  @Header('cache-control', 'no-store')
  live(): { status: 'live' } {
    return { status: 'live' };
  }

  @Get('ready')
  @Header('cache-control', 'no-store')
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const readiness = await this.health.readiness();
    await reply.code(readiness.status === 'ready' ? 200 : 503).send(readiness);
  }
}

@Controller()
export class MetricsController {
  constructor(@Inject(METRICS) private readonly metrics: Registry) {}

  @Get('metrics')
  async all(@Res() reply: FastifyReply): Promise<void> {
    await reply.header('content-type', this.metrics.contentType).send(await this.metrics.metrics());
  }
}
