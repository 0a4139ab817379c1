/** Runs the monthly job, and tells operators of statements that cannot be generated. */
import type { DocumentStore } from '@pis/documents';
import { monthName, operatorNotice } from '@pis/domain';
import { type EventStore, repository, systemContext } from '@pis/event-store';
import { earlierClock, type Logger, type MetricsRegistry, Repeating } from '@pis/service-kit';
import {
  type FailedStatement,
  generateDueStatements,
  type JobContext,
  statementIdOf,
  StatementPostponed,
} from '@pis/statements/generation';
import type pg from 'pg';
import { Counter } from 'prom-client';

export interface StatementWorkerOptions {
  readonly store: EventStore;
  readonly pool: pg.Pool;
  readonly documents: DocumentStore;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  /** Defaults to the earlier of this process's and PostgreSQL's clocks, because a recorded statement cannot be withdrawn. */
  readonly now?: () => Date;
}

/** A round in which nothing is due is three queries and a look at the log. */
const roundEveryMs = 5 * 60_000;
const by = systemContext('statement-generator');

export class StatementWorker {
  private readonly repeating: Repeating;
  private readonly made: Counter<'result'>;

  constructor(private readonly options: StatementWorkerOptions) {
    const { logger, metrics } = options;
    this.made = new Counter({
      name: 'pis_statements_total',
      help: 'Monthly statements of this process, by whether they were generated or failed',
      labelNames: ['result'],
      registers: [metrics],
    });
    // So that the first failure is an increase.
    for (const result of ['generated', 'failed']) this.made.inc({ result }, 0);
    this.repeating = new Repeating({
      round: async (signal) => {
        await this.round(signal);
        return roundEveryMs;
      },
      failed(error) {
        logger.warn({ err: error }, 'statements could not be generated yet');
        return roundEveryMs;
      },
    });
  }

  start(): void {
    this.repeating.start();
  }

  /** A statement that is being made is given up: the next process makes it anew. */
  async stop(): Promise<void> {
    await this.repeating.stop();
  }

  /** One round. A failure of one statement holds up no other. */
  async round(signal: AbortSignal): Promise<void> {
    const { store, pool, documents, logger } = this.options;
    const now = this.options.now ?? (await earlierClock(pool));
    const context: JobContext = {
      ...{ store, pool, documents, by, now, signal },
      onFailed: (failure) => this.tell(failure, now()),
      onProblem: (error) => logger.warn({ err: error }, 'statements could not be generated yet'),
    };
    const result = await generateDueStatements(context);
    if (result === null || result.generated + result.failed === 0) return;
    this.made.inc({ result: 'generated' }, result.generated);
    this.made.inc({ result: 'failed' }, result.failed);
    logger.info(result, 'monthly statements');
  }

  /** Operators are told once of each statement. The next round tries it again. */
  private async tell(failure: FailedStatement, at: Date): Promise<void> {
    const { organizationId, originatorId, year, month, error } = failure;
    const subject = { organizationId, originatorId, month: monthName({ year, month }) };
    this.options.logger.error({ err: error, ...subject }, 'a statement could not be generated');
    const reason = error instanceof StatementPostponed ? { reason: error.message } : {};
    await repository(this.options.store, operatorNotice).create(
      `statementNotGenerated-${statementIdOf(failure)}`,
      {
        type: 'GiveOperatorNotice',
        at: at.toISOString(),
        data: { notice: 'statement not generated', subject: { ...subject, ...reason } },
      },
      by,
    );
  }
}
