/**
 * Work that ends with the caller's signal, or after a time. Not AbortSignal.any: a signal that lives as
 * long as the command would keep what every request left behind.
 *
 * @throws whatever the work does when it is aborted; when the time is over, an error that says so
 */
export async function within<Result>(
  limitMs: number,
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController();
  const end = () => ending.abort();
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, limitMs);
  caller?.addEventListener('abort', end, { once: true });
  if (caller?.aborted) end();
  try {
    return await work(ending.signal);
  } catch (error) {
    if (timedOut) throw new Error(`no answer within ${limitMs / 1_000} s`, { cause: error });
    throw error;
  } finally {
    clearTimeout(timer);
    caller?.removeEventListener('abort', end);
  }
}
