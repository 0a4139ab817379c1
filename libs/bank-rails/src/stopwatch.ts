/**
 * Counts the milliseconds from now on, by the clock that shows more: one of them stops while the machine sleeps.
 * @param wallMs milliseconds since the epoch
 */
export function stopwatch(wallMs: () => number = Date.now): () => number {
  const [steady, wall] = [performance.now(), wallMs()];
  return () => Math.max(performance.now() - steady, wallMs() - wall);
}
