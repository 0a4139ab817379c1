/** Keeps the tree of the audit log up with the log, and signs its checkpoints. */
import { AuditBroken, type AuditLog } from '@pis/audit';
import { type Logger, Repeating } from '@pis/service-kit';

const pollMs = 2_000;
const retryMs = 5_000;

export class AuditWorker {
  private readonly repeating: Repeating;

  constructor(audit: Pick<AuditLog, 'round'>, logger: Logger) {
    this.repeating = new Repeating({
      round: async () => ((await audit.round()) ? 0 : pollMs),
      failed(error) {
        if (error instanceof AuditBroken)
          logger.error(
            { err: error },
            'the log differs from what was signed: nothing more is signed',
          );
        else logger.warn({ err: error }, 'no checkpoint of the log could be signed yet');
        return retryMs;
      },
    });
  }

  start(): void {
    this.repeating.start();
  }

  /** Resolves when the current round has ended. */
  async stop(): Promise<void> {
    await this.repeating.stop();
  }
}
