/**
 * `npm start [-- APP]`: installs what is missing, builds what is stale, and runs the whole system in
 * one process (all-in-one), or the given app. stdout belongs to the app. All other output goes to stderr.
 */
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, join } from 'node:path';
import { launch, whenToldToEnd } from './launch.mjs';
import { allProjects, ended, prepare, root, say } from './workspace.mjs';

const wholeSystem = 'all-in-one';
/** Not an app for npm start: use `./pis`. */
const commands = ['cli'];

const [app = wholeSystem, ...rest] = process.argv.slice(2);
const apps = allProjects()
  .filter((project) => project.startsWith('apps/'))
  .map((project) => basename(project))
  .filter(
    (name) => !commands.includes(name) && existsSync(join(root, 'apps', name, 'src/main.ts')),
  );

if (!apps.includes(app) || rest.length > 0) {
  say(`npm start runs the whole system; npm start -- APP runs one of: ${apps.join(', ')}`);
  say(
    rest.length > 0
      ? `It takes one name, not: ${[app, ...rest].join(' ')}`
      : `There is no app ${app}.`,
  );
  process.exit(1);
}

let child = null;
let endingSignal = null;
whenToldToEnd((signal) => {
  endingSignal = signal;
  if (child === null) process.exit(exitCode(null, signal));
  child.kill(signal);
});

try {
  await prepare(app === wholeSystem ? allProjects() : [`apps/${app}`]);
} catch (error) {
  say(error.message);
  process.exit(1);
}
const v8Options = [
  // The young generation is bounded, so that an idle process stays small: all-in-one takes 25 MB more than with 8.
  // With 8 a busy process spends a fifth of its time collecting garbage that a larger one lets die by itself.
  '--max-semi-space-size=32',
  // The old generation is collected at twice what was live. On a large machine V8 waits for four times as much: 200 MB more
  // under load, for 3 % less CPU time.
  '--heap-growing-percent=100',
];
child = launch([...v8Options, join('apps', app, 'dist/main.js')], {
  stdio: ['inherit', 'inherit', 'inherit'],
  env: {
    // In development React checks what it renders, which takes eight times as long.
    NODE_ENV: process.env.NODE_ENV || 'production',
    // By default glibc has eight heaps of its own for each core and gives little of them back: 200 MB more under load.
    MALLOC_ARENA_MAX: process.env.MALLOC_ARENA_MAX || '2',
    // Otherwise the free end of a heap may grow to 64 MB before it is given back.
    MALLOC_TRIM_THRESHOLD_: process.env.MALLOC_TRIM_THRESHOLD_ || '131072',
  },
});
if (endingSignal !== null) child.kill(endingSignal);
const [code, signal] = await ended(child);
process.exit(exitCode(code, signal));

/** The exit code with which a shell reports a child that was ended by a signal. */
function exitCode(code, signal) {
  return code ?? 128 + constants.signals[signal];
}
