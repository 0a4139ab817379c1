/**
 * A lock between processes of one machine that outlives no owner. A process holds it, known by its ID and
 * start time. The lock is free when that process is gone, for any reason.
 *
 * Plain JavaScript without dependencies: tools/ needs it before anything is installed or built.
 *
 * The lock `name` is the file `name.N` with the highest N in its folder. A process takes it by creating
 * `name.N+1` exclusively, and only after it saw that N is free (released, or its owner dead). A process
 * that then finds a higher number has lost the race and starts over. The highest file is never removed,
 * only marked as released. That makes the takeover of a dead owner's lock safe. "Remove the stale file,
 * create mine" may remove the file of the next owner.
 */
import { randomUUID } from 'node:crypto';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processIdentity } from './process-identity.mjs';

const pollMs = 100;

/** A living process holds the lock. */
export class LockHeld extends Error {
  constructor(path, pid) {
    super(`${path} is held by process ${pid}`);
    this.name = 'LockHeld';
    this.pid = pid;
  }
}

/** Takes the lock or throws LockHeld. Returns its release function, which may be called twice. */
export function takeLock(folder, name) {
  mkdirSync(folder, { recursive: true });
  for (;;) {
    const current = highest(folder, name);
    const owner = current === 0 ? null : readOwner(folder, name, current);
    if (owner === 'gone') continue;
    if (owner !== null && isAlive(owner)) throw new LockHeld(join(folder, name), owner.pid);
    const mine = current + 1;
    const created = createExclusively(folder, name, mine);
    if (created && highest(folder, name) === mine) {
      removeBelow(folder, name, mine);
      return () => release(folder, name, mine);
    }
    // Lost the race to a higher number: our file is obsolete.
    if (created) rmSync(join(folder, `${name}.${mine}`), { force: true });
  }
}

/** Takes the lock, waiting while a living process holds it. `onWait` is called once, when waiting begins. */
export async function waitForLock(folder, name, { timeoutMs, onWait = () => {} }) {
  const deadline = Date.now() + timeoutMs;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return takeLock(folder, name);
    } catch (error) {
      if (!(error instanceof LockHeld) || Date.now() > deadline) throw error;
      if (attempt === 0) onWait(error.pid);
    }
    await delay(pollMs);
  }
}

function numbers(folder, name) {
  return readdirSync(folder)
    .filter((file) => file.startsWith(`${name}.`) && /^\d+$/.test(file.slice(name.length + 1)))
    .map((file) => Number(file.slice(name.length + 1)));
}

function highest(folder, name) {
  return Math.max(0, ...numbers(folder, name));
}

function readOwner(folder, name, number) {
  try {
    return JSON.parse(readFileSync(join(folder, `${name}.${number}`), 'utf8'));
  } catch (error) {
    // A newer owner has removed it since the folder was listed.
    if (error.code === 'ENOENT') return 'gone';
    throw error;
  }
}

function isAlive(owner) {
  return owner.identity !== null && processIdentity(owner.pid) === owner.identity;
}

/** link() makes name and content appear at once; false when the number is taken. */
function createExclusively(folder, name, number) {
  const draft = writeDraft(folder, name, processIdentity(process.pid));
  try {
    linkSync(draft, join(folder, `${name}.${number}`));
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function release(folder, name, number) {
  if (highest(folder, name) !== number) return;
  renameSync(writeDraft(folder, name, null), join(folder, `${name}.${number}`));
}

function writeDraft(folder, name, identity) {
  const draft = join(folder, `.${name}-${randomUUID()}`);
  writeFileSync(draft, JSON.stringify({ pid: process.pid, identity }), { mode: 0o600 });
  return draft;
}

function removeBelow(folder, name, mine) {
  for (const number of numbers(folder, name))
    if (number < mine) rmSync(join(folder, `${name}.${number}`), { force: true });
}
