export class LockHeld extends Error {
  readonly pid: number;
}
export function takeLock(folder: string, name: string): () => void;
export function waitForLock(
  folder: string,
  name: string,
  options: { timeoutMs: number; onWait?: (pid: number) => void },
): Promise<() => void>;
