/**
 * Ends the process in order on SIGTERM and SIGINT. If the launcher dies, tools/leash.mjs also sends SIGTERM,
 * so that no process is left behind.
 */
import type { Logger } from './logging.js';

export interface ShutdownOptions {
  readonly logger: Logger;
  /** After this the process exits with code 1, whatever is still open. */
  readonly limitMs: number;
  readonly close: () => Promise<void>;
}

export function onShutdownSignal({ logger, limitMs, close }: ShutdownOptions): void {
  let closing = false;
  const shutDown = (cause: string) => {
    if (closing) return;
    closing = true;
    logger.info({ cause }, 'shutting down');
    setTimeout(() => {
      logger.fatal({ limitMs }, 'shutdown took too long');
      process.exit(1);
    }, limitMs).unref();
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.fatal({ err: error }, 'shutdown failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', shutDown);
  process.on('SIGINT', shutDown);
}
