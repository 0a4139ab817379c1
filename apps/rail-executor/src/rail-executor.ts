/** The executor without Nest: the handler of messages and the loops, wired together. */
import { type NamedConnection, normalTimeMs, type RoutingDirectory } from '@pis/bank-rails';
import { messageHeaders, paymentIntegrationEventSchema } from '@pis/contracts';
import { ContactReports, TransferStream } from '@pis/commands';
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
import { Bell, type WakeUp, WakeLoop, type WakeLoopOptions } from '@pis/postgres';
import type pg from 'pg';
import { Activity } from './activity.js';
import { BankDesk } from './bank-desk.js';
import { Banks } from './banks.js';
import { ClockGate } from './clock-gate.js';
import { ConnectionGate } from './connection-gate.js';
import { ErasureGuard } from './erasure-guard.js';
import { NotificationTable } from './notification-table.js';
import { OpenPayments, type OpenPaymentsOptions } from './open-payments.js';
import { PaymentExecution } from './payment-execution.js';
import { PendingTransfers } from './pending-transfers.js';
import type { Review } from './review/review.js';
import { StaffDigests, type StaffChannel } from './staff/staff-digests.js';
import { type StaffFailures, StaffNotices } from './staff/staff-notices.js';

export type RailExecutorConfig = RailsConfig & Pick<ProcessConfig, 'PIS_ENVIRONMENT'>;

export interface RailExecutorOptions {
  readonly config: RailExecutorConfig;
  readonly store: EventStore;
  readonly keyring: Keyring;
  readonly pool: pg.Pool;
  readonly banks: readonly NamedConnection[];
  readonly review: Pick<Review, 'of'>;
  readonly directory: RoutingDirectory;
  /** The ways to tell staff of payments in doubt; none when absent. */
  readonly staff?: readonly StaffChannel[];
  readonly logger: Logger;
  /** Milliseconds since the epoch; this process's clock when absent. */
  readonly clock?: () => number;
  /** The same, compared with PostgreSQL's clock. Tests set the other one to times to come. */
  readonly wallClock?: () => number;
  /**
   * Resolves once the log was checked. The signal aborts when the log lacks what the executor has read: then
   * no loop does anything.
   */
  readonly sameLog?: OpenPaymentsOptions['sameLog'];
  /** Rung when notifications are to be tried again. Without it the feed of an idle bank is looked at every 5 s. */
  readonly notificationsWakeUp?: WakeUp;
}

const queued = 'payment.queued';
const actor = 'system:rail-executor';

/** The longest sleep of a loop without a wake-up: while payments are under way here, and while idle. */
export interface Poll {
  readonly busyMs: number;
  readonly idleMs: number;
}
/**
 * Of the bank's feed. Its connection calls when there is something new, unless another process has fetched it, and that
 * one records it. The loop looks by itself when a notification is to be tried again, so it may look more seldom where a
 * bell rings for those that are wanted earlier.
 */
const feedPoll: Poll = { busyMs: 1_000, idleMs: 5_000 };
/** Of the feed of a connection that calls. @param wakeUp rung for notifications that are to be tried earlier */
export function calledFeedPoll(wakeUp?: WakeUp): Poll {
  return {
    ...feedPoll,
    get idleMs() {
      return Math.max(feedPoll.idleMs, wakeUp?.idleMs() ?? 0);
    },
  };
}

/** Of the feed of a connection that does not call. */
const silentFeedPoll = {
  sandbox: { busyMs: 250, idleMs: 5_000 },
  production: feedPoll,
} as const satisfies Record<string, Poll>;
/**
 * Of the loops over rail_pending: another process may have set an earlier time. What this process sets wakes them, so
 * an idle one looks seldom.
 */
const pendingPoll: Poll = { busyMs: 1_000, idleMs: 10_000 };
/** Of the loops over the log, and over what staff is told. */
const logPoll: Poll = { busyMs: 1_000, idleMs: 5_000 };
/** Of the loop over rows of connections that are not configured here: an executor before us may have written them. */
const othersPoll: Poll = { busyMs: 60_000, idleMs: 60_000 };
/** Of the loops of a connection that takes no rail: only payments of older releases go over it. */
const formerPoll: Poll = { busyMs: 15_000, idleMs: 15_000 };
/** For waits that only a bell ends. */
const hourMs = 3_600_000;
/** How long the process counts as busy after the last payment or notification. */
const busyForMs = 60_000;
const retryInitialMs = 100;
const retryMaxMs = 5_000;
/** The messages in flight need most of the ten seconds of a shutdown. */
const stopLimitMs = 2_000;

/** "The normal time" of the sandbox, beyond the bank's own delay (rule sandbox-19). */
const sandboxNormalTimeMs = 2_000;

/**
 * After how long without a confirmation a payment is FAILED_IN_FLIGHT, milliseconds.
 * @param fromMs when the bank gets the transfer, milliseconds since the epoch
 */
export function confirmationTimeoutMs(
  config: RailExecutorConfig,
  rail: PaymentRail,
  fromMs: number,
): number {
  if (config.PIS_RAIL_CONFIRMATION_TIMEOUT_MS !== undefined)
    return config.PIS_RAIL_CONFIRMATION_TIMEOUT_MS;
  if (config.PIS_ENVIRONMENT === 'sandbox')
    return sandboxNormalTimeMs + config.PIS_SANDBOX_RAIL_DELAY_MS;
  return normalTimeMs(rail, fromMs);
}

export class RailExecutor {
  private readonly pending: PendingTransfers;
  private readonly execution: PaymentExecution;
  private readonly desks: readonly BankDesk[];
  private readonly openPayments: OpenPayments;
  private readonly staff: StaffDigests;
  private readonly activity: Activity;
  private readonly loops: readonly WakeLoop[];
  private readonly feeds: readonly WakeLoop[];
  private readonly notificationsBell: Bell;
  private readonly endListening: readonly (() => void)[];
  private readonly stopping = new AbortController();
  private readonly logger: Logger;

  constructor(options: RailExecutorOptions) {
    const { config, store, keyring, pool, review, directory, logger, clock = Date.now } = options;
    this.logger = logger;
    const payments = new TransferStream(store, actor);
    const contacts = new ContactReports(store, keyring, actor);
    this.pending = new PendingTransfers(pool, clock);
    const { pending } = this;
    const names = options.banks.map(({ name }) => name);
    const gate = new ConnectionGate(pool, names);
    const banks = new Banks(options.banks, gate);
    const { staff = [] } = options;
    const tellers = staff.filter(({ isRepeat }) => isRepeat !== true);
    const notices = new StaffNotices(
      pool,
      tellers.map(({ name }) => name),
    );
    this.execution = new PaymentExecution({
      payments,
      banks,
      clocks: new ClockGate(pool, options.wallClock),
      keyring,
      pending,
      tellStaff: (paymentId, kind) => notices.tell(paymentId, kind, clock()),
      keepNotification: (bankName, notification) =>
        new NotificationTable(pool, bankName).add(notification),
      erasures: new ErasureGuard(pool, store),
      review,
      directory,
      reviewDelayMs: config.PIS_SANDBOX_RAIL_DELAY_MS,
      logger,
      confirmationTimeoutMs: (rail, fromMs) => confirmationTimeoutMs(config, rail, fromMs),
      clock,
    });
    this.activity = new Activity(busyForMs, () => {
      for (const loop of this.loops) loop.wake();
    });
    const onReports = () => this.activity.noticed();
    const { execution } = this;
    this.desks = banks.all.map(
      (bank) =>
        new BankDesk({
          bank,
          banks,
          payments,
          contacts,
          keyring,
          execution,
          pending,
          pool,
          logger,
          onReports,
        }),
    );
    this.staff = new StaffDigests({ notices, channels: staff, payments, logger });
    this.openPayments = new OpenPayments({
      notices,
      store,
      pool,
      banks,
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
        onFailure: (error) => {
          // A round that was stopped has not failed.
          if (error !== this.stopping.signal.reason)
            logger.warn({ err: error }, `${name} fails, and is retried`);
        },
        onRecovery: () => logger.info(`${name} goes on`),
      });
    const { notificationsWakeUp } = options;
    const calledPoll = calledFeedPoll(notificationsWakeUp);
    const logLoop = loop('the log of open payments', logPoll, (wentWell) =>
      this.followLog(wentWell),
    );
    const ofBanks = this.desks.map((desk) => {
      const { name, named } = desk.bank;
      const isFormer = named.rails.length === 0;
      const isSilent = named.connection.onNotification === undefined;
      const polls = isFormer
        ? { feed: formerPoll, pending: formerPoll }
        : {
            feed: isSilent ? silentFeedPoll[config.PIS_ENVIRONMENT] : calledPoll,
            pending: pendingPoll,
          };
      const feed = loop(`the feed of ${name}`, polls.feed, () => desk.feedRound());
      const deadlines = loop(`the deadline loop of ${name}`, polls.pending, () =>
        desk.deadlineRound(),
      );
      const sweep = loop(`the sweep of ${name}`, polls.pending, () => desk.sweepRound());
      return { loops: [feed, deadlines, sweep], feed, sweep, named };
    });
    const others = loop('the search for rows of former banks', othersPoll, async () => {
      for (const name of await pending.otherConnections(this.bankNames)) banks.noticed(name);
      return null;
    });
    const told = loop('telling staff', logPoll, () => this.staffRound());
    this.loops = [
      ...ofBanks.flatMap(({ loops }) => loops),
      ...[logLoop, others],
      ...(staff.length > 0 ? [told] : []),
    ];
    this.notificationsBell = notificationsWakeUp?.bell ?? new Bell();
    this.feeds = ofBanks.map(({ feed }) => feed);
    this.endListening = [
      ...ofBanks.flatMap(
        ({ named, feed }) => named.connection.onNotification?.(() => feed.wake()) ?? [],
      ),
      pending.onChange(({ mayBeDueSooner, isNews }) => {
        if (isNews) this.activity.noticed();
        if (mayBeDueSooner) for (const { sweep } of ofBanks) sweep.wake();
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
    void this.wakeFeeds();
  }

  private async wakeFeeds(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.notificationsBell.wait(this.notificationsBell.rung, hourMs, signal);
      for (const feed of this.feeds) feed.wake();
    }
  }

  /** Resolves when no round of a loop is in flight, or when that takes too long for a shutdown. */
  async stop(): Promise<void> {
    this.stopping.abort();
    for (const desk of this.desks) desk.stop();
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

  get bankNames(): readonly string[] {
    return this.desks.map(({ bank }) => bank.name);
  }

  /** @throws BankUnavailable or BankRefused while the feed of this bank cannot be read or its connection is paused */
  async checkBank(name: string): Promise<void> {
    const bank = this.desks.find((desk) => desk.bank.name === name)?.bank;
    if (bank === undefined) return;
    if (bank.unread !== null) throw bank.unread.reason;
    await bank.pass();
  }

  /** By connection, for how many seconds what the bank reports could not be read; 0 when it can. */
  unreadSeconds(): ReadonlyMap<string, number> {
    const nowMs = performance.now();
    return new Map(
      this.desks.map(({ bank: { name, unread } }) => [
        name,
        unread === null ? 0 : (nowMs - unread.sinceMs) / 1_000,
      ]),
    );
  }

  /** One round of each bank's feed loop. */
  feedRound(): Promise<number | null> {
    return this.round((desk) => desk.feedRound());
  }

  /** One round of each bank's deadline loop. */
  deadlineRound(): Promise<number | null> {
    return this.round((desk) => desk.deadlineRound());
  }

  /** One round of each bank's sweep. */
  sweepRound(): Promise<number | null> {
    return this.round((desk) => desk.sweepRound());
  }

  /** See StaffDigests.failures. */
  staffFailures(): Promise<StaffFailures> {
    return this.staff.failures();
  }

  /** One round of the loop that tells staff, see StaffDigests.round. */
  staffRound(): Promise<null> {
    return this.staff.round();
  }

  /** The shortest time until the next round; null when no bank names one. */
  private async round(ofDesk: (desk: BankDesk) => Promise<number | null>): Promise<number | null> {
    const times = (await Promise.all(this.desks.map(ofDesk))).filter((ms) => ms !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Until this executor stops or the connection to the log was lost, see OpenPayments.follow. */
  private async followLog(wentWell: () => void): Promise<number> {
    await this.openPayments.follow(this.stopping.signal, wentWell);
    return 0;
  }
}
