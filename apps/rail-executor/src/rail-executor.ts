/** The executor without Nest: the handler of messages and the two loops, wired together. */
import { type BankConnection, BankRefused, BankUnavailable, normalTimeMs } from '@pis/bank-rails';
import { messageHeaders, paymentIntegrationEventSchema } from '@pis/contracts';
import type { PaymentRail } from '@pis/domain';
import type { EventStore } from '@pis/event-store';
import type { Keyring } from '@pis/keyring';
import { type Delivery, NonRetryable } from '@pis/messaging';
import {
  currentTraceparent,
  type Logger,
  type ProcessConfig,
  type RailsConfig,
} from '@pis/service-kit';
import type pg from 'pg';
import { BankFeed } from './bank-feed.js';
import { Deadlines } from './deadlines.js';
import { PaymentExecution } from './payment-execution.js';
import { PaymentStream } from './payment-stream.js';
import { PendingTransfers } from './pending-transfers.js';
import { WakeLoop } from './wake-loop.js';

export type RailExecutorConfig = RailsConfig & Pick<ProcessConfig, 'PIS_ENVIRONMENT'>;

export interface RailExecutorOptions {
  readonly config: RailExecutorConfig;
  readonly store: EventStore;
  readonly keyring: Keyring;
  readonly pool: pg.Pool;
  readonly bank: BankConnection;
  readonly logger: Logger;
}

const queued = 'payment.queued';

/** How often the bank's feed is asked when nothing wakes the loop. */
const feedPollMs = { sandbox: 250, production: 1_000 } as const;
/** The longest sleep of the deadline loop: another process may have set an earlier timer. */
const deadlinePollMs = 1_000;
const retryInitialMs = 100;
const retryMaxMs = 5_000;
/** The messages in flight need most of the ten seconds of a shutdown. */
const stopLimitMs = 2_000;

/** "The normal time" of the sandbox, beyond the bank's own delay (interface.md, "Sandbox outcomes"). */
const sandboxNormalTimeMs = 2_000;

/** After how long without a confirmation a payment is FAILED_IN_FLIGHT, milliseconds. */
export function confirmationTimeoutMs(config: RailExecutorConfig, rail: PaymentRail): number {
  if (config.PIS_RAIL_CONFIRMATION_TIMEOUT_MS !== undefined)
    return config.PIS_RAIL_CONFIRMATION_TIMEOUT_MS;
  if (config.PIS_ENVIRONMENT === 'sandbox')
    return sandboxNormalTimeMs + config.PIS_SANDBOX_RAIL_DELAY_MS;
  return normalTimeMs[rail];
}

export class RailExecutor {
  private readonly execution: PaymentExecution;
  private readonly feed: BankFeed;
  private readonly deadlines: Deadlines;
  private readonly feedLoop: WakeLoop;
  private readonly deadlineLoop: WakeLoop;
  private readonly endListening: readonly (() => void)[];
  private readonly logger: Logger;
  private bankAway: BankUnavailable | BankRefused | null = null;

  constructor(options: RailExecutorOptions) {
    const { config, store, keyring, pool, bank, logger } = options;
    this.logger = logger;
    const payments = new PaymentStream(store);
    const pending = new PendingTransfers(pool);
    const timeoutMs = (rail: PaymentRail) => confirmationTimeoutMs(config, rail);
    this.execution = new PaymentExecution({
      payments,
      bank,
      keyring,
      pending,
      logger,
      confirmationTimeoutMs: timeoutMs,
    });
    this.feed = new BankFeed({ payments, bank, pool, logger });
    const { execution, feed } = this;
    this.deadlines = new Deadlines({ payments, execution, feed, bank, pending, logger });

    const loop = (name: string, pollMs: number, round: () => Promise<number | null>) =>
      new WakeLoop({
        round,
        pollMs,
        retryInitialMs,
        retryMaxMs,
        onFailure: (error) => logger.warn({ err: error }, `${name} fails, and is retried`),
        onRecovery: () => logger.info(`${name} goes on`),
      });
    this.feedLoop = loop('the bank feed', feedPollMs[config.PIS_ENVIRONMENT], () =>
      this.feedRound(),
    );
    this.deadlineLoop = loop('the deadline loop', deadlinePollMs, () => this.deadlineRound());
    this.endListening = [
      bank.onNotification(() => this.feedLoop.wake()),
      pending.onChange(() => this.deadlineLoop.wake()),
    ];
  }

  /**
   * Handles a message of the payments topic; all but payment.queued are none of ours. Safe to repeat.
   * @throws NonRetryable for a message that is no payment event
   * @throws BankUnavailable, StoreUnavailable, connection errors of PostgreSQL: to be delivered again
   */
  async handle(value: unknown, delivery: Delivery): Promise<void> {
    const headers = delivery.headers;
    const named = headers[messageHeaders.eventType];
    if (named !== undefined && named !== queued) return;
    const parsed = paymentIntegrationEventSchema.safeParse(value);
    if (!parsed.success) throw new NonRetryable('not a payment event', { cause: parsed.error });
    const { eventType, eventId, data } = parsed.data;
    if (eventType !== queued) return;
    const traceparent = currentTraceparent() ?? headers[messageHeaders.traceparent];
    await this.execution.advance(data.paymentId, {
      eventId,
      ...(traceparent !== undefined && { traceparent }),
    });
  }

  start(): void {
    this.feedLoop.start();
    this.deadlineLoop.start();
  }

  /** Resolves when nothing of the loops is in flight, or when that takes too long for a shutdown. */
  async stop(): Promise<void> {
    for (const end of this.endListening) end();
    const loops = [this.feedLoop, this.deadlineLoop];
    const ended = await Promise.all(loops.map((loop) => loop.stop(stopLimitMs)));
    if (ended.includes(false))
      this.logger.warn({ stopLimitMs }, 'a round of the rails still runs; it is done again later');
  }

  /** @throws BankUnavailable or BankRefused while the feed cannot be read */
  checkBank(): void {
    if (this.bankAway !== null) throw this.bankAway;
  }

  /** What the feed loop does each time, see BankFeed.round. */
  async feedRound(): Promise<number | null> {
    try {
      const next = await this.feed.round();
      this.bankAway = null;
      return next;
    } catch (error) {
      this.bankAway =
        error instanceof BankUnavailable || error instanceof BankRefused ? error : null;
      throw error;
    }
  }

  /** What the deadline loop does each time, see Deadlines.round. */
  deadlineRound(): Promise<number | null> {
    return this.deadlines.round();
  }
}
