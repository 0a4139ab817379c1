/** Keeps the tree of the audit log up with the log, signs its checkpoints, and says when it cannot. */
import { AuditBroken, type AuditLog } from '@pis/audit';
import { type Logger, type MetricsRegistry, Repeating, type WakeUp } from '@pis/service-kit';
import { Gauge } from 'prom-client';

const usualPauses = {
  /** While events wait for a checkpoint. */
  pollMs: 2_000,
  retryMs: 5_000,
  /** Only a person can mend what the signing stopped for. */
  brokenRetryMs: 30_000,
} as const;

export type SignedLog = Pick<AuditLog, 'round' | 'hasUnsigned' | 'isBroken'>;

export interface AuditWorkerOptions {
  readonly audit: SignedLog;
  /** Rung when a proof waits for a checkpoint. */
  readonly wakeUp: WakeUp;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  /** Milliseconds of a clock that never goes back. */
  readonly nowMs?: () => number;
  readonly pauses?: Readonly<Record<keyof typeof usualPauses, number>>;
}

export class AuditWorker {
  private readonly repeating: Repeating;
  private readonly pauses: Readonly<Record<keyof typeof usualPauses, number>>;
  private readonly nowMs: () => number;
  private isBroken = false;
  /** Since when events wait for a checkpoint; null while none does. */
  private unsignedSinceMs: number | null = null;

  constructor(private readonly options: AuditWorkerOptions) {
    this.pauses = options.pauses ?? usualPauses;
    this.nowMs = options.nowMs ?? (() => performance.now());
    this.repeating = new Repeating({
      round: () => this.round(),
      failed: (error) => this.failed(error),
      bell: options.wakeUp.bell,
    });
    gauge(options.metrics, {
      name: 'pis_audit_signing_broken',
      help: '1 after the log differed from what was signed, until a checkpoint holds again',
      value: () => (this.isBroken ? 1 : 0),
    });
    gauge(options.metrics, {
      name: 'pis_audit_unsigned_seconds',
      help: 'How long events have waited for a signed checkpoint; 0 when none does',
      value: () => (this.nowMs() - (this.unsignedSinceMs ?? this.nowMs())) / 1_000,
    });
  }

  start(): void {
    this.repeating.start();
  }

  /** Resolves when the current round has ended. */
  async stop(): Promise<void> {
    await this.repeating.stop();
  }

  private async round(): Promise<number> {
    const { audit, wakeUp, logger } = this.options;
    const hasMore = await audit.round();
    if (audit.hasUnsigned) this.unsignedSinceMs ??= this.nowMs();
    else this.unsignedSinceMs = null;
    // A broken log also gives rounds without an error, and may have as many events as were signed.
    if (this.isBroken && !audit.isBroken) {
      this.isBroken = false;
      logger.info('the log is the one that was signed: checkpoints are signed again');
    }
    if (hasMore) return 0;
    return audit.hasUnsigned ? this.pauses.pollMs : wakeUp.idleMs();
  }

  private failed(error: unknown): number {
    const { logger } = this.options;
    this.unsignedSinceMs ??= this.nowMs();
    if (!(error instanceof AuditBroken)) {
      logger.warn({ err: error }, 'no checkpoint of the log could be signed yet');
      return this.pauses.retryMs;
    }
    if (!this.isBroken)
      logger.error({ err: error }, 'the log differs from what was signed: nothing more is signed');
    this.isBroken = true;
    return error.hasMore ? 0 : this.pauses.brokenRetryMs;
  }
}

function gauge(
  metrics: MetricsRegistry,
  {
    name,
    help,
    value,
  }: { readonly name: string; readonly help: string; readonly value: () => number },
): void {
  new Gauge({
    ...{ name, help, registers: [metrics] },
    collect() {
      this.set(value());
    },
  });
}
