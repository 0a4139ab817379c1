import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for a fact: calls `fn` until it returns a truthy value, and returns that value. An error of `fn`
 * counts as "not yet". Fails after `timeoutMs` with the last error or value.
 */
export async function until<T>(
  fn: () => T | Promise<T>,
  options: { timeoutMs: number; everyMs?: number; what?: string },
): Promise<Exclude<Awaited<T>, null | undefined | false | 0 | ''>> {
  const deadline = performance.now() + options.timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await fn();
      if (value) return value as Exclude<Awaited<T>, null | undefined | false | 0 | ''>;
      last = new Error(`last value: ${String(value)}`);
    } catch (error) {
      last = error;
    }
    if (performance.now() >= deadline)
      throw new Error(`not within ${options.timeoutMs} ms: ${options.what ?? fn.toString()}`, {
        cause: last,
      });
    await delay(options.everyMs ?? 20);
  }
}
