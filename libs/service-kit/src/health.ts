/** Health: whether the process lives, and each dependency by name. */
import { Controller, Get, Header, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Registry } from 'prom-client';
import type { Logger } from './logging.js';
import { PublicRoute } from './public-route.js';
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

export interface HealthOptions {
  /**
   * The port is public. Then only the code of a reason is shown, because its text may contain an address. And only the stores
   * decide whether the process is ready: a load balancer would take the API away from clients while Kafka is away.
   */
  readonly isPublic?: boolean;
  /** Receives the full reason whenever a dependency fails. */
  readonly logger?: Pick<Logger, 'warn' | 'info'>;
  /** Milliseconds, monotonic; injected by tests. */
  readonly clock?: () => number;
}

const checkTimeoutMs = 2_000;
/** After this time a call is given up, and the dependency is checked again. */
const abandonedAfterMs = 60_000;
/** The checks run at most this often, regardless of the number of requests. */
const freshForMs = 1_000;

/** Every request needs a store. Without a partner, such as a bank, the process does all its other work. */
type Kind = 'store' | 'partner' | 'other';

/** A reason that contains nothing confidential. */
class PlainReason extends Error {}

interface Dependency {
  readonly check: HealthCheck;
  readonly kind: Kind;
  /** The call under way, if any. A hanging dependency is not called again. */
  underWay: { readonly answer: Promise<void>; readonly sinceMs: number } | null;
  isDown: boolean;
}

interface Reading {
  readonly readiness: Promise<Readiness>;
  endedAtMs: number | null;
}

export class Health {
  private readonly dependencies = new Map<string, Dependency>();
  private readonly clock: () => number;
  private reading: Reading | null = null;
  private ending: DependencyHealth | null = null;

  constructor(private readonly options: HealthOptions = {}) {
    this.clock = options.clock ?? (() => performance.now());
  }

  /** Registers a dependency. A second registration of a name replaces the first one. */
  register(name: string, check: HealthCheck): void {
    this.add(name, check, 'other');
  }

  /** The same for one that every request needs. */
  registerStore(name: string, check: HealthCheck): void {
    this.add(name, check, 'store');
  }

  /** The same for one outside of the system. It is named, and the process is ready without it: a rollout does not wait for it. */
  registerPartner(name: string, check: HealthCheck): void {
    this.add(name, check, 'partner');
  }

  /** From now on the process is not ready, regardless of its dependencies. */
  end(reason: string): void {
    this.ending = { status: 'down', reason };
    this.refresh();
  }

  /** Makes the next report run the checks again. */
  refresh(): void {
    this.reading = null;
  }

  /** A report at most freshForMs old. Concurrent callers share it. Never rejects. */
  readiness(): Promise<Readiness> {
    const { reading } = this;
    const isFresh =
      reading !== null &&
      (reading.endedAtMs === null || this.clock() - reading.endedAtMs < freshForMs);
    return isFresh ? reading.readiness : this.read();
  }

  private add(name: string, check: HealthCheck, kind: Kind): void {
    this.dependencies.set(name, { check, kind, underWay: null, isDown: false });
    this.refresh();
  }

  private read(): Promise<Readiness> {
    const reading: Reading = { readiness: this.runAll(), endedAtMs: null };
    this.reading = reading;
    void reading.readiness.then(() => (reading.endedAtMs = this.clock()));
    return reading.readiness;
  }

  private async runAll(): Promise<Readiness> {
    const results = await Promise.all(
      [...this.dependencies].map(async ([name, dependency]) => {
        return [name, await this.run(name, dependency)] as const;
      }),
    );
    const { isPublic = false } = this.options;
    const decides = (name: string) => {
      const kind = this.dependencies.get(name)?.kind;
      return kind === 'store' || (kind === 'other' && !isPublic);
    };
    const ready =
      this.ending === null &&
      results.every(([name, { status }]) => status === 'up' || !decides(name));
    if (this.ending !== null) results.push(['process', this.ending]);
    return { status: ready ? 'ready' : 'unavailable', dependencies: Object.fromEntries(results) };
  }

  private async run(name: string, dependency: Dependency): Promise<DependencyHealth> {
    const { logger, isPublic = false } = this.options;
    try {
      await inTime(dependency, this.clock());
      if (dependency.isDown) logger?.info({ dependency: name }, 'a dependency is up again');
      dependency.isDown = false;
      return { status: 'up' };
    } catch (error) {
      if (!dependency.isDown)
        logger?.warn({ dependency: name, err: error }, 'a dependency is down');
      dependency.isDown = true;
      return { status: 'down', reason: isPublic ? publicReason(error) : messageOf(error) };
    }
  }
}

async function inTime(dependency: Dependency, nowMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new PlainReason(`no answer within ${checkTimeoutMs} ms`)),
      checkTimeoutMs,
    );
  });
  try {
    await Promise.race([answerOf(dependency, nowMs), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** One call at a time. */
function answerOf(dependency: Dependency, nowMs: number): Promise<void> {
  const { check, underWay } = dependency;
  if (underWay !== null && nowMs - underWay.sinceMs < abandonedAfterMs) return underWay.answer;
  const answer = (async () => check())();
  const call = { answer, sinceMs: nowMs };
  dependency.underWay = call;
  const end = () => {
    if (dependency.underWay === call) dependency.underWay = null;
  };
  answer.then(end, end);
  return answer;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Shows a failure without the driver's message, which may contain hosts, ports and users. */
function publicReason(error: unknown): string {
  if (error instanceof PlainReason) return error.message;
  const code = codeOf(error, causesMax);
  return code === null ? 'see the log' : `see the log (${code})`;
}

/** Codes of system errors (ECONNREFUSED) and SQLSTATEs (57P03). Neither contains an address. */
const codeFormat = /^[A-Z0-9][A-Z0-9_]{2,39}$/;
const causesMax = 5;

/** The code of an error or its cause. Checks the shape, because socket errors may come from another realm. */
function codeOf(error: unknown, depth: number): string | null {
  if (typeof error !== 'object' || error === null || depth === 0) return null;
  const { code, cause, errors } = error as Readonly<Record<string, unknown>>;
  if (typeof code === 'string' && codeFormat.test(code)) return code;
  return codeOf(Array.isArray(errors) ? errors[0] : cause, depth - 1);
}

@Controller('health')
export class HealthController {
  constructor(@Inject(HEALTH) private readonly health: Health) {}

  @Get('live')
  @PublicRoute('health')
  @Header('cache-control', 'no-store')
  live(): { status: 'live' } {
    return { status: 'live' };
  }

  @Get('ready')
  @PublicRoute('health')
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
  @PublicRoute('metrics')
  async all(@Res() reply: FastifyReply): Promise<void> {
    await reply.header('content-type', this.metrics.contentType).send(await this.metrics.metrics());
  }
}
