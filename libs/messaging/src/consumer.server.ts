import { Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import { isTransient } from '@pis/postgres';
import { isObservable, lastValueFrom } from 'rxjs';
import { defaultCommitLimits, type CommitLimits } from './commit-schedule.js';
import type { ConsumerObserver } from './attempts.js';
import type { DeferredMessages } from './deferred-messages.js';
import { defaultRetryLimits, type RetryLimits } from './deferred-retries.js';
import { abortableDelay } from './delay.js';
import { ConsumerEngine } from './engine.js';
import { NonRetryable } from './errors.js';
import { defaultKeyQueueLimits, type KeyQueueLimits } from './key-queues.js';
import { MessageContext } from './message-context.js';
import { consumerGroup, type Delivery, type HandlerExtras, type Message } from './message.js';
import { replayForGroupHeader } from './message-headers.js';
import { keepHandlerErrors } from './rpc-errors.js';

export interface ConsumerOptions
  extends Partial<KeyQueueLimits>,
    Partial<CommitLimits>,
    Partial<RetryLimits> {
  /** Without the prefix. Handlers are bound to it by `consumerGroup(group)`. */
  readonly group: string;
  /** Where messages go that keep failing while others succeed. */
  readonly deferred: DeferredMessages;
  /** How often lag, age and retry table are reported to the observer. */
  readonly progressIntervalMs?: number;
  /** How long close() waits for handlers that run. */
  readonly drainMs?: number;
  readonly observe?: ConsumerObserver;
}

/** For /health/ready. */
export interface ConsumerStatus {
  readonly connected: boolean;
  /** Known unfinished messages, read or not. */
  readonly lag: number;
  /** The age of the oldest unfinished message that was taken. 0 without one. */
  readonly oldestUnfinishedMs: number;
  /** Why it is not connected. */
  readonly error: string | null;
}

/**
 * What both transport strategies share towards Nest: it takes the handlers, gives them the deliveries,
 * and returns the outcome to the key queues. Events only: request handlers are refused, because nothing
 * would carry the answer.
 */
export abstract class ConsumerStrategy extends Server implements CustomTransportStrategy {
  override readonly transportId: symbol;
  override readonly propagatesEventHandlerErrors = true;
  readonly group: string;
  protected readonly observe: ConsumerObserver;
  protected readonly commitLimits: CommitLimits;
  protected readonly drainMs: number;
  readonly #handlers = new Map<string, TopicHandler[]>();
  readonly #options: ConsumerOptions;

  protected constructor(options: ConsumerOptions) {
    super();
    keepHandlerErrors();
    this.group = options.group;
    this.transportId = consumerGroup(options.group);
    this.observe = options.observe ?? {};
    this.drainMs = options.drainMs ?? drainDefaultMs;
    this.#options = options;
    this.commitLimits = pickDefined(defaultCommitLimits, options);
  }

  abstract get consumerStatus(): ConsumerStatus;

  /** Waits for running handlers (drainMs at most), commits the finished messages, and disconnects. */
  abstract override close(): Promise<void>;

  /** Stops at once: nothing more is handled or committed, as if the process had died here. */
  abstract abandon(): Promise<void>;

  /** Starts consuming. If the broker is unavailable, consuming starts as soon as it is there. */
  override listen(callback: (error?: unknown) => void): void {
    if (this.topics.length === 0) {
      callback(new Error(`consumer group ${this.group} has no handler`));
      return;
    }
    this.start();
    callback();
  }

  protected abstract start(): void;

  protected get topics(): readonly string[] {
    return [...this.#handlers.keys()];
  }

  /** Several handlers of one topic all get each message; Nest would chain them by `next`. */
  override addHandler(
    pattern: unknown,
    handler: MessageHandler,
    isEventHandler = false,
    extras: HandlerExtras = {},
  ): void {
    if (!isEventHandler) {
      throw new Error(`consumer group ${this.group}: use @EventPattern: there are no replies`);
    }
    const topic = this.normalizePattern(pattern as string);
    const handlers = this.#handlers.get(topic) ?? [];
    handlers.push({ handler, extras });
    this.#handlers.set(topic, handlers);
    this.messageHandlers.set(topic, handlers[0]?.handler ?? handler);
  }

  override on(): never {
    throw new Error('a consumer strategy has no events of its own: pass `observe`');
  }

  protected createEngine(
    park: (delivery: Delivery, error: unknown) => Promise<void>,
  ): ConsumerEngine {
    const { group, deferred, progressIntervalMs = progressIntervalDefaultMs } = this.#options;
    return new ConsumerEngine({
      group,
      deferred,
      limits: pickDefined(defaultKeyQueueLimits, this.#options),
      retryLimits: pickDefined(defaultRetryLimits, this.#options),
      progressIntervalMs,
      handle: (delivery) => this.deliver(delivery),
      park,
      delay: abortableDelay,
      nowMs: () => performance.now(),
      observe: this.observe,
    });
  }

  /** Runs the handlers of a message. @throws the error of a handler; of several, the one most worth a retry */
  protected async deliver(delivery: Delivery): Promise<void> {
    const addressee = delivery.headers[replayForGroupHeader];
    if (addressee !== undefined && addressee !== this.group) return;
    const handlers = this.#handlers.get(delivery.topic);
    if (handlers === undefined) throw new HandlerUnavailable(this.group, delivery.topic);
    const wanted = handlers.filter(({ extras }) => isWanted(delivery, extras));
    if (wanted.length === 0) return;
    const outcomes = await Promise.allSettled(
      wanted.map(({ handler }) => this.#run(handler, delivery)),
    );
    const errors = outcomes
      .filter((outcome) => outcome.status === 'rejected')
      .map((outcome): unknown => outcome.reason);
    if (errors.length === 0) return;
    // As long as a retry may help one of them, the message must not be parked.
    throw (
      errors.find((error) => isTransient(error)) ??
      errors.find((error) => !(error instanceof NonRetryable)) ??
      errors[0]
    );
  }

  async #run(handler: MessageHandler, delivery: Delivery): Promise<void> {
    const value = parseJson(delivery);
    const context = new MessageContext([delivery]);
    const handle = async () => {
      const result: unknown = await handler(value, context);
      if (isObservable(result)) await lastValueFrom(result, { defaultValue: undefined });
    };
    await new Promise<void>((resolve, reject) => {
      this.onProcessingStartHook(this.transportId, context, () => handle().then(resolve, reject));
    }).finally(() => this.onProcessingEndHook?.(this.transportId, context));
  }
}

interface TopicHandler {
  readonly handler: MessageHandler;
  readonly extras: HandlerExtras;
}

function isWanted({ headers }: Message, { onlyWith: wanted = {} }: HandlerExtras): boolean {
  return Object.entries(wanted).every(([name, value]) => (headers[name] ?? value) === value);
}

/**
 * A message of the retry table or of the dead letters whose topic this release does not handle. It waits
 * for a release that does.
 */
class HandlerUnavailable extends Error {
  override readonly name = 'HandlerUnavailable';
  readonly isUnavailable = true;

  constructor(group: string, topic: string) {
    super(`consumer group ${group} has no handler for ${topic}`);
  }
}

const progressIntervalDefaultMs = 15_000;
/** Below the 10 s an app has to shut down. */
const drainDefaultMs = 5_000;

function parseJson(delivery: Delivery): unknown {
  try {
    return JSON.parse(delivery.value);
  } catch {
    // Without the parser's error, which quotes the value.
    throw new NonRetryable('the value is not JSON');
  }
}

/** The defaults, overridden by the given options. */
function pickDefined<Limits extends object>(defaults: Limits, options: Partial<Limits>): Limits {
  const overridden = { ...defaults };
  for (const key of Object.keys(defaults) as (keyof Limits)[]) {
    const value = options[key];
    if (value !== undefined) overridden[key] = value;
  }
  return overridden;
}
