/** The executor without Nest: the handler of messages and the loops, wired together. */
import {
  BankCircuit,
  type BankConnection,
  BankRefused,
  BankUnavailable,
  normalTimeMs,
} from '@pis/bank-rails';
import { messageHeaders, paymentIntegrationEventSchema } from '@pis/contracts';
import { PaymentStream } from '@pis/commands';
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
import { WakeLoop, type WakeLoopOptions } from '@pis/postgres';
import type pg from 'pg';
import { Activity } from './activity.js';
import { BankFeed } from './bank-feed.js';
import { Deadlines } from './deadlines.js';
import { ErasureGuard } from './erasure-guard.js';
import { OpenPayments, type OpenPaymentsOptions } from './open-payments.js';
import { PaymentExecution } from './payment-execution.js';
import { PendingTransfers } from './pending-transfers.js';
import type { Review } from './review/review.js';
import { Sweeper } from './sweeper.js';

export type RailExecutorConfig = RailsConfig & Pick<ProcessConfig, 'PIS_ENVIRONMENT'>;

export interface RailExecutorOptions {
  readonly config: RailExecutorConfig;
  readonly store: EventStore;
  readonly keyring: Keyring;
  readonly pool: pg.Pool;
  readonly bank: BankConnection;
  readonly review: Pick<Review, 'of'>;
  readonly logger: Logger;
  /** Milliseconds since the epoch; this process's clock when absent. */
  readonly clock?: () => number;
  /**
   * Resolves once the log was checked. The signal aborts when the log lacks what the executor has read: then
   * no loop does anything.
   */
  readonly sameLog?: OpenPaymentsOptions['sameLog'];
}

const queued = 'payment.queued';

/** The longest sleep of a loop without a wake-up: while payments are under way here, and while idle. */
interface Poll {
  readonly busyMs: number;
  readonly idleMs: number;
}
/** Of the bank's feed. */
const feedPoll = {
  sandbox: { busyMs: 250, idleMs: 5_000 },
  production: { busyMs: 1_000, idleMs: 5_000 },
} as const satisfies Record<string, Poll>;
/** Of the loops over rail_pending: another process may have set an earlier time. */
const pendingPoll: Poll = { busyMs: 1_000, idleMs: 5_000 };
/** How long the process counts as busy after the last payment or notification. */
const busyForMs = 60_000;
const retryInitialMs = 100;
const retryMaxMs = 5_000;
/** The messages in flight need most of the ten seconds of a shutdown. */
const stopLimitMs = 2_000;

/** "The normal time" of the sandbox, beyond the bank's own delay (rule sandbox-19). */
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
  private readonly pending: PendingTransfers;
  private readonly execution: PaymentExecution;
  private readonly feed: BankFeed;
  private readonly deadlines: Deadlines;
  private readonly sweeper: Sweeper;
  private readonly openPayments: OpenPayments;
  private readonly activity: Activity;
  private readonly loops: readonly WakeLoop[];
  private readonly endListening: readonly (() => void)[];
  private readonly stopping = new AbortController();
  private readonly logger: Logger;
  private bankAway: BankUnavailable | BankRefused | null = null;

  constructor(options: RailExecutorOptions) {
    const { config, store, keyring, pool, bank, review, logger, clock = Date.now } = options;
    this.logger = logger;
    const payments = new PaymentStream(store, 'system:rail-executor');
    this.pending = new PendingTransfers(pool, clock);
    const { pending } = this;
    const circuit = new BankCircuit(bank);
    this.execution = new PaymentExecution({
      payments,
      bank: circuit.bank,
      isBankDoubtful: () => this.bankAway !== null || circuit.state() !== 'closed',
      keyring,
      pending,
      erasures: new ErasureGuard(pool, store),
      review,
      reviewDelayMs: config.PIS_SANDBOX_RAIL_DELAY_MS,
      logger,
      confirmationTimeoutMs: (rail) => confirmationTimeoutMs(config, rail),
      clock,
    });
    this.activity = new Activity(busyForMs, () => {
      for (const loop of this.loops) loop.wake();
    });
    const onReports = () => this.activity.noticed();
    this.feed = new BankFeed({ payments, bank, pool, pending, logger, onReports });
    const { execution, feed } = this;
    this.deadlines = new Deadlines({ payments, feed, pending, logger, execution });
    this.sweeper = new Sweeper({ execution, circuit, pending, logger });
    this.openPayments = new OpenPayments({
      store,
      pool,
      onLost: () => payments.forget(),
      ...(options.sameLog !== undefined && { sameLog: options.sameLog }),
    });

    const loop = (name: string, poll: Poll, round: WakeLoopOptions['round']) =>
      new WakeLoop({
        round: async (wentWell) => {
          const sameLog = await options.sameLog?.(this.stopping.signal);
          sameLog?.throwIfAborted();
          return round(wentWell);
        },
        pollMs: () => (this.activity.isBusy ? poll.busyMs : poll.idleMs),
        retryInitialMs,
        retryMaxMs,
        onFailure: (error) => logger.warn({ err: error }, `${name} fails, and is retried`),
        onRecovery: () => logger.info(`${name} goes on`),
      });
    const feedLoop = loop('the bank feed', feedPoll[config.PIS_ENVIRONMENT], () =>
      this.feedRound(),
    );
    const deadlineLoop = loop('the deadline loop', pendingPoll, () => this.deadlineRound());
    const sweepLoop = loop('the sweep of open payments', pendingPoll, () => this.sweepRound());
    const logLoop = loop('the log of open payments', pendingPoll, (wentWell) =>
      this.followLog(wentWell),
    );
    this.loops = [feedLoop, deadlineLoop, sweepLoop, logLoop];
    this.endListening = [
      bank.onNotification(() => feedLoop.wake()),
      pending.onChange(() => {
        this.activity.noticed();
        sweepLoop.wake();
      }),
    ];
  }

  /**
   * Handles a message of the payments topic. It ignores all types but payment.queued. Safe to repeat.
   * @throws NonRetryable for a message that is not a payment event
   * @throws StoreUnavailable, connection errors of PostgreSQL: deliver the message again
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
    this.activity.noticed();
    await this.execution.advance(data.paymentId, {
      eventId,
      ...(traceparent !== undefined && { traceparent }),
    });
  }

  start(): void {
    for (const loop of this.loops) loop.start();
  }

  /** Resolves when no round of a loop is in flight, or when that takes too long for a shutdown. */
  async stop(): Promise<void> {
    this.stopping.abort();
    for (const end of this.endListening) end();
    const ended = await Promise.all(this.loops.map((loop) => loop.stop(stopLimitMs)));
    if (ended.includes(false))
      this.logger.warn({ stopLimitMs }, 'a round of the rails still runs; it is done again later');
    await this.flush().catch((error: unknown) => {
      this.logger.warn({ err: error }, 'rows of completed payments stay until they are due');
    });
  }

  /** Deletes the rows of completed payments at once instead of soon. @throws connection errors of PostgreSQL */
  flush(): Promise<void> {
    return this.pending.flushCompleted();
  }

  /** @throws BankUnavailable or BankRefused while the feed cannot be read */
  checkBank(): void {
    if (this.bankAway !== null) throw this.bankAway;
  }

  /** One round of the feed loop, see BankFeed.round. */
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

  /** One round of the deadline loop, see Deadlines.round. */
  deadlineRound(): Promise<number | null> {
    return this.deadlines.round();
  }

  /** One round of the sweep, see Sweeper.round. */
  sweepRound(): Promise<number | null> {
    return this.sweeper.round();
  }

  /** Until this executor stops or the connection to the log was lost, see OpenPayments.follow. */
  private async followLog(wentWell: () => void): Promise<number> {
    await this.openPayments.follow(this.stopping.signal, wentWell);
    return 0;
  }
}
