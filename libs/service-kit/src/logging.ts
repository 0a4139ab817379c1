/** Structured logs: JSON lines on stderr, so that stdout holds nothing but the ready line. */
import type { LoggerService } from '@nestjs/common';
import { StoreUnavailable } from '@pis/event-store';
import { destination, type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger } from 'pino';

type LogHook = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

export function createLogger(app: string, level: string): Logger {
  return pino(
    {
      level,
      base: { app },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Errors carry the request and the row they failed on in fields of their own; keep the message and stack.
      serializers: { err: (error: unknown) => describeError(error) },
      hooks: { logMethod: onceAMinute() },
    },
    // Not synchronous: a request does not wait for its log line. Flushed when the process exits.
    destination({ fd: 2, sync: false }),
  );
}

const repeatMs = 60_000;
/** Kinds of lines that are counted at a time; the oldest are forgotten. */
const kindsMax = 1_000;
const warning = 40;

/**
 * A store that is away is told by everybody who waits for it, again and again: the same line is
 * written the first time, and then once a minute with the count of those that were left out.
 */
export function onceAMinute(now: () => number = () => performance.now()): LogHook {
  const kinds = new Map<string, { toldAtMs: number; leftOut: number }>();
  return function (args, method, level) {
    const [first, message] = args as unknown as [unknown, unknown];
    const err = isObject(first) ? first['err'] : undefined;
    if (level < warning || !(err instanceof StoreUnavailable)) return method.apply(this, args);
    const kind = JSON.stringify([this.bindings(), message, err.message]);
    const told = kinds.get(kind);
    if (told !== undefined && now() - told.toldAtMs < repeatMs) {
      told.leftOut += 1;
      return;
    }
    kinds.delete(kind);
    const [oldest] = kinds.keys();
    if (kinds.size >= kindsMax && oldest !== undefined) kinds.delete(oldest);
    kinds.set(kind, { toldAtMs: now(), leftOut: 0 });
    const leftOut = told?.leftOut ?? 0;
    if (leftOut > 0) args[0] = { ...(first as object), leftOut };
    method.apply(this, args);
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Node's own warnings as log lines instead of text: who collects the logs reads JSON. */
export function logWarnings(logger: Logger): void {
  onWarning((warning) =>
    logger.warn({ warning: warning.name, stack: warning.stack }, warning.message),
  );
}

/** kafkajs on this Node: it sets a timer to a time in the past, which fires at once, as is meant. */
const harmless = 'TimeoutNegativeWarning';

/** Node's warnings, all but what is known to be harmless, go there instead of to stderr as text. */
export function onWarning(tell: (warning: Error) => void): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name !== harmless) tell(warning);
  });
}

/** What may be logged of an error: no bound parameters, no bodies. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code } = error as { code?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}

/** Nest's own messages through our logger; its start-up chatter is debug. */
export function nestLogger(logger: Logger): LoggerService {
  const text = (message: unknown) => (message instanceof Error ? message.message : String(message));
  return {
    log: (message: unknown, context?: string) => logger.debug({ context }, text(message)),
    warn: (message: unknown, context?: string) => logger.warn({ context }, text(message)),
    error: (message: unknown, ...rest: unknown[]) =>
      logger.error(
        { context: rest.at(-1), ...(message instanceof Error ? { err: message } : {}) },
        text(message),
      ),
    debug: (message: unknown, context?: string) => logger.debug({ context }, text(message)),
    verbose: (message: unknown, context?: string) => logger.trace({ context }, text(message)),
    fatal: (message: unknown, context?: string) => logger.fatal({ context }, text(message)),
  };
}
