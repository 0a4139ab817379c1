/** Which processes of this machine belong to a run: found by what their command line or open folder names. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Command lines of running processes that mention `text` or work in a folder below it. Linux only. */
export function processesOf(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      const command = read(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
      const folder = read(() => readlinkSync(`/proc/${pid}/cwd`));
      const environment = read(() => readFileSync(`/proc/${pid}/environ`, 'utf8'));
      const mine = [command, folder, environment].some((place) => place.includes(text));
      return mine ? [`${pid} ${command.replaceAll('\0', ' ').trim()}`] : [];
    });
}

/** Processes end between being listed and being read. */
function read(source: () => string): string {
  try {
    return source();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes(String((error as NodeJS.ErrnoException).code)))
      return '';
    throw error;
  }
}
