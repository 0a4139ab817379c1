import { Health } from './health.js';
import type { Logger } from './logging.js';

it('names each dependency, with the reason if it is down', async () => {
  const health = new Health();
  health.register('postgres', () => Promise.resolve());
  health.register('broker', () => Promise.reject(new Error('connection refused')));
  expect(await health.readiness()).toEqual({
    status: 'unavailable',
    dependencies: {
      postgres: { status: 'up' },
      broker: { status: 'down', reason: 'connection refused' },
    },
  });
});

it('is ready when everything is up, also without dependencies', async () => {
  const health = new Health();
  expect(await health.readiness()).toEqual({ status: 'ready', dependencies: {} });
  health.register('postgres', () => undefined);
  expect((await health.readiness()).status).toBe('ready');
});

it('is ready while a bank is away, which it names: otherwise no rollout would end before the bank is back', async () => {
  const health = new Health();
  health.registerStore('postgres', () => undefined);
  health.registerPartner('bank', () => Promise.reject(new Error('no answer')));
  expect(await health.readiness()).toEqual({
    status: 'ready',
    dependencies: { postgres: { status: 'up' }, bank: { status: 'down', reason: 'no answer' } },
  });
});

describe('readiness', () => {
  /** A dependency that counts its checks and answers when the test says so. */
  function dependency() {
    const asked: PromiseWithResolvers<void>[] = [];
    const check = () => {
      const question = Promise.withResolvers<void>();
      asked.push(question);
      return question.promise;
    };
    return { asked, check };
  }

  it('is computed once for concurrent requests, and at most once per second', async () => {
    let nowMs = 0;
    const health = new Health({ clock: () => nowMs });
    const { asked, check } = dependency();
    health.register('postgres', check);
    const answers = Array.from({ length: 500 }, () => health.readiness());
    expect(asked).toHaveLength(1);
    asked[0]?.resolve();
    expect((await Promise.all(answers)).every(({ status }) => status === 'ready')).toBe(true);
    nowMs = 999;
    await health.readiness();
    expect(asked).toHaveLength(1);
    nowMs = 1_000;
    const later = health.readiness();
    expect(asked).toHaveLength(2);
    asked[1]?.reject(new Error('connection refused'));
    expect((await later).status).toBe('unavailable');
  });

  it('reports at once that the process is shutting down', async () => {
    const health = new Health();
    expect((await health.readiness()).status).toBe('ready');
    health.end('shutting down');
    expect(await health.readiness()).toEqual({
      status: 'unavailable',
      dependencies: { process: { status: 'down', reason: 'shutting down' } },
    });
  });

  it('checks a hanging dependency once, and again after its time limit', async () => {
    let nowMs = 0;
    const health = new Health({ clock: () => nowMs });
    const { asked, check } = dependency();
    health.register('postgres', check);
    for (let readings = 0; readings < 2; readings += 1) {
      nowMs += 10_000;
      expect((await health.readiness()).dependencies['postgres']).toEqual({
        status: 'down',
        reason: 'no answer within 2000 ms',
      });
    }
    expect(asked).toHaveLength(1);
    nowMs += 60_000;
    const recovered = health.readiness();
    expect(asked).toHaveLength(2);
    asked[1]?.resolve();
    expect((await recovered).status).toBe('ready');
  });
});

describe('on a public port', () => {
  const address = '10.1.2.3:5432';
  const isAway = () => Promise.reject(new Error('no answer'));

  it('only the stores decide whether it is ready: a bank that is away takes no API out of service', async () => {
    const health = new Health({ isPublic: true });
    health.registerStore('postgres', () => undefined);
    health.register('bank', isAway);
    expect(await health.readiness()).toEqual({
      status: 'ready',
      dependencies: {
        postgres: { status: 'up' },
        bank: { status: 'down', reason: 'see the log' },
      },
    });
    health.registerStore('postgres', isAway);
    expect((await health.readiness()).status).toBe('unavailable');
  });

  it.each([
    [
      'an error with a code',
      Object.assign(new Error(address), { code: 'ECONNREFUSED' }),
      'ECONNREFUSED',
    ],
    [
      'its cause',
      new Error(address, { cause: Object.assign(new Error(address), { code: '57P03' }) }),
      '57P03',
    ],
    [
      'one of several',
      new AggregateError([Object.assign(new Error(address), { code: 'ETIMEDOUT' })], address),
      'ETIMEDOUT',
    ],
  ])('a reason contains no address, only the code of %s', async (_what, error, code) => {
    const logged: unknown[] = [];
    const log = (entry: object) => void logged.push(entry);
    const logger = { warn: log, info: log } as unknown as Logger;
    const health = new Health({ isPublic: true, logger });
    health.register('postgres', () => Promise.reject(error));
    expect((await health.readiness()).dependencies['postgres']).toEqual({
      status: 'down',
      reason: `see the log (${code})`,
    });
    expect(logged).toEqual([{ dependency: 'postgres', err: error }]);
  });

  it.each([
    [new Error(address)],
    [Object.assign(new Error(address), { code: address })],
    [address],
  ])('a reason without a code refers to the log', async (error) => {
    const health = new Health({ isPublic: true });
    health.register('bank', () => Promise.reject(error as Error));
    const { dependencies } = await health.readiness();
    expect(dependencies['bank']).toEqual({ status: 'down', reason: 'see the log' });
  });
});
