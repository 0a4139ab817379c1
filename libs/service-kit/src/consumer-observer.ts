/** Reports on a consumer group: metrics at intervals, and log lines with a limit on their rate. */
import type { ConsumerObserver } from '@pis/messaging';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { LineLimit } from './line-limit.js';
import type { Logger } from './logging.js';

/** Lines of one kind that a group may log at once, and the interval for further ones. */
const linesAtOnce = 20;
const lineEveryMs = 1_000;

/** Creates the metrics once. Each group gets its own observer. */
export function consumerObservers(
  registry: Registry,
  logger: Logger,
  nowMs: () => number = () => performance.now(),
): (group: string) => Required<ConsumerObserver> {
  const metrics = consumerMetrics(registry);
  return (group) => {
    const { handled, parked, deferred, lost } = metrics;
    const failures = new LineLimit(linesAtOnce, lineEveryMs, nowMs);
    const problems = new LineLimit(linesAtOnce, lineEveryMs, nowMs);
    metrics.show(group, {
      connected: false,
      lag: 0,
      oldestUnfinishedMs: 0,
      deferred: { messages: 0, oldestAgeMs: 0 },
    });
    return {
      handled: ({ topic }, outcome, durationMs) =>
        handled.observe({ group, topic, outcome }, durationMs / 1000),
      failed: ({ topic, key, offset, attempt }, err) =>
        failures.log((withheld) =>
          logger.warn(
            { err, group, topic, key, offset, attempt, ...withheld },
            'attempt at a message failed',
          ),
        ),
      deferred: ({ topic, key, offset, attempt }, err) => {
        deferred.inc({ group, topic });
        failures.log((withheld) =>
          logger.warn(
            { err, group, topic, key, offset, attempt, ...withheld },
            'message deferred to the retry table',
          ),
        );
      },
      parked: ({ topic, key, offset, attempt }, err) => {
        parked.inc({ group, topic });
        logger.error(
          { err, group, topic, key, offset, attempt },
          'message parked as a dead letter',
        );
      },
      lost: ({ topic, count, ...place }) => {
        lost.inc({ group, topic }, count);
        logger.error(
          { group, topic, count, ...place },
          'messages were deleted before they were read: publish them again with pis relay replay',
        );
      },
      progress: (progress) => metrics.show(group, progress),
      problem: (doing, err) =>
        problems.log((withheld) =>
          logger.warn({ err, group, doing, ...withheld }, 'consumer problem, trying again'),
        ),
    };
  };
}

function consumerMetrics(registry: Registry) {
  const registers = [registry];
  const gauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['group'], registers });
  const counter = (name: string, help: string) =>
    new Counter({ name, help, labelNames: ['group', 'topic'], registers });
  const connected = gauge(
    'pis_consumer_connected',
    '1 while this process reads what its group gave it, 0 while it does not',
  );
  const lag = gauge(
    'pis_consumer_lag_messages',
    'Unfinished messages of a group; on the embedded broker up to 1000 unread ones',
  );
  const oldest = gauge(
    'pis_consumer_oldest_message_seconds',
    'Age of the oldest unfinished message that this process has received',
  );
  const waiting = gauge(
    'pis_consumer_deferred_messages',
    'Messages of a group in the retry table, counted up to 10000',
  );
  const longest = gauge(
    'pis_consumer_deferred_oldest_seconds',
    'How long the oldest message of a group has been in the retry table',
  );
  return {
    handled: new Histogram({
      name: 'pis_consumer_handled_seconds',
      help: 'Time a handler took for one message, by outcome',
      labelNames: ['group', 'topic', 'outcome'],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
      registers,
    }),
    parked: counter('pis_consumer_dead_letters_total', 'Messages given up on and parked'),
    deferred: counter('pis_consumer_deferred_total', 'Messages that went to the retry table'),
    lost: counter(
      'pis_consumer_lost_messages_total',
      'Messages that Kafka has deleted before the group has read them',
    ),
    /** A retry table that cannot be read shows NaN. */
    show(group: string, progress: Parameters<NonNullable<ConsumerObserver['progress']>>[0]) {
      connected.set({ group }, progress.connected ? 1 : 0);
      lag.set({ group }, progress.lag);
      oldest.set({ group }, progress.oldestUnfinishedMs / 1000);
      waiting.set({ group }, progress.deferred?.messages ?? NaN);
      longest.set({ group }, (progress.deferred?.oldestAgeMs ?? NaN) / 1000);
    },
  };
}
