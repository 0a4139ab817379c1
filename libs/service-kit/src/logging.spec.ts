import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { StoreUnavailable } from '@pis/event-store';
import { until } from '@pis/local-servers/testing';
import { pino } from 'pino';
import { loadConfig } from './config.js';
import { processEnv } from './environment.js';
import { createLogger, describeError, logDestination, onceAMinute } from './logging.js';
import { StoresNotChecked } from './store-gate.js';

interface Line {
  readonly level: string;
}

function unavailable(message = 'no leader'): Error {
  return new StoreUnavailable(message);
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;

it.each([[undefined, 'info'] as const, ...levels.map((level) => [level, level] as const)])(
  'LOG_LEVEL=%s writes lines from level %s up',
  (LOG_LEVEL, least) => {
    const written: unknown[] = [];
    const to = { write: (line: string) => written.push((JSON.parse(line) as Line).level) };
    const logger = createLogger('spec', loadConfig(processEnv, { LOG_LEVEL }).LOG_LEVEL, to);
    for (const level of levels) logger[level]('a line');
    expect(written).toEqual(levels.slice(levels.indexOf(least)));
  },
);

it('an unavailable dependency is logged three times, then once a minute with a count', () => {
  let nowMs = 0;
  const { lines, logger } = limitedLog(() => nowMs);
  const lost = Object.assign(new Error('no space left on device'), { code: '53100' });
  for (; nowMs < 600_000; nowMs += 1_000) {
    logger.child({ projection: 'payments' }).warn({ err: unavailable() }, 'trying again');
    logger.warn({ err: lost }, 'exports cannot be written now');
  }
  for (const message of ['trying again', 'exports cannot be written now'])
    expect(lines.filter(({ msg }) => msg === message).map(({ leftOut }) => leftOut)).toEqual([
      ...[undefined, undefined, undefined, 57],
      ...Array.from({ length: 8 }, () => 59),
    ]);
});

it('lines of an outage are counted apart by message, error and what fails', () => {
  const { lines, logger } = limitedLog(() => 0);
  for (let number = 1; number <= 5; number += 1) {
    logger.warn({ err: unavailable() }, 'trying again');
    logger.child({ projection: 'payments' }).warn({ err: unavailable() }, 'trying again');
    logger.warn({ err: unavailable('wrong password') }, 'trying again');
    logger.warn({ err: unavailable() }, 'something else');
    logger.warn({ err: unavailable(), bank: 'one' }, 'trying again');
    logger.warn({ err: unavailable(), bank: 'two' }, 'trying again');
  }
  expect(lines).toHaveLength(6 * 3);
  for (let number = 1; number <= 5; number += 1) {
    logger.warn({ err: new Error('a fault') }, 'trying again');
    logger.info({ err: unavailable() }, 'trying again');
  }
  expect(lines).toHaveLength(6 * 3 + 2 * 5);
});

it('an outage is not logged for each payment and each delivery that waits for it', () => {
  let nowMs = 0;
  const { lines, logger } = limitedLog(() => nowMs);
  const away = Object.assign(new Error('the bank did not answer'), { isUnavailable: true });
  const lost = new Error('Connection terminated unexpectedly');
  for (let number = 1; number <= 1_000; number += 1) {
    logger.warn({ err: away, paymentId: `p${number}` }, 'it will be looked at again');
    logger.warn({ err: lost, deliveryId: `d${number}` }, 'it could not be recorded yet');
  }
  nowMs = 60_000;
  logger.warn({ err: away, paymentId: 'p1' }, 'it will be looked at again');
  logger.warn({ err: new Error('a fault'), paymentId: 'p2' }, 'it will be looked at again');
  logger.warn({ err: new Error('a fault'), paymentId: 'p3' }, 'it will be looked at again');
  expect(
    lines.map(({ paymentId, deliveryId, leftOut }) => [paymentId ?? deliveryId, leftOut]),
  ).toEqual([
    ...['p1', 'd1', 'p2', 'd2', 'p3', 'd3'].map((id) => [id, undefined]),
    ['p1', 997],
    ['p2', undefined],
    ['p3', undefined],
  ]);
});

function limitedLog(now: () => number) {
  const lines: Record<string, unknown>[] = [];
  const to = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) };
  return { lines, logger: pino({ hooks: { logMethod: onceAMinute(now) } }, to) };
}

it('what fails only because the stores have not been checked is logged for debugging only', () => {
  const written: [string, string][] = [];
  const to = {
    write: (line: string) => {
      const { level, msg } = JSON.parse(line) as { level: string; msg: string };
      written.push([level, msg]);
    },
  };
  const cause = new StoresNotChecked('not yet');
  for (const level of ['info', 'debug']) {
    const logger = createLogger('spec', level, to);
    logger.warn({ err: cause }, 'a loop failed');
    logger.error({ err: new Error('tables', { cause }) }, 'another loop failed');
    logger.warn({ err: new Error('tables') }, 'a fault');
  }
  expect(written).toEqual([
    ['warn', 'a fault'],
    ['debug', 'a loop failed'],
    ['debug', 'another loop failed'],
    ['warn', 'a fault'],
  ]);
});

it('an error does not quote the text that it could not parse', () => {
  for (const text of [
    'Zora',
    '{"firstName":"Zora","lastName":Zora}',
    `{"firstName":"${'Zora'.repeat(99)}"} Zora`,
  ]) {
    const error = thrownBy(() => JSON.parse(text));
    const described = describeError(new Error('no message', { cause: error }));
    expect(JSON.stringify(described)).not.toContain('Zora');
    expect(described).toMatchObject({
      cause: { name: 'SyntaxError', message: expect.stringContaining('JSON') as unknown },
    });
  }
});

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('lines that cannot be written', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pis-log-'));
  const file = path.join(folder, 'log');
  writeFileSync(file, '');
  const [unwritable, writable] = [openSync(file, 'r'), openSync(file, 'a')];
  afterAll(() => {
    closeSync(unwritable);
    rmSync(folder, { recursive: true });
  });

  it('do not end the process, and are written with a later one', async () => {
    const lines = logDestination(unwritable);
    const logger = createLogger('spec', 'info', lines);
    // A listener of the test's own would keep the process alive.
    let failures = 0;
    const emit = lines.emit.bind(lines) as (name: string, ...rest: unknown[]) => boolean;
    lines.emit = (name: string, ...rest: unknown[]) => {
      if (name === 'error') failures += 1;
      return emit(name, ...rest);
    };
    for (const line of ['first', 'second']) {
      const before = failures;
      logger.info(line);
      await until(() => failures > before, { timeoutMs: 20_000 });
    }
    Object.assign(lines, { fd: writable });
    const drained = once(lines, 'drain');
    logger.info('third');
    await drained;
    const closed = once(lines, 'close');
    lines.end();
    await closed;
    const written = readFileSync(file, 'utf8').trim().split('\n');
    expect(written.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      ...['first', 'second', 'third'],
    ]);
  });
});
