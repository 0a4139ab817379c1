/** What tests open is closed after them, also when they fail: an open server or timer keeps Jest's worker from exiting. */

/**
 * Call it once at the top of a spec, or of the `describe` whose hooks close what its tests use. Register each close right after
 * the open. After each test they are called, the last first. All are called, even when one fails.
 */
export function closeAfterEach(): (close: () => unknown) => void {
  const closes: (() => unknown)[] = [];
  afterEach(() => closeAll(closes.splice(0)));
  return (close) => void closes.push(close);
}

/** @throws the first failure, when all were called */
export async function closeAll(closes: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closes.toReversed()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
