/** Files and folders that several processes need and one makes: programs that are built, packages that are fetched. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { waitForLock } from '../plain/owner-lock.mjs';

/** Longer than the longest build takes on a busy machine. */
const lockTimeoutMs = 30 * 60_000;

/**
 * Resolves when `place` is there. If it is missing, one process makes it, and the others wait for that process.
 * `place` appears at once and complete: `make` gets the path of a draft, which nothing has yet and which is renamed
 * when it is done. If `make` throws, `place` stays missing, and the next process that needs it tries again.
 */
export async function madeOnce(
  place: string,
  make: (draft: string) => void | Promise<void>,
): Promise<void> {
  if (existsSync(place)) return;
  const folder = dirname(place);
  mkdirSync(folder, { recursive: true });
  const release = await waitForLock(folder, `${basename(place)}.lock`, {
    timeoutMs: lockTimeoutMs,
  });
  const draft = `${place}.draft`;
  try {
    if (existsSync(place)) return;
    // Of a process that was killed.
    rmSync(draft, { recursive: true, force: true });
    await make(draft);
    renameSync(draft, place);
  } finally {
    rmSync(draft, { recursive: true, force: true });
    release();
  }
}
