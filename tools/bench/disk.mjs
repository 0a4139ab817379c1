/** How fast the disk is at present: commits wait for it, and others that write to it slow it down. */
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { machineMs } from './machine-clock.mjs';
import { median } from './statistics.mjs';

const writes = 50;
/** A page of PostgreSQL's log. */
const bytes = 8_192;

/** @returns the median of a write and its flush, in ms */
export async function flushMs(folder) {
  const path = join(folder, 'flushed');
  const file = await open(path, 'w');
  const page = Buffer.alloc(bytes);
  const took = [];
  try {
    for (let n = 0; n < writes; n += 1) {
      const startedAtMs = machineMs();
      await file.write(page, 0, bytes, n * bytes);
      await file.datasync();
      took.push(machineMs() - startedAtMs);
    }
  } finally {
    await file.close();
    await rm(path);
  }
  return median(took);
}
