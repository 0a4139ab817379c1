import { Health } from './health.js';

it('names each dependency, with the reason of what is down', async () => {
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

it('is ready when everything is up, also with nothing to depend on', async () => {
  const health = new Health();
  expect(await health.readiness()).toEqual({ status: 'ready', dependencies: {} });
  health.register('postgres', () => undefined);
  expect((await health.readiness()).status).toBe('ready');
});
