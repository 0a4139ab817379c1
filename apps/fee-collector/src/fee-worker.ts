/** Runs rounds of fee collection, by a timer. A round without work asks PostgreSQL for its time and two short lists. */
import { systemContext } from '@pis/event-store';
import { FeeCollection, type FeeCollectionOptions } from '@pis/fees';
import { earlierClock, type Logger, Repeating } from '@pis/service-kit';

export interface FeeWorkerOptions
  extends Pick<FeeCollectionOptions, 'store' | 'keyring' | 'banks' | 'environment' | 'sources'> {
  readonly logger: Logger;
  /** Defaults to the earlier of this process's and PostgreSQL's clocks, because closing a month cannot be undone. */
  readonly now?: () => Date;
  readonly everyMs?: number;
}

const minuteMs = 60_000;
const retryMs = 10_000;

export class FeeWorker {
  private readonly repeating: Repeating;

  constructor({ logger, everyMs = minuteMs, now, ...options }: FeeWorkerOptions) {
    const feesAsOf = (clock: () => Date) =>
      new FeeCollection({
        ...options,
        now: clock,
        by: systemContext('fee-collector'),
        onFailed: (error, facts) =>
          logger.warn({ err: error, ...facts }, 'fees could not be collected yet'),
        onGivenUp: (facts) => logger.error(facts, 'fees were not collected'),
        onDebitedTwice: (facts) => logger.error(facts, 'fees were debited twice'),
      });
    let isMissing = false;
    this.repeating = new Repeating({
      async round(signal) {
        const clock = now ?? (await earlierClock(options.sources.pool));
        const done = await feesAsOf(clock).round(signal);
        if (done === null) return everyMs;
        if (done.periodsClosed > 0)
          logger.info({ periods: done.periodsClosed }, 'fees of a month were closed');
        if (done.settlementAccountMissing && !isMissing)
          logger.error('fees are due and there is no settlement account to collect them to');
        isMissing = done.settlementAccountMissing;
        return everyMs;
      },
      failed(error) {
        logger.warn({ err: error }, 'fees could not be collected yet');
        return retryMs;
      },
    });
  }

  start(): void {
    this.repeating.start();
  }

  stop(): Promise<void> {
    return this.repeating.stop();
  }
}
