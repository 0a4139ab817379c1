/** Structured logs: JSON lines on stderr. Only the ready line goes to stdout. */
import { isSpanContextValid, trace } from '@opentelemetry/api';
import type { LoggerService } from '@nestjs/common';
import { StoreUnavailable } from '@pis/event-store';
import { isTransient } from '@pis/postgres';
import { destination, type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { ConfigurationError } from './config.js';
import { LineLimit } from './line-limit.js';
import { StoresNotChecked } from './store-gate.js';

export type { Logger } from 'pino';

type LogHook = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

/** @param level the least severe level that is written */
export function createLogger(app: string, level: string, to?: DestinationStream): Logger {
  return pino(
    {
      level,
      base: { app },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Other fields of errors contain the request or row that failed. Keep only message and stack.
      serializers: { err: (error: unknown) => describeError(error) },
      hooks: { logMethod: onceAMinute() },
      mixin: currentTrace,
    },
    to ?? logDestination(stderrFd),
  );
}

const stderrFd = 2;
/** Lines that cannot be written wait in memory. Beyond this, new ones are dropped. */
const waitingMaxBytes = 4 * 1024 * 1024;

/**
 * Asynchronous, so that a request does not wait for its log line. Flushed when the process exits. Lines that cannot be written, for
 * example because the disk is full, are written together with a later one: payments must not depend on the log.
 */
export function logDestination(fd: number): ReturnType<typeof destination> {
  const lines = destination({ fd, sync: false, maxLength: waitingMaxBytes });
  // Without a listener, the error would end the process.
  lines.on('error', () => undefined);
  return lines;
}

/** Leads from a line to its trace, and back. By the names that OpenTelemetry gives them in logs of other formats. */
function currentTrace(): { readonly trace_id?: string; readonly span_id?: string } {
  const context = trace.getActiveSpan()?.spanContext();
  if (context === undefined || !isSpanContextValid(context)) return {};
  return { trace_id: context.traceId, span_id: context.spanId };
}

/** More than one, so that the second of two short outages is not left out. */
const linesAtOnce = 3;
const lineEveryMs = 60_000;
/** Kinds of lines that are counted at the same time. The oldest are dropped. */
const kindsMax = 1_000;
const warning = 40;
/** They say what fails, and are counted apart. Other fields say what waits for it, such as the ID of a payment. */
const failingFields = ['bank', 'dependency', 'doing', 'group', 'topic'];

/**
 * Every loop reports an unavailable dependency again and again, and so does every payment and delivery that waits for it. The
 * same line is written three times at once, and then once a minute with the number of suppressed lines.
 */
export function onceAMinute(now: () => number = () => performance.now()): LogHook {
  const kinds = new Map<string, LineLimit>();
  return function (args, method, level) {
    const [first, message] = args as unknown as [unknown, unknown];
    const fields = isObject(first) ? first : {};
    const { err } = fields;
    if (level < warning) return method.apply(this, args);
    // Every loop fails so before its first round. The reason is a line of its own (run-app.ts).
    if (isBecause(err, StoresNotChecked)) return this.debug(...args);
    if (!(err instanceof StoreUnavailable) && !isTransient(err)) return method.apply(this, args);
    const failing = failingFields.map((name) => fields[name]);
    const kind = JSON.stringify([this.bindings(), message, describeError(err)['message'], failing]);
    const limit = kinds.get(kind) ?? new LineLimit(linesAtOnce, lineEveryMs, now);
    kinds.delete(kind);
    const [oldest] = kinds.keys();
    if (kinds.size >= kindsMax && oldest !== undefined) kinds.delete(oldest);
    kinds.set(kind, limit);
    limit.log(({ withheld }) => {
      if (withheld !== undefined) args[0] = { ...fields, leftOut: withheld };
      method.apply(this, args);
    });
  };
}

function isBecause(error: unknown, kind: typeof StoresNotChecked): boolean {
  for (let link = error; link instanceof Error; link = link.cause)
    if (link instanceof kind) return true;
  return false;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Writes Node's warnings as JSON log lines instead of text. */
export function logWarnings(logger: Logger): void {
  onWarning((warning) =>
    logger.warn({ warning: warning.name, stack: warning.stack }, warning.message),
  );
}

/** kafkajs sets a timer to a time in the past. It fires at once, as intended. */
const harmless = 'TimeoutNegativeWarning';

/** Passes Node's warnings to `report` instead of to stderr, except a known harmless one. */
export function onWarning(report: (warning: Error) => void): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name !== harmless) report(warning);
  });
}

/** The parts of an error that may be logged: no bound parameters, no bodies. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code } = error as { code?: unknown };
  const message = messageOf(error);
  return {
    name: error.name,
    message,
    ...(code === undefined ? {} : { code }),
    // It begins with the message.
    stack: error.stack?.replace(error.message, () => message),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}

/** JSON.parse quotes the text around the place that it could not read. */
function messageOf({ name, message }: Error): string {
  return name === 'SyntaxError' && message.endsWith('is not valid JSON')
    ? 'the text is not valid JSON'
    : message;
}

/** Nest's own messages through our logger. Start-up messages have level debug. */
export function nestLogger(logger: Logger): LoggerService {
  const text = (message: unknown) =>
    message instanceof Error ? messageOf(message) : String(message);
  return {
    log: (message: unknown, context?: string) => logger.debug({ context }, text(message)),
    warn: (message: unknown, context?: string) => logger.warn({ context }, text(message)),
    error: (message: unknown, ...rest: unknown[]) => {
      // It ends the start, which reports it as one message without a stack trace.
      if (message instanceof ConfigurationError) return;
      logger.error(
        { context: rest.at(-1), ...(message instanceof Error ? { err: message } : {}) },
        text(message),
      );
    },
    debug: (message: unknown, context?: string) => logger.debug({ context }, text(message)),
    verbose: (message: unknown, context?: string) => logger.trace({ context }, text(message)),
    fatal: (message: unknown, context?: string) => logger.fatal({ context }, text(message)),
  };
}
