/**
 * The entry of the image: `node start.js PROCESS [ARGUMENT…]`. PROCESS is an app, `pis` (the operator's command), or `health`,
 * which asks the app in the same container whether it is ready. No shell is needed.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The exit code of a command that was called wrongly (sysexits.h). */
const usage = 64;
const healthTimeoutMs = 3_000;
const folder = join(import.meta.dirname, 'apps');
const mainOf = (app) => join(folder, app, 'dist', 'main.js');
const apps = readdirSync(folder).filter((app) => app !== 'cli' && existsSync(mainOf(app)));

const [name, ...rest] = process.argv.slice(2);
if (name === 'pis') await run('cli', rest);
else if (name === 'health' && rest.length === 0) process.exitCode = await health();
else if (apps.includes(name) && rest.length === 0) await run(name, []);
else {
  process.stderr.write(`usage: node start.js pis ARGUMENTS | health | ${apps.join(' | ')}\n`);
  process.exitCode = usage;
}

/** The process becomes the app: signals, output and exit code are the app's own. */
async function run(app, args) {
  process.argv = [process.argv[0], mainOf(app), ...args];
  await import(mainOf(app));
}

/** 0 if the app of this container is ready, otherwise 1 with the reason on stderr. */
async function health() {
  const url = `http://127.0.0.1:${process.env.PORT || 3000}/health/ready`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(healthTimeoutMs) });
    if (response.ok) return 0;
    process.stderr.write(`${await response.text()}\n`);
  } catch (error) {
    process.stderr.write(`${error.cause?.message ?? error.message}\n`);
  }
  return 1;
}
