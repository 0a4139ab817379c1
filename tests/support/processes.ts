/** Finds the processes of a test run by their command line or working folder. */
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

/** A process may end between listing and reading it. */
function read(source: () => string): string {
  try {
    return source();
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES'].includes(String((error as NodeJS.ErrnoException).code)))
      return '';
    throw error;
  }
}
