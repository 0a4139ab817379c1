import { until } from './until.js';

describe('until', () => {
  it('returns the first truthy value', async () => {
    let calls = 0;
    expect(await until(() => ++calls === 3 && 'here', { timeoutMs: 20_000, everyMs: 1 })).toBe(
      'here',
    );
    expect(calls).toBe(3);
  });

  it('treats an error as "not yet", and throws the last one when the time is up', async () => {
    const failing = until(() => Promise.reject(new Error('still closed')), {
      timeoutMs: 20,
      everyMs: 5,
      what: 'the door to open',
    });
    await expect(failing).rejects.toMatchObject({
      message: 'not within 20 ms: the door to open',
      cause: { message: 'still closed' },
    });
  });
});
